// Package scripted has model clients that need no network: [New] answers by a script of replies,
// and [Record] and [Replay] keep the traffic with another client in a file and answer from it.
//
// They are for tests, demonstrations and examples. Like any provider they refuse a request whose
// messages break the laws of a history, and like none they are deterministic: whatever a script
// does not foresee is an error that says so, never a made-up answer. All clients here are safe for
// concurrent use.
//
// # Scripts as files
//
// [Load] reads a script from a JSON array. Every field may be left out; one that is not listed here
// is an error:
//
//	[{"for": "weather",                     see Reply.For
//	  "thought": "I must look.",
//	  "text": "One moment.",
//	  "deltas": ["One ", "moment."],
//	  "calls": [{"id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}],
//	  "finish": "tool_calls",
//	  "usage": {"input": 12, "output": 8, "total": 20, "cached": 0, "reasoning": 4},
//	  "delay": "20ms",                      as time.ParseDuration reads it
//	  "times": 2},
//	 {"error": {"code": "rate_limited", "status": 429, "type": "tokens", "message": "slow down", "retry_after": "2s"}}]
//
// Arguments are an object, or a string that is taken as it is, which may be broken JSON. An error
// needs a code, and may have request_id and generated besides.
//
// # Cassettes
//
// A cassette is a file of JSON lines, one for each call in the order in which the calls ended:
//
//	{"v": 1, "key": "…", "request": {…}, "deltas": [{"text": "…"}, {"kind": "thought", "text": "…"}], "response": {…}}
//	{"v": 1, "key": "…", "request": {…}, "error": {"code": "rate_limited", "status": 429, …}}
//
// request is what the model would see of a request, as JSON with sorted names and no blanks: model,
// messages without the time that tools took, name, description and parameters of tools, tool format
// and choice, schema, stop, temperature, max tokens and extras. key is the SHA-256 of these bytes
// in hexadecimal, and is checked. Whether a reply was streamed does not count. response is an
// llmclient.Response as JSON, its raw body included if that is JSON; error has the fields of
// llmclient.Error, with the text of the cause as cause, and plain set for an error that is none.
// Keys and headers are no part of a request, and so of no cassette.
package scripted
