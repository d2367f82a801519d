// Package scripted has model clients that need no network. [New] answers from a script of replies.
// [Record] writes the traffic with another client to a file, and [Replay] answers from this file.
//
// The clients are for tests, demonstrations and examples. Like a real provider they refuse a
// request whose messages break the laws of a history. They are deterministic: a request that a
// script does not foresee is an error that says so. All clients are safe for concurrent use.
//
// # Scripts as files
//
// [Load] reads a script from a JSON array. Every field is optional; an unknown field is an error:
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
//	 {"error": {"code": "rate_limited", "status": 429, "type": "tokens", "message": "slow down",
//	  "retry_after": "2s"}}]
//
// Arguments are an object, or a string that is used unchanged and may be broken JSON. An error
// needs a code, and may also have request_id and generated.
//
// # Cassettes
//
// A cassette is a file of JSON lines, one for each call, in the order in which the calls ended:
//
//	{"v": 1, "key": "…", "request": {…}, "deltas": [{"text": "…"}, …], "response": {…}}
//	{"v": 1, "key": "…", "request": {…}, "error": {"code": "rate_limited", "status": 429, …}}
//
// request is the part of a request that the model would see, as JSON with sorted names and no
// blanks: model, messages without the time that tools took, name, description and parameters of
// tools, tool format and choice, schema, stop, temperature, max tokens and extras. key is the
// SHA-256 of these bytes in hexadecimal, and is checked. Whether a reply was streamed does not
// matter. response is an llmclient.Response as JSON, with its raw body if that is JSON. error has
// the fields of llmclient.Error, with the text of the cause as cause; plain is set for any other
// error. Keys and headers are not part of a request, and so not part of a cassette.
package scripted
