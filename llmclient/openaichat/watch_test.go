package openaichat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// A reply that is watched is streamed although nobody is shown it, and is asked for again when it
// breaks off.
func TestWatch(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if asked++; asked == 1 {
			_, _ = io.WriteString(w, events(chunk(`"content":"one "`)))
			return
		}
		_, _ = io.WriteString(w, events(chunk(`"content":"two "`), chunk(`"content":"three"`, `"finish_reason":"stop"`), "[DONE]"))
	})
	var came []string
	ctx := llmclient.WithWatch(t.Context(), func(d llmclient.Delta) { came = append(came, d.Text) })
	client := llmclient.Retry(newClient(t, s), llmclient.RetryConfig{Base: -1})
	resp, err := client.Complete(ctx, hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "two three", resp.Message.Text())
	require.Equal(t, []string{"one ", "two ", "three"}, came)
	body, _ := s.Sent()
	require.Contains(t, body, `"stream":true`)

	var shown []string
	_, err = client.Complete(ctx, hello(), func(d llmclient.Delta) { shown = append(shown, d.Text) })
	require.NoError(t, err)
	require.Equal(t, []string{"two ", "three"}, shown)
	require.Len(t, came, 3, "what somebody is shown is not watched")
}

// A server that cannot stream a model is asked for whole replies, once it has said so. Other errors
// stay, and so does that of a caller who wants to see the pieces.
func TestWatch_refused(t *testing.T) {
	for said, again := range map[string]bool{
		"400 Your organization must be verified to stream this model.":           true,
		"400 Unsupported value: 'stream' does not support true with this model.": true,
		"501 streaming is not supported":                                         true,
		"422 extra inputs are not permitted: stream_options":                     true,
		"500 Cannot use tools with stream":                                       true,
		"400 the upstream server does not know the role":                         false,
		"429 too many streams":                                                   false,
		"503 stream closed":                                                      false,
	} {
		t.Run(said, func(t *testing.T) {
			code, message, _ := strings.Cut(said, " ")
			var s *server
			var bodies []string
			s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
				body, _ := s.Sent()
				bodies = append(bodies, body)
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(body, `"stream":true`) {
					w.WriteHeader(map[string]int{"400": 400, "422": 422, "429": 429, "500": 500, "501": 501, "503": 503}[code])
					_, _ = io.WriteString(w, `{"error":{"message":"`+message+`","type":"invalid_request_error"}}`)
					return
				}
				_, _ = io.WriteString(w, whole(`"content":"ok"`, `"stop"`))
			})
			client := newClient(t, s, func(c *openaichat.Config) { c.Model = "m" })
			ctx := llmclient.WithWatch(t.Context(), func(llmclient.Delta) {})
			for i := range 2 {
				resp, err := client.Complete(ctx, hello(), nil)
				if !again {
					require.ErrorContains(t, err, message)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, "ok", resp.Message.Text())
				require.Len(t, resp.Attempts, 1-i, "the refused request is listed")
			}
			want := 2
			if again {
				want = 3
			}
			require.Len(t, bodies, want)
			_, err := client.Complete(ctx, hello(), func(llmclient.Delta) {})
			require.ErrorContains(t, err, message)
		})
	}
}
