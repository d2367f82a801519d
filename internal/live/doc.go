// Package live holds a short suite of tests with a real model: each built-in strategy, streamed and
// not, tools, an answer of a schema, and tool calls as text. Run it with make live, and with
//
//	OPENAI_API_KEY    the key; for a server without keys, any text that does not occur in the conversations
//	OPENAI_BASE_URL   the address without "/chat/completions"; OpenAI if it is not set
//	SEGUE_MODEL       the model
//
// The replies of the model are recorded in testdata, in a folder named after the model, and then
// replayed to the same suite. A plain go test replays the existing recordings and makes no
// requests. A recording has no headers, and a recording that contains the key is not written.
package live
