package llmclient_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/llmclient"
)

// A Retry-After of one call delays the calls that arrive during it, including first tries of new
// calls.
func TestRetry_RetryAfterHoldsBackAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := failing(after(llmclient.CodeRateLimited, 10*time.Second), nil)
		retry := llmclient.Retry(f, llmclient.RetryConfig{})
		start := time.Now()
		notices := make([][]llmclient.Notice, 3)
		var all sync.WaitGroup
		for i := range notices {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				_, err := retry.Complete(listen(t.Context(), &notices[i]), &llmclient.Request{Model: "m"}, nil)
				require.NoError(t, err)
				require.Equal(t, 10*time.Second, time.Since(start))
			})
		}
		all.Wait()
		require.Equal(t, llmclient.NoticeRetry, notices[0][0].Kind)
		for i, wait := range map[int]time.Duration{1: 9 * time.Second, 2: 8 * time.Second} {
			require.Equal(t, []llmclient.Notice{{Kind: llmclient.NoticeRateLimit, Model: "m", Wait: wait}}, notices[i])
		}
	})
}

// This is so even if the call that was told to wait has given up, unless the wait is too long for
// everyone.
func TestRetry_LastRetryAfterHoldsBackTheNextCall(t *testing.T) {
	for asked, waited := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			retry := llmclient.Retry(failing(after(llmclient.CodeRateLimited, asked), nil), llmclient.RetryConfig{MaxAttempts: 1})
			start := time.Now()
			_, err := retry.Complete(t.Context(), &llmclient.Request{}, nil)
			require.Error(t, err)
			_, err = retry.Complete(t.Context(), &llmclient.Request{}, nil)
			require.NoError(t, err)
			require.Equal(t, waited, time.Since(start))
		})
	}
}

// If an inner rate limit refuses one large call with a short deadline, small calls are not delayed.
func TestRetry_RefusalOfALimitHoldsBackNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := llmclient.Retry(llmclient.RateLimit(failing(nil), llmclient.RateLimitConfig{TokensPerMinute: 60}), llmclient.RetryConfig{})
		_, err := retry.Complete(t.Context(), &llmclient.Request{MaxTokens: 50}, nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err = retry.Complete(ctx, &llmclient.Request{MaxTokens: 60}, nil)
		require.Equal(t, llmclient.CodeRateLimited, llmclient.CodeOf(err))
		_, err = retry.Complete(t.Context(), &llmclient.Request{MaxTokens: 10}, nil)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
	})
}

func TestRetry_BackoffHoldsBackNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := failing(coded(llmclient.CodeUnavailable), nil)
		retry := llmclient.Retry(f, llmclient.RetryConfig{Base: time.Minute})
		var first sync.WaitGroup
		first.Go(func() { _, _ = retry.Complete(t.Context(), &llmclient.Request{}, nil) })
		synctest.Wait()
		start := time.Now()
		_, err := retry.Complete(t.Context(), &llmclient.Request{}, nil)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		first.Wait()
	})
}

func TestRetry_HeldBackWithoutATry(t *testing.T) {
	for _, test := range []struct {
		name  string
		limit time.Duration
		code  llmclient.Code
		took  time.Duration
	}{
		{"the deadline is too near", 5 * time.Second, llmclient.CodeRateLimited, 0},
		{"canceled meanwhile", 0, llmclient.CodeCanceled, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := failing(after(llmclient.CodeUnavailable, 10*time.Second), nil)
				retry := llmclient.Retry(f, llmclient.RetryConfig{})
				var first sync.WaitGroup
				first.Go(func() { _, _ = retry.Complete(t.Context(), &llmclient.Request{}, nil) })
				synctest.Wait()

				ctx, cancel := context.WithCancel(t.Context())
				if test.limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), test.limit)
				} else {
					time.AfterFunc(test.took, cancel)
				}
				defer cancel()
				start := time.Now()
				_, err := retry.Complete(ctx, &llmclient.Request{Model: "m"}, nil)
				require.Equal(t, test.took, time.Since(start))
				require.Equal(t, test.code, llmclient.CodeOf(err))
				if test.code == llmclient.CodeRateLimited {
					e, _ := errors.AsType[*llmclient.Error](err)
					require.Equal(t, 10*time.Second, e.RetryAfter)
				} else {
					require.ErrorIs(t, err, context.Canceled)
				}
				require.Equal(t, 1, f.calls())
				first.Wait()
			})
		})
	}
}

// A longer Retry-After that arrives while others wait makes all of them wait longer, and they are
// notified.
func TestRetry_LongerRetryAfterPostponesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		var n atomic.Int32
		c := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			switch n.Add(1) {
			case 1:
				<-slow
				return nil, after(llmclient.CodeRateLimited, 20*time.Second)
			case 2:
				return nil, after(llmclient.CodeRateLimited, 5*time.Second)
			default:
				return reply("ok"), nil
			}
		})
		retry := llmclient.Retry(c, llmclient.RetryConfig{})
		start := time.Now()
		notices := make([][]llmclient.Notice, 3)
		var all sync.WaitGroup
		for i := range notices {
			all.Go(func() {
				_, err := retry.Complete(listen(t.Context(), &notices[i]), &llmclient.Request{}, nil)
				require.NoError(t, err)
				require.Equal(t, 22*time.Second, time.Since(start))
			})
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		close(slow)
		all.Wait()
		require.Len(t, notices[0], 1)
		for _, told := range notices[1:] {
			require.Equal(t, []time.Duration{5 * time.Second, 20 * time.Second}, []time.Duration{told[0].Wait, told[1].Wait})
		}
	})
}

// For any answers of a provider: the listed attempts are all calls except the last, there are no
// more calls than allowed, and the elapsed time is the sum of the waits, each within its limits.
func TestRetry_Law(t *testing.T) {
	codes := []llmclient.Code{
		llmclient.CodeRateLimited, llmclient.CodeUnavailable, llmclient.CodeTimeout, llmclient.CodeTruncated, llmclient.CodeAuth, llmclient.CodeBadRequest,
	}
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			cfg := llmclient.RetryConfig{
				MaxAttempts: rapid.IntRange(1, 8).Draw(t, "max"), Base: time.Duration(rapid.IntRange(1, 2000).Draw(t, "base")) * time.Millisecond,
				MaxWait: 4 * time.Second, MaxRetryAfter: 8 * time.Second,
			}
			errs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *llmclient.Error {
				return after(rapid.SampledFrom(codes).Draw(t, "code"), time.Duration(rapid.IntRange(0, 10).Draw(t, "after"))*time.Second)
			}), 0, 10).Draw(t, "errors")
			f := &fake{}
			calls, fails := 0, false
			for _, err := range errs {
				f.outcomes = append(f.outcomes, outcome{err: err})
			}
			f.outcomes = append(f.outcomes, outcome{})
			for _, o := range f.outcomes {
				calls++
				e, _ := o.err.(*llmclient.Error) //nolint:errorlint // made above
				fails = e != nil
				if !fails || !e.Code.Temporary() || e.RetryAfter > cfg.MaxRetryAfter || calls == cfg.MaxAttempts {
					break
				}
			}

			start := time.Now()
			resp, err := llmclient.Retry(f, cfg).Complete(context.Background(), &llmclient.Request{}, nil)
			require.Equal(t, fails, err != nil)
			require.Equal(t, calls, f.calls())
			var attempts []llmclient.Attempt
			if fails {
				e, _ := errors.AsType[*llmclient.Error](err)
				attempts = e.Attempts
			} else {
				attempts = resp.Attempts
			}
			require.Len(t, attempts, calls-1)
			total, backoff := time.Duration(0), min(cfg.Base, cfg.MaxWait)
			for i, a := range attempts {
				require.Equal(t, errs[i].Code, a.Code)
				require.GreaterOrEqual(t, a.Wait, max(backoff/2, errs[i].RetryAfter))
				require.LessOrEqual(t, a.Wait, max(backoff, errs[i].RetryAfter))
				total, backoff = total+a.Wait, min(2*backoff, cfg.MaxWait)
			}
			require.Equal(t, total, time.Since(start))
		})
	})
}

// caller is one of many concurrent callers: when it arrived, and when it was let through, several
// times.
type caller struct {
	came   time.Duration
	passed []time.Duration
}

// requireNobodyOvertakes checks that none passed while an earlier one was waiting.
func requireNobodyOvertakes(t require.TestingT, callers []*caller, since func(c *caller, n int) time.Duration) {
	for i, early := range callers {
		for n, passed := range early.passed {
			for _, late := range callers[i+1:] {
				for _, at := range late.passed {
					require.False(t, at > since(early, n) && at < passed, "one that came at %v passed at %v, but one of %v only at %v",
						late.came, at, early.came, passed)
				}
			}
		}
	}
}

// With random rate limit answers, no call reaches the provider while an earlier one waits.
func TestRetry_NobodyOvertakesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			gaps := rapid.SliceOfN(rapid.IntRange(1, 3000), 1, 12).Draw(t, "gaps")
			answers := rapid.SliceOfN(rapid.IntRange(-5, 5), 1, 20).Draw(t, "answers") // seconds of Retry-After; 0 and less: a reply
			work := rapid.SliceOfN(rapid.IntRange(1, 2500), 1, 5).Draw(t, "work")
			var mu sync.Mutex
			var callers []*caller
			start, n := time.Now(), 0
			failedAt := map[*caller][]time.Duration{}
			type key struct{}
			c := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
				mu.Lock()
				me := ctx.Value(key{}).(*caller)
				me.passed = append(me.passed, time.Since(start))
				answer, busy := 0, time.Duration(work[n%len(work)])*time.Millisecond+time.Duration(n)*time.Microsecond
				if n < len(answers) {
					answer = answers[n]
				}
				n++
				mu.Unlock()
				time.Sleep(busy)
				if answer <= 0 {
					return reply("ok"), nil
				}
				mu.Lock()
				failedAt[me] = append(failedAt[me], time.Since(start))
				mu.Unlock()
				return nil, after(llmclient.CodeRateLimited, time.Duration(answer)*time.Second)
			})
			retry := llmclient.Retry(c, llmclient.RetryConfig{MaxAttempts: 30})
			var all sync.WaitGroup
			for _, gap := range gaps {
				time.Sleep(time.Duration(gap) * time.Millisecond)
				me := &caller{came: time.Since(start)}
				callers = append(callers, me)
				all.Go(func() {
					_, _ = retry.Complete(context.WithValue(context.Background(), key{}, me), &llmclient.Request{}, nil)
				})
			}
			all.Wait()
			requireNobodyOvertakes(t, callers, func(c *caller, n int) time.Duration {
				if n == 0 {
					return c.came
				}
				return failedAt[c][n-1]
			})
		})
	})
}
