package anthropic_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
)

// long is a stream with a block of each kind.
func long(stop string) string {
	return events(stream(stop,
		blockOf("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Hm, \"ö\"."}`, `{"type":"signature_delta","signature":"EqQB"}`),
		blockOf("1", `{"type":"redacted_thinking","data":"EmwK"}`),
		blockOf("2", `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look. "}`, `{"type":"citations_delta","citation":{"type":"x","cited_text":"c","url":"u"}}`, `{"type":"text_delta","text":"Then {\"type\":\"message_stop\"}."}`),
		callBlock("3", "toolu_1", "weather", `{"city`, `":"Bern"}`),
		blockOf("4", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"q\":1}"}`),
		callBlock("5", "toolu_2", "time", `{"zone":`, `{}}`))...)
}

// A stream that is cut at any byte is an error or the same answer, never a wrong one, whether the
// connection breaks or the server just ends. What had come is in the error: complete calls, and the
// beginning of the text.
func TestStream_cutAtAnyByte(t *testing.T) {
	step := prove.DepthOr(3, 1)
	for _, stop := range []string{"tool_use", "max_tokens"} {
		body := long(stop)
		want, failed := anthropic.ReadStream(strings.NewReader(body), nil)
		require.Nil(t, failed)
		require.Len(t, want.Message.Content, map[string]int{"tool_use": 6, "max_tokens": 5}[stop])
		for n := 0; n < len(body); n += step {
			for _, end := range []error{nil, io.ErrUnexpectedEOF} {
				got, partial, err := anthropic.ReadCut(body[:n], end)
				if err == nil {
					require.Equal(t, want, got, body[:n])
					continue
				}
				require.Nil(t, got)
				require.True(t, err.Code == llmclient.CodeTruncated || err.Code == llmclient.CodeUnavailable, "%s %v", body[:n], err)
				calls := partial.Calls()
				all := []messages.ToolCall{call("toolu_1", "weather", `{"city":"Bern"}`), call("toolu_2", "time", `{"zone":{}}`)}
				require.Equal(t, append([]messages.ToolCall(nil), all[:len(calls)]...), calls)
				require.True(t, strings.HasPrefix(`I look. Then {"type":"message_stop"}.`, partial.Text()), partial.Text())
			}
		}
	}
}

// A whole answer that is cut at any byte is an error.
func TestWhole_cutAtAnyByte(t *testing.T) {
	body := whole(`{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`, "tool_use")
	for n := range len(body) {
		_, _, err := anthropic.ReadCut(body[:n], nil)
		require.NotNil(t, err, body[:n])
		require.Equal(t, llmclient.CodeTruncated, err.Code, body[:n])
	}
}

// Whatever pieces the network delivers, the reply and its deltas are the same.
func TestStream_anyPieces(t *testing.T) {
	body := long("tool_use")
	var want []llmclient.Delta
	reply, _ := anthropic.ReadStream(strings.NewReader(body), func(d llmclient.Delta) { want = append(want, d) })
	for size := 1; size < 40; size++ {
		var got []llmclient.Delta
		again, err := anthropic.ReadStream(&pieces{body, size}, func(d llmclient.Delta) { got = append(got, d) })
		require.Nil(t, err)
		require.Equal(t, reply, again)
		require.Equal(t, want, got)
	}
}

// pieces reads a text in pieces of one size.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
