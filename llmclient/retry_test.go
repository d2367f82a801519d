package llmclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Which codes of recorded provider errors lead to another try. The numbers are those of the wire
// scenarios.
func TestW13_W14_W15_RetryByCode(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		calls int
	}{
		{"W-13 401", &llmclient.Error{Code: llmclient.CodeAuth, Status: 401}, 1},
		{"W-13 404", &llmclient.Error{Code: llmclient.CodeNotFound, Status: 404}, 1},
		{"W-13 429 without retry-after", &llmclient.Error{Code: llmclient.CodeRateLimited, Status: 429}, 2},
		{"W-13 429 with retry-after", &llmclient.Error{Code: llmclient.CodeRateLimited, Status: 429, RetryAfter: time.Second}, 2},
		{"W-14 400", &llmclient.Error{Code: llmclient.CodeContextLength, Status: 400}, 1},
		{"W-14 429", &llmclient.Error{Code: llmclient.CodeContextLength, Status: 429}, 1},
		{"W-15", &llmclient.Error{Code: llmclient.CodeMalformedToolCall, Status: 400, Generated: "<function"}, 1},
		{"5xx", &llmclient.Error{Code: llmclient.CodeUnavailable, Status: 503}, 2},
		{"silent", coded(llmclient.CodeTimeout), 2},
		{"cut off", coded(llmclient.CodeTruncated), 2},
		{"no credit", &llmclient.Error{Code: llmclient.CodeQuota, Status: 429}, 1},
		{"filtered", coded(llmclient.CodeContentFilter), 1},
		{"unreadable", coded(llmclient.CodeBadResponse), 1},
		{"canceled", coded(llmclient.CodeCanceled), 1},
		{"wrapped", fmt.Errorf("mine: %w", coded(llmclient.CodeUnavailable)), 2},
		{"plain", errors.New("odd"), 1},
		{"plain cancel", context.Canceled, 1},
		{"plain time-out", fmt.Errorf("get: %w", context.DeadlineExceeded), 2},
		{"plain cut", io.ErrUnexpectedEOF, 2},
		{"refused", &url.Error{Op: "Post", URL: "http://h", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, 2},
		{"no host", &net.DNSError{Err: "no such host", Name: "h"}, 2},
		{"bad scheme", &url.Error{Op: "Post", URL: "x://h", Err: errors.New("unsupported protocol scheme")}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{outcomes: []outcome{{err: test.err}, {}}}
				resp, err := llmclient.Retry(f, llmclient.RetryConfig{}).Complete(t.Context(), &llmclient.Request{}, nil)
				require.Equal(t, test.calls, f.calls())
				if test.calls == 1 {
					require.Same(t, test.err, err, "an only error is handed on as it is")
					return
				}
				require.NoError(t, err)
				require.Len(t, resp.Attempts, 1)
				require.Equal(t, test.err.Error(), resp.Attempts[0].Error)
			})
		})
	}
}

func TestRetry_Waits(t *testing.T) {
	busy, silent := after(llmclient.CodeRateLimited, 0), coded(llmclient.CodeUnavailable)
	for _, test := range []struct {
		name  string
		cfg   llmclient.RetryConfig
		errs  []error
		waits []time.Duration
	}{
		{"defaults", llmclient.RetryConfig{}, []error{silent}, []time.Duration{375e6, 750e6, 1500e6}},
		{
			"doubles to the cap",
			llmclient.RetryConfig{MaxAttempts: 6, Base: time.Second, MaxWait: 4 * time.Second},
			[]error{busy},
			[]time.Duration{750e6, 1500e6, 3e9, 3e9, 3e9},
		},
		{"base above the cap", llmclient.RetryConfig{MaxAttempts: 2, Base: time.Minute, MaxWait: time.Second}, []error{busy}, []time.Duration{750e6}},
		{"no backoff", llmclient.RetryConfig{MaxAttempts: 3, Base: -1}, []error{busy}, []time.Duration{0, 0}},
		{
			"no cap",
			llmclient.RetryConfig{MaxAttempts: 8, Base: time.Minute, MaxWait: -1},
			[]error{silent},
			[]time.Duration{45e9, 90e9, 180e9, 360e9, 720e9, 1440e9, 2880e9},
		},
		{"the provider's wish", llmclient.RetryConfig{MaxAttempts: 3}, []error{after(llmclient.CodeRateLimited, 7*time.Second)}, []time.Duration{7e9, 7e9}},
		{"a shorter wish", llmclient.RetryConfig{MaxAttempts: 3}, []error{after(llmclient.CodeUnavailable, 400*time.Millisecond)}, []time.Duration{400e6, 750e6}},
		{"no jitter", llmclient.RetryConfig{MaxAttempts: 2, Jitter: func() float64 { return 0 }}, []error{silent}, []time.Duration{250e6}},
		{"too long a wish", llmclient.RetryConfig{}, []error{silent, after(llmclient.CodeRateLimited, 121*time.Second)}, []time.Duration{375e6}},
		{"a long wish granted", llmclient.RetryConfig{MaxAttempts: 2, MaxRetryAfter: -1}, []error{after(llmclient.CodeRateLimited, time.Hour)}, []time.Duration{3600e9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.cfg.Jitter == nil {
					test.cfg.Jitter = half
				}
				f := failing(test.errs...)
				var notices []llmclient.Notice
				start := time.Now()
				_, err := llmclient.Retry(f, test.cfg).Complete(listen(t.Context(), &notices), &llmclient.Request{Model: "m"}, nil)

				e, ok := errors.AsType[*llmclient.Error](err)
				require.True(t, ok)
				require.Equal(t, test.waits, waits(e.Attempts))
				require.Equal(t, len(test.waits)+1, f.calls())
				total := time.Duration(0)
				for i, n := range notices {
					require.Equal(t, llmclient.Notice{Kind: llmclient.NoticeRetry, Model: "m", Attempt: i + 1, Wait: test.waits[i], Err: f.outcomes[min(i, len(f.outcomes)-1)].err}, n)
					total += n.Wait
				}
				require.Len(t, notices, len(test.waits))
				require.Equal(t, total, time.Since(start))
			})
		})
	}
}

// An error that says so is not tried again, and is that of the model that was asked.
func TestRetry_NoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notices []llmclient.Notice
		passing := &llmclient.Error{Code: llmclient.CodeTimeout, Model: "asked"}
		lasting := &llmclient.Error{Code: llmclient.CodeTimeout, NoRetry: true}
		f := failing(passing, lasting)
		_, err := llmclient.Retry(f, llmclient.RetryConfig{}).Complete(listen(t.Context(), &notices), &llmclient.Request{}, nil)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.True(t, e.NoRetry)
		require.Equal(t, 2, f.calls())
		require.Len(t, notices, 1)
		require.Equal(t, "asked", notices[0].Model)
	})
}

func TestRetry_WithoutAnEndOrACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := coded(llmclient.CodeTruncated)
		cfg := llmclient.RetryConfig{MaxAttempts: -1, MaxWait: -1, Base: 1 << 61, Jitter: func() float64 { return 0 }}
		resp, err := llmclient.Retry(failing(cut, cut, cut, nil), cfg).Complete(t.Context(), &llmclient.Request{}, nil)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{1 << 60, 1<<61 - 1, 1<<61 - 1}, waits(resp.Attempts), "the doubling does not overflow")
	})
}

func TestRetry_AfterOutput(t *testing.T) {
	cut := coded(llmclient.CodeTruncated)
	outcomes := []outcome{
		{deltas: []llmclient.Delta{text(""), text("par")}, err: cut},
		{deltas: []llmclient.Delta{text("")}, err: cut},
		{deltas: []llmclient.Delta{text("o"), text("k")}},
	}
	ask := func(t *testing.T, cfg llmclient.RetryConfig, stream bool) (f *fake, notices []llmclient.Notice, streamed string, err error) {
		synctest.Test(t, func(t *testing.T) {
			f = &fake{outcomes: outcomes}
			onDelta := func(d llmclient.Delta) { streamed += d.Text }
			if !stream {
				onDelta = nil
			}
			_, err = llmclient.Retry(f, cfg).Complete(listen(t.Context(), &notices), &llmclient.Request{}, onDelta)
		})
		return
	}

	f, notices, streamed, err := ask(t, llmclient.RetryConfig{}, true)
	require.Same(t, cut, err)
	require.Equal(t, 1, f.calls())
	require.Empty(t, notices)
	require.Equal(t, "par", streamed)

	_, notices, streamed, err = ask(t, llmclient.RetryConfig{AfterOutput: true}, true)
	require.NoError(t, err)
	require.Equal(t, "parok", streamed)
	require.Len(t, notices, 2)
	require.True(t, notices[0].Discard)
	require.False(t, notices[1].Discard, "nothing was streamed since")

	_, notices, _, err = ask(t, llmclient.RetryConfig{}, false)
	require.NoError(t, err, "what was not streamed may be asked again")
	require.Len(t, notices, 2)
	require.False(t, notices[0].Discard)
}

func TestRetry_AttemptsInOrderOfTimeAndNothingShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := []llmclient.Attempt{{Error: "inner 1"}, {Error: "inner 2"}}
		shared := &llmclient.Error{
			Code: llmclient.CodeUnavailable, Message: "down", Model: "theirs", Usage: messages.Usage{Input: 5}, Attempts: inner[:1:2],
		}
		unchanged := *shared
		last := &llmclient.Response{Attempts: inner[1:]}
		n := 0
		c := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			if n++; n == 2 {
				return last, nil
			}
			return nil, shared
		})
		retry := llmclient.Retry(c, llmclient.RetryConfig{MaxAttempts: 2, Jitter: half})

		resp, err := retry.Complete(t.Context(), &llmclient.Request{Model: "mine"}, nil)
		require.NoError(t, err)
		require.Equal(t, []llmclient.Attempt{
			inner[0],
			{Model: "theirs", Usage: messages.Usage{Input: 5}, Code: llmclient.CodeUnavailable, Error: shared.Error(), Wait: 375 * time.Millisecond},
			{Error: "inner 2"},
		}, resp.Attempts)
		require.Len(t, last.Attempts, 1)

		_, err = retry.Complete(t.Context(), &llmclient.Request{}, nil)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok)
		require.Len(t, e.Attempts, 3)
		require.Contains(t, err.Error(), "attempt 4")
		require.Equal(t, unchanged, *shared, "a client may return one error to many")
		require.Equal(t, "inner 2", inner[1].Error)
	})
}

func TestRetry_GivesUpWaitingAtOnce(t *testing.T) {
	mine := errors.New("the user left")
	for _, test := range []struct {
		name string
		err  *llmclient.Error
		stop func(context.Context) (context.Context, func())
		code llmclient.Code
		is   []error
	}{
		{"canceled", after(llmclient.CodeRateLimited, time.Minute), func(ctx context.Context) (context.Context, func()) {
			return context.WithCancel(ctx)
		}, llmclient.CodeCanceled, []error{context.Canceled}},
		{"canceled in a backoff", coded(llmclient.CodeUnavailable), func(ctx context.Context) (context.Context, func()) {
			return context.WithCancel(ctx)
		}, llmclient.CodeCanceled, []error{context.Canceled}},
		{"canceled with a cause", after(llmclient.CodeRateLimited, time.Minute), func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(mine) }
		}, llmclient.CodeCanceled, []error{context.Canceled, mine}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.err.Usage = messages.Usage{Input: 3}
				f := failing(test.err)
				ctx, stop := test.stop(t.Context())
				start := time.Now()
				time.AfterFunc(300*time.Millisecond, stop)
				_, err := llmclient.Retry(f, llmclient.RetryConfig{Base: time.Second}).Complete(ctx, &llmclient.Request{Model: "m"}, nil)

				require.Equal(t, 300*time.Millisecond, time.Since(start))
				require.Equal(t, test.code, llmclient.CodeOf(err))
				for _, target := range append(test.is, test.err) {
					require.ErrorIs(t, err, target)
				}
				e, _ := errors.AsType[*llmclient.Error](err)
				require.Empty(t, e.Attempts, "the error stands for the only try")
				require.Equal(t, messages.Usage{Input: 3}, e.Usage)
				require.NotContains(t, err.Error(), "\n")
				require.Equal(t, 1, f.calls())
			})
		})
	}
}

func TestRetry_DoesNotWaitBeyondTheDeadline(t *testing.T) {
	for _, err := range []*llmclient.Error{coded(llmclient.CodeUnavailable), after(llmclient.CodeRateLimited, time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start, f := time.Now(), failing(err)
			var notices []llmclient.Notice
			_, got := llmclient.Retry(f, llmclient.RetryConfig{}).Complete(listen(ctx, &notices), &llmclient.Request{}, nil)
			require.Same(t, err, got)
			require.Zero(t, time.Since(start))
			require.Empty(t, notices)
		})
	}
}

func TestRetry_ContextDoneDuringTheTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &llmclient.Error{Code: llmclient.CodeTimeout, Err: context.DeadlineExceeded}
		for err, want := range map[error]llmclient.Code{said: llmclient.CodeTimeout, coded(llmclient.CodeUnavailable): llmclient.CodeTimeout} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			calls := 0
			c := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
				calls++
				<-ctx.Done()
				return nil, err
			})
			_, got := llmclient.Retry(c, llmclient.RetryConfig{}).Complete(ctx, &llmclient.Request{}, nil)
			require.Equal(t, 1, calls)
			require.Equal(t, want, llmclient.CodeOf(got))
			require.ErrorIs(t, got, context.DeadlineExceeded)
			require.ErrorIs(t, got, err)
		}
	})
}
