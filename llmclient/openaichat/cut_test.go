package openaichat_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
)

// A stream whose connection breaks at any byte is an error that says so, or the whole reply: never
// another one that looks complete.
func TestStream_CutAtAnyByte(t *testing.T) {
	body := events(
		chunk(`"role":"assistant","content":""`),
		chunk(`"content":"Both "`),
		chunk(`"content":"at once."`),
		chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`),
		chunk(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`),
		chunk(`"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":12}"}}]`),
		chunk(``, `"finish_reason":"tool_calls"`),
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
		"[DONE]",
	)
	resp, failed := ask(t, say(t, 200, "text/event-stream", body))
	want := must(t, resp, failed).Message
	require.Len(t, want.Calls(), 2)
	cut, step := 0, prove.DepthOr(4, 1)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body[:cut])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	whole := 0
	for ; cut < len(body); cut += step {
		resp, err := ask(t, s)
		if err == nil {
			whole++
			require.Equal(t, want, resp.Message, "cut after %d bytes", cut)
			continue
		}
		require.Contains(t, []llmclient.Code{llmclient.CodeUnavailable, llmclient.CodeTruncated}, err.Code, "cut after %d bytes", cut)
		for _, call := range err.Partial.Calls() {
			require.Contains(t, want.Calls(), call, "cut after %d bytes", cut)
		}
	}
	require.Positive(t, whole, "what comes after the finish reason is not needed")
}

// The same where the server says neither how long the reply is nor that it ends, so that its end
// and a connection that is closed too early are the same.
func TestStream_CutAtAnyByte_closed(t *testing.T) {
	body := events(
		chunk(`"content":"Both."`),
		chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
		chunk(`"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":12}"}}]`),
		chunk(``, `"finish_reason":"tool_calls"`),
		"[DONE]",
	)
	resp, failed := ask(t, say(t, 200, "text/event-stream", body))
	want := must(t, resp, failed).Message
	cut, step := 0, prove.DepthOr(4, 1)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n%s", body[:cut])
			_ = conn.Close()
		}
	})
	whole := 0
	for ; cut < len(body); cut += step {
		resp, err := ask(t, s)
		if err == nil {
			whole++
			require.Equal(t, want, resp.Message, "cut after %d bytes", cut)
			continue
		}
		require.Equal(t, llmclient.CodeTruncated, err.Code, "cut after %d bytes", cut)
	}
	require.Positive(t, whole)
}
