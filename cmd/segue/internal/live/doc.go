// Package live has a real model do the suites in testdata/eval, with segue eval: twelve tasks of a
// step or two, and six of several steps. Run it with make live, and with
//
//	OPENAI_API_KEY    the key; for a server without keys, any text that does not occur in the
//	                  conversations
//	OPENAI_BASE_URL   the address without "/chat/completions"; OpenAI if it is not set
//	SEGUE_MODEL       the model
//
// The command asks a server on loopback, which asks the model and records its replies in testdata,
// in a file named after the model: JSON lines with the digest of a request and its reply. A plain
// go test replays the recordings with the same suites, without a model, and holds the outcomes
// against the golden file beside the recording. A recording has neither requests nor headers, and
// one that contains the key is not written.
package live
