package openairesponses_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
)

// everything is a reply with everything in it.
func everything() speech {
	return speech{
		items: []part{
			thought("enc1", "I look ", "at both."), text("Both ", "at once: ä."), toolCall("a", "f", `{"x"`, `:1}`),
			{kind: "web_search_call", id: "ws_1", rest: `,"status":"completed","action":{"type":"search","query":"q"}`},
			thought("enc2"), toolCall("b", "g", `{"y":12}`),
		},
		usage: `{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":7}`,
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// from returns a change of the Config that answers with a body, without a network.
func from(body func() io.Reader) func(*openairesponses.Config) {
	return func(cfg *openairesponses.Config) {
		cfg.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body()), Request: r,
				ProtoMajor: 1, ContentLength: -1,
			}, nil
		})}
	}
}

// A stream whose connection breaks at any byte, or that ends there, is an error that says so, or
// the whole reply: never another one that looks complete. The same holds for a whole answer.
func TestStream_CutAtAnyByte(t *testing.T) {
	step := prove.DepthOr(5, 1)
	for name, body := range map[string]string{"stream": stream(everything().events()...), "whole": everything().whole()} {
		resp, failed := ask(t, say(t, 200, "text/event-stream", body))
		want := must(t, resp, failed)
		require.Len(t, want.Message.Calls(), 2)
		for _, broken := range []bool{true, false} {
			for cut := range len(body) {
				if cut%step > 0 && cut < len(body)-8 || broken && cut%3 > 0 {
					continue // an error tells the reader the same, wherever it comes
				}
				resp, err := ask(t, nowhere(), from(func() io.Reader {
					if broken {
						return io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF))
					}
					return strings.NewReader(body[:cut])
				}))
				if err == nil {
					require.Equal(t, want.Message, resp.Message, "%s, %d bytes", name, cut)
					require.Equal(t, want.Usage, resp.Usage)
					require.GreaterOrEqual(t, cut, len(body)-2, "only the end of the last line is not needed")
					continue
				}
				require.Contains(t, []llmclient.Code{llmclient.CodeUnavailable, llmclient.CodeTruncated}, err.Code, "%s, %d bytes: %v", name, cut, err)
				require.True(t, strings.HasPrefix(want.Message.Text(), err.Partial.Text()))
				for _, call := range err.Partial.Calls() {
					require.Contains(t, want.Message.Calls(), call, "%s, %d bytes", name, cut)
				}
			}
		}
	}
}
