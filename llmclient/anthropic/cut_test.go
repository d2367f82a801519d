package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// abort writes body and then breaks the connection.
func abort(t *testing.T, contentType, body string) *server {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
}

func TestStream_connectionBreaks(t *testing.T) {
	half := append([]string{messageStart}, textBlock("0", "half")...)
	_, err := ask(t, abort(t, "text/event-stream", events(append(half, callBlock("1", "a", "f", `{"x`)[:2]...)...)))
	require.Equal(t, llmclient.CodeUnavailable, err.Code)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "half", err.Partial.Text())
	require.Empty(t, err.Partial.Calls())
	require.Equal(t, messages.Usage{Input: 10, Output: 2, Total: 12, Estimated: 2}, err.Usage)
	_, err = askWhole(t, abort(t, "application/json", whole(`{"type":"text","text":"hi"}`, "end_turn")[:60]))
	require.Equal(t, llmclient.CodeUnavailable, err.Code)
	resp, err := ask(t, abort(t, "text/event-stream", events(append(half, messageDelta("end_turn"))...)))
	require.Equal(t, "half", must(t, resp, err).Message.Text(), "a reply that is finished is whole")
}

// hold writes data and then keeps the connection open until the client closes it.
func hold(t *testing.T, data ...string) *server {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(data...))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
}

func TestStream_canceled(t *testing.T) {
	half := append([]string{messageStart}, textBlock("0", "half")[:2]...)
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("enough")
	_, err := newClient(t, hold(t, half...)).Complete(ctx, hello(), func(llmclient.Delta) { cancel(mine) })
	e := asError(t, err)
	require.Equal(t, llmclient.CodeCanceled, e.Code)
	require.ErrorIs(t, err, mine)
	require.Equal(t, "half", e.Partial.Text())
	require.PanicsWithValue(t, "mine", func() {
		_, _ = newClient(t, hold(t, half...)).Complete(context.Background(), hello(), func(llmclient.Delta) { panic("mine") })
	})
}

// A silent server is given up, and not asked again; pings end a silence.
func TestStream_silence(t *testing.T) {
	for _, data := range [][]string{nil, {messageStart, ping}} {
		_, err := ask(t, hold(t, data...), func(c *config) { c.IdleTimeout, c.MaxRetries = 30*time.Millisecond, 3 })
		require.Equal(t, llmclient.CodeTimeout, err.Code)
		require.True(t, err.NoRetry)
		require.Empty(t, err.Attempts)
		require.ErrorContains(t, err, "the server sent nothing for 30ms, the idle timeout")
	}
}

func TestStream_pingsEndASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := strings.SplitAfter(events(append([]string{messageStart, ping, ping, ping, ping}, append(textBlock("0", "hi"), messageDelta("end_turn"), messageStop)...)...), "\n\n")
		c := anthropic.MustNew(config{Model: "m", NoEnvironment: true, IdleTimeout: time.Minute, MaxRetries: -1, HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, w := io.Pipe()
			go func() {
				for _, d := range data {
					time.Sleep(40 * time.Second)
					_, _ = io.WriteString(w, d)
				}
				_ = w.Close()
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
		})}})
		resp, err := c.Complete(t.Context(), hello(), func(llmclient.Delta) {})
		require.NoError(t, err)
		require.Equal(t, "hi", resp.Message.Text())
	})
}

func TestMaxResponse(t *testing.T) {
	body := events(stream("end_turn", textBlock("0", strings.Repeat("x", 1000)))...)
	s := say(t, 200, "text/event-stream", body)
	_, err := ask(t, s, func(c *config) { c.MaxResponse = int64(len(body)) - 100 })
	require.Equal(t, llmclient.CodeBadResponse, err.Code)
	require.Contains(t, err.Message, "MaxResponse")
	_, err = ask(t, s, func(c *config) { c.MaxResponse = int64(len(body)) })
	require.Nil(t, err)
}

// A connection is used again after a reply.
func TestConnectionsAreReused(t *testing.T) {
	s := sayEvents(t, stream("end_turn", textBlock("0", "hi"))...)
	c, from := newClient(t, s), map[string]bool{}
	s.Config.Handler = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { from[r.RemoteAddr] = true; next.ServeHTTP(w, r) })
	}(s.Config.Handler)
	for range 5 {
		_, err := c.Complete(t.Context(), hello(), func(llmclient.Delta) {})
		require.NoError(t, err)
	}
	require.Len(t, from, 1)
}
