package openaichat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// These tests are about time. They run in a synctest bubble, whose clock advances only when all
// goroutines wait, with a server that needs no network.

// answering is a transport that sends the header of an event stream at once and then calls a
// function that writes the events. If it is nil, the header is never sent.
type answering func(r *http.Request, w io.Writer)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if a == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, w := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		a(r, w)
		_ = w.CloseWithError(r.Context().Err()) // nil is the end of the answer
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

// by returns a change of the Config that sends the requests through a transport.
func by(a answering) func(*openaichat.Config) {
	return func(cfg *openaichat.Config) { cfg.HTTPClient = &http.Client{Transport: a} }
}

// nowhere is a server that is never asked.
func nowhere() *server { return &server{Server: &httptest.Server{URL: "http://nowhere.test"}} }

func idle(d time.Duration) func(*openaichat.Config) {
	return func(cfg *openaichat.Config) { cfg.IdleTimeout = d }
}

// holding writes events and then sends nothing until the client closes the connection.
func holding(data ...string) answering {
	return func(r *http.Request, w io.Writer) {
		_, _ = io.WriteString(w, events(data...))
		<-r.Context().Done()
	}
}

func TestStream_Stalls(t *testing.T) {
	for name, data := range map[string][]string{
		"at once":         nil,
		"in the middle":   {chunk(`"content":"half"`)},
		"while calling":   {chunk(`"content":"half"`), chunk(openCall)},
		"after a comment": {"\n: processing"},
	} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			_, err := ask(t, nowhere(), by(holding(data...)), idle(30*time.Millisecond))
			require.NotNil(t, err, name)
			require.Equal(t, llmclient.CodeTimeout, err.Code)
			require.Equal(t, 30*time.Millisecond, time.Since(started))
			require.Contains(t, err.Error(), "sent nothing for 30ms")
			require.False(t, errors.Is(err, context.Canceled))
			require.Equal(t, strings.Contains(name, "w") || strings.Contains(name, "middle"), err.Partial.Text() == "half")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		resp, err := ask(t, nowhere(), by(holding(chunk(`"content":"all"`), chunk(``, `"finish_reason":"stop"`))), idle(30*time.Millisecond))
		require.Equal(t, "all", must(t, resp, err).Message.Text(), "a reply that is finished is whole")
		started := time.Now()
		resp, err = ask(t, nowhere(), by(holding(chunk(`"content":"all"`), "[DONE]")))
		require.Equal(t, "all", must(t, resp, err).Message.Text(), "what is behind DONE is hardly waited for")
		require.LessOrEqual(t, time.Since(started), 50*time.Millisecond)
	})
}

func TestStream_NoHeaderInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		_, err := ask(t, nowhere(), by(nil), idle(30*time.Millisecond))
		require.Equal(t, llmclient.CodeTimeout, err.Code)
		require.Equal(t, 30*time.Millisecond, time.Since(started))
	})
}

// A silence that was as long as the limit is not tried again: a model that thinks for so long does
// so each time.
func TestStream_SilenceIsNotRetried(t *testing.T) {
	for _, data := range [][]string{nil, {chunk(`"content":"half"`)}} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			_, err := ask(t, nowhere(), by(holding(data...)), idle(2*time.Minute), func(cfg *openaichat.Config) { cfg.MaxRetries = 3 })
			require.Equal(t, 2*time.Minute, time.Since(started))
			require.True(t, err.NoRetry)
			require.Empty(t, err.Attempts)
		})
	}
}

func TestStream_SlowIsNotStalled(t *testing.T) {
	slow := func(pause time.Duration, line string) func(*openaichat.Config) {
		return by(func(_ *http.Request, w io.Writer) {
			for range 10 {
				_, _ = io.WriteString(w, line)
				time.Sleep(pause)
			}
			_, _ = io.WriteString(w, events(chunk(``, `"finish_reason":"stop"`)))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		resp, err := ask(t, nowhere(), slow(20*time.Millisecond, ": still here\n\n"), idle(30*time.Millisecond))
		require.NotNil(t, must(t, resp, err))
		resp, err = ask(t, nowhere(), slow(time.Hour, events(chunk(`"content":"a"`))), idle(-1))
		require.Equal(t, "aaaaaaaaaa", must(t, resp, err).Message.Text())

		ready := by(func(_ *http.Request, w io.Writer) {
			_, _ = io.WriteString(w, events(chunk(`"content":"a"`), chunk(`"content":"b"`), "[DONE]"))
		})
		client := newClient(t, nowhere(), ready, idle(50*time.Millisecond))
		_, failed := client.Complete(context.Background(), hello(), func(llmclient.Delta) { time.Sleep(100 * time.Millisecond) })
		require.NoError(t, failed, "the caller's own time does not count")
	})
}

func TestContext_CanceledAndTooLate(t *testing.T) {
	why := errors.New("the user closed the window")
	const late = 30 * time.Millisecond
	for name, c := range map[string]struct {
		context func() (context.Context, context.CancelFunc)
		code    llmclient.Code
		took    time.Duration
		is      []error
	}{
		"canceled": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(late, cancel)
			return ctx, cancel
		}, llmclient.CodeCanceled, late, []error{context.Canceled}},
		"canceled with a cause": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(late, func() { cancel(why) })
			return ctx, func() { cancel(nil) }
		}, llmclient.CodeCanceled, late, []error{context.Canceled, why}},
		"deadline": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), late)
		}, llmclient.CodeTimeout, late, []error{context.DeadlineExceeded}},
		"deadline with a cause": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(context.Background(), late, why)
		}, llmclient.CodeTimeout, late, []error{context.DeadlineExceeded, why}},
		"before": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, llmclient.CodeCanceled, 0, []error{context.Canceled}},
	} {
		for _, answer := range []answering{holding(chunk(`"content":"half"`)), nil} {
			for _, onDelta := range []func(llmclient.Delta){nil, func(llmclient.Delta) {}} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := c.context()
					defer cancel()
					started := time.Now()
					_, err := newClient(t, nowhere(), by(answer)).Complete(ctx, hello(), onDelta)
					e := asError(t, err)
					require.Equal(t, c.code, e.Code, name)
					for _, target := range c.is {
						require.ErrorIs(t, err, target, name)
					}
					require.Equal(t, c.took, time.Since(started), name)
				})
			}
		}
	}
}

// A connection is reused only if its answer was read to the end, which comes after DONE.
func TestStream_IsReadToItsEnd(t *testing.T) {
	for wait, whole := range map[time.Duration]bool{time.Millisecond: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			resp, err := ask(t, nowhere(), by(func(r *http.Request, w io.Writer) {
				_, _ = io.WriteString(w, events(chunk(`"content":"a"`), "[DONE]"))
				select {
				case <-time.After(wait):
					ended = true
				case <-r.Context().Done():
				}
			}))
			require.Equal(t, "a", must(t, resp, err).Message.Text())
			synctest.Wait()
			require.Equal(t, whole, ended)
		})
	}
}

// hanging is a transport whose answers have a status and a body that never ends.
type hanging int

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: int(h), Header: http.Header{"Location": {"http://elsewhere.test/v1"}}, Body: body, Request: r}, nil
}

// A proxy redirects, or refuses, and never ends what it says about it.
func TestStream_StallsInAnErrorBody(t *testing.T) {
	for status, code := range map[hanging]llmclient.Code{302: llmclient.CodeNotFound, 300: llmclient.CodeNotFound, 503: llmclient.CodeTimeout} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			_, err := ask(t, nowhere(), idle(time.Minute), func(cfg *openaichat.Config) { cfg.HTTPClient = &http.Client{Transport: status} })
			require.NotNil(t, err)
			require.Equal(t, code, err.Code)
			require.Equal(t, time.Minute, time.Since(started))
		})
	}
}
