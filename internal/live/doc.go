// Package live has a real model do small tasks, with each built-in strategy and with text formats,
// and counts what was done: twelve tasks of a step or two, and six of several steps. Run it with
// make live, and with
//
//	OPENAI_API_KEY    the key; for a server without keys, any text that does not occur in the
//	                  conversations
//	OPENAI_BASE_URL   the address without "/chat/completions"; OpenAI if it is not set
//	SEGUE_MODEL       the model
//	SEGUE_LIVE_TASK   how long the model may work for a task; a minute if it is not set. All tasks
//	                  together may take 45 times as long
//
// The tasks ask a server on loopback, which asks the model and records its replies in testdata, in
// a file named after the model: JSON lines with the digest of a request and its reply. A plain go
// test replays the recordings with the same tasks, without a model, and holds the outcomes against
// the golden file beside the recording. A recording has neither requests nor headers, and one that
// contains the key is not written.
package live
