package llmclienttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

// A silence that is as long as the limit ends the exchange, and is not tried again: a model that
// thinks for so long does so each time.
func (h HTTP) silence(t *testing.T) {
	for name, a := range map[string]answering{"no header": nil, "at once": holding(""), "in the middle": holding(h.Half), "after a comment": holding("\n: processing\n\n")} {
		for _, retries := range []int{-1, 3} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := ask(t.Context(), h.by(a, Settings{Idle: 2 * time.Minute, Retries: retries}), true)
				require.NotNil(t, err, name)
				require.Equal(t, llmclient.CodeTimeout, err.Code)
				require.Equal(t, 2*time.Minute, time.Since(began))
				require.Contains(t, err.Error(), "sent nothing for 2m0s")
				require.True(t, err.NoRetry)
				require.Empty(t, err.Attempts)
				require.NotErrorIs(t, err, context.Canceled)
				require.Equal(t, name == "in the middle", err.Partial.Text() == "half")
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		resp, err := ask(t.Context(), h.by(holding(h.Half+h.Rest), Settings{}), true)
		require.Nil(t, err)
		require.Equal(t, allText, resp.Message.Text(), "what is behind the last event is hardly waited for")
		require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
	})
	for status, code := range map[hanging]llmclient.Code{302: llmclient.CodeNotFound, 300: llmclient.CodeNotFound, 503: llmclient.CodeTimeout} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := ask(t.Context(), h.New(Settings{URL: "http://nowhere.test", Client: &http.Client{Transport: status}, Retries: -1, Idle: time.Minute}), true)
			require.NotNil(t, err)
			require.Equal(t, code, err.Code, "a proxy that never ends what it says about its status %d", status)
			require.Equal(t, time.Minute, time.Since(began))
		})
	}
}

// hanging is a transport whose answers have a status and a body that never ends.
type hanging int

func (status hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: int(status), Header: http.Header{"Location": {"http://elsewhere.test/v1"}}, Body: body, Request: r}, nil
}

// What arrives, be it a comment, ends a silence, and the caller's own time is none.
func (h HTTP) slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses := answering(func(_ *http.Request, w io.Writer) {
			for range 10 {
				_, _ = io.WriteString(w, ": still here\n\n")
				time.Sleep(20 * time.Second)
			}
			_, _ = io.WriteString(w, h.Half+h.Rest)
		})
		resp, err := ask(t.Context(), h.by(pauses, Settings{Idle: 30 * time.Second}), true)
		require.Nil(t, err)
		require.Equal(t, allText, resp.Message.Text())

		patient := answering(func(_ *http.Request, w io.Writer) {
			time.Sleep(24 * time.Hour)
			_, _ = io.WriteString(w, h.Half+h.Rest)
		})
		_, err = ask(t.Context(), h.by(patient, Settings{Idle: -1}), true)
		require.Nil(t, err, "without a limit")

		ready := answering(func(_ *http.Request, w io.Writer) { _, _ = io.WriteString(w, h.Half+h.Rest) })
		_, failed := h.by(ready, Settings{Idle: 30 * time.Second}).Complete(t.Context(), hello(), func(llmclient.Delta) { time.Sleep(time.Minute) })
		require.NoError(t, failed)
	})
}

// The end of a context ends the exchange, and its cause stays reachable.
func (h HTTP) contexts(t *testing.T) {
	why := errors.New("the user closed the window")
	const late = 30 * time.Millisecond
	for name, c := range map[string]struct {
		context func(context.Context) (context.Context, context.CancelFunc)
		code    llmclient.Code
		is      []error
	}{
		"canceled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(late, func() { cancel(why) })
			return ctx, func() { cancel(nil) }
		}, llmclient.CodeCanceled, []error{context.Canceled, why}},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, late, why)
		}, llmclient.CodeTimeout, []error{context.DeadlineExceeded, why}},
	} {
		for _, a := range []answering{holding(h.Half), nil} {
			for _, stream := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := c.context(t.Context())
					defer cancel()
					began := time.Now()
					_, err := ask(ctx, h.by(a, Settings{}), stream)
					require.NotNil(t, err, name)
					require.Equal(t, c.code, err.Code, name)
					for _, target := range c.is {
						require.ErrorIs(t, err, target, name)
					}
					require.Equal(t, late, time.Since(began), name)
				})
			}
		}
	}
}

// A caller may cancel or panic where he hears of a reply.
func (h HTTP) caller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := h.by(holding(h.Half), Settings{}).Complete(ctx, hello(), func(llmclient.Delta) { cancel() })
	var e *llmclient.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llmclient.CodeCanceled, e.Code)
	require.Equal(t, "half", e.Partial.Text())
	require.PanicsWithValue(t, "mine", func() {
		_, _ = h.by(holding(h.Half), Settings{}).Complete(t.Context(), hello(), func(llmclient.Delta) { panic("mine") })
	})
}
