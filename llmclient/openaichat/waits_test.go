package openaichat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func TestErrors_RetryAfterAndRequestID(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"Retry-After: 1": time.Second, "Retry-After: 0.5": 500 * time.Millisecond, "Retry-After: -3": 0, "Retry-After: soon": 0,
		"Retry-After-Ms: 250": 250 * time.Millisecond, "Retry-After: 1e30": 24 * time.Hour, "Retry-After: NaN": 0,
		"Retry-After: Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, value)
			w.Header().Set("x-request-id", "req_1")
			w.WriteHeader(429)
		})
		_, err := askWhole(t, s)
		require.Equal(t, want, err.RetryAfter, header)
		require.Equal(t, "req_1", err.RequestID)
		require.Equal(t, llmclient.CodeRateLimited, err.Code)
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(503)
	})
	_, err := askWhole(t, s)
	require.InDelta(t, time.Hour, err.RetryAfter, float64(5*time.Second))
}

// Of two headers that one counts that asks for a wait.
func TestErrors_RetryAfterOfTwoHeaders(t *testing.T) {
	for _, c := range []struct {
		ms, seconds string
		want        time.Duration
	}{{"0", "7", 7 * time.Second}, {"-1", "7", 7 * time.Second}, {"NaN", "7", 7 * time.Second}, {"250", "7", 250 * time.Millisecond}, {"0", "0", 0}} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", c.ms)
			w.Header().Set("Retry-After", c.seconds)
			w.WriteHeader(429)
		})
		_, err := askWhole(t, s)
		require.Equal(t, c.want, err.RetryAfter, "%+v", c)
	}
}

// Of a wait in a header and one in the body the longer counts.
func TestErrors_RetryAfterInTheBody(t *testing.T) {
	const body = `[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"2.4s"}]}}]`
	for header, want := range map[string]time.Duration{"": 2400 * time.Millisecond, "1": 2400 * time.Millisecond, "7": 7 * time.Second} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(429)
			_, _ = io.WriteString(w, body)
		})
		_, err := askWhole(t, s)
		require.Equal(t, want, err.RetryAfter, header)
		require.ErrorContains(t, err, "retry after "+want.String())
	}
	for _, s := range []*server{ // of status 200
		sayJSON(t, body),
		sayEvents(t, chunk(`"content":"half"`), body),
		say(t, 200, "text/event-stream", events(chunk(`"content":"half"`))+"event: error\ndata: "+body+"\n\n"),
		sayEvents(t, chunk(`"content":"half"`), `{"error":{"message":"Rate limit reached. Please try again in 2.4s.","code":"rate_limit_exceeded"}}`),
	} {
		_, err := ask(t, s)
		require.Equal(t, llmclient.CodeRateLimited, err.Code, err)
		require.Equal(t, 2400*time.Millisecond, err.RetryAfter)
	}
}

// A wait in the body that is too long ends the retries at once.
func TestErrors_RetryAfterTooLong(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(429)
		_, _ = io.WriteString(w, `[{"error":{"code":429,"message":"quota of the day","details":[{"retryDelay":"41000s"}]}}]`)
	})
	_, err := newClient(t, s, func(cfg *openaichat.Config) { cfg.MaxRetries = 0 }).Complete(t.Context(), hello(), nil)
	require.Equal(t, 1, asked)
	require.EqualError(t, err, "llmclient: rate_limited (status 429, model test-model, retry after 11h23m20s): quota of the day")
}
