// Package live holds a short suite of tests that asks a real model: each built-in strategy,
// streamed and not, tools, an answer of a schema, and tool calls as text. make live runs it, with
//
//	OPENAI_API_KEY    the key; for a server that wants none, anything that is no word of a conversation
//	OPENAI_BASE_URL   the address up to and without "/chat/completions"; OpenAI if it is not set
//	SEGUE_MODEL       the model
//
// What the model answers is recorded in testdata, in a folder named after the model, and is then
// played to the same suite. A go test plays the recordings that there are and asks nobody. A
// recording holds no header, and none is written that holds the key.
package live
