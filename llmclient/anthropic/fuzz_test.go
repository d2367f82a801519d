package anthropic_test

import (
	"testing"
)

// FuzzAnswer gives the client any answer. The client must not panic, must keep its promises, and
// must send back what it made of the answer.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		whole(`{"type": "hologram", "x": [1, "<"]},{"type":"tool_use","id":"a","name":"f","input":{ },"caller": {"type": "code"}}`, "tool_use"),
		long("tool_use"), long("max_tokens"), events(stream("end_turn", textBlock("0", "hi"))...), whole(`{"type":"text","text":"x"},{"type":"tool_use","id":"","name":"f","input":[]}`, "tool_use"),
		events(stream("refusal", callBlock("0", "a", "f", `{"x`))...), "event: error\ndata: {\"type\":\"error\",\"error\":1}\n\n", `{"type":"error","error":{"type":"overloaded_error"}}`,
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"\\ud83d\"}}\r\rdata: {\"type\":\"message_stop\"}", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		provider().Answer(t, body)
	})
}
