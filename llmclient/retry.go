package llmclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// RetryConfig says how [Retry] tries again. The zero value is good for use.
type RetryConfig struct {
	MaxAttempts   int           // tries in all, the first included; default 4; negative: no end
	Base          time.Duration // backoff after the first failed try, doubled after each further one; default 500 ms; negative: none
	MaxWait       time.Duration // longest backoff; default 30 s; negative: no bound
	MaxRetryAfter time.Duration // longest Retry-After that is waited for; default 2 min; negative: no bound

	// AfterOutput also retries when the reply broke off after parts of it were handed to onDelta.
	// The Notice before the new try then has Discard set: whoever shows the parts must drop them.
	AfterOutput bool

	// Jitter returns a number from 0 up to 1; default math/rand/v2. It must be safe for concurrent
	// use.
	Jitter func() float64
}

// Retry returns a Client that asks c again after errors whose code is temporary (see
// [Code.Temporary]). Of errors that are no [*Error], it takes context.DeadlineExceeded,
// io.ErrUnexpectedEOF, [*net.OpError] and [*net.DNSError] for temporary and no others.
//
// The wait before another try is Error.RetryAfter, or the backoff if that is longer. The backoff is
// jittered equally: between half of Base·2ⁿ⁻¹ and the whole of it, at most MaxWait. The error is
// returned at once if its RetryAfter is longer than MaxRetryAfter, or the wait would outlast ctx.
// If ctx is done during a wait, the error has [CodeCanceled] or [CodeTimeout] and wraps the cause
// of ctx and the last error.
//
// A RetryAfter that is not too long, and any wait after [CodeRateLimited], holds back every call of
// this Client, even if the one that was told is not tried again: those that come meanwhile wait
// too, told as [NoticeRateLimit], and all go on in the order in which they came, so that none is
// passed by one that came later. A call that would be held back before its first try until after
// ctx ends fails at once with [CodeRateLimited]. A backoff for any other reason is a call's own
// affair.
//
// Every failed try is told as [NoticeRetry] before the wait, and listed in Response.Attempts or
// Error.Attempts together with what clients further in list, in order of time; the last one is the
// outcome itself and not listed. Errors and responses of c are copied where something is added,
// never changed.
func Retry(c Client, cfg RetryConfig) Client {
	cfg.MaxAttempts = cmp.Or(cfg.MaxAttempts, 4)
	cfg.Base = cmp.Or(cfg.Base, 500*time.Millisecond)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, 30*time.Second)
	cfg.MaxRetryAfter = cmp.Or(cfg.MaxRetryAfter, 2*time.Minute)
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	return &retry{client: c, cfg: cfg}
}

type retry struct {
	client Client
	cfg    RetryConfig
	gate   gate
}

// Unwrap returns the client that is asked.
func (r *retry) Unwrap() Client { return r.client }

// Complete asks until a try succeeds, fails for good, or is the last.
func (r *retry) Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error) {
	place := newWaiter()
	if err := r.hold(ctx, place, req); err != nil {
		return nil, err
	}
	var attempts []Attempt
	for n := 1; ; n++ {
		output := false
		resp, err := ask(ctx, r.client, req, noteOutput(onDelta, &output))
		if err == nil {
			return responseAfter(attempts, resp), nil
		}
		again := try{number: n, err: asError(err), cause: err, output: output}
		r.holdOthersBack(&again)
		if !r.mayTryAgain(&again) {
			return nil, errorAfter(attempts, err)
		}
		start := time.Now()
		if err := r.wait(ctx, place, req, &again); err != nil {
			return nil, errorAfter(attempts, err)
		}
		attempts = failed(attempts, req.Model, err)
		attempts[len(attempts)-1].Wait = time.Since(start)
	}
}

// A try is one that failed.
type try struct {
	number int    // from 1
	err    *Error // a copy
	cause  error  // as the client returned it
	output bool   // parts of its reply were handed on
}

// holdOthersBack holds back all calls, whether or not this one is tried again, where the provider
// asks to wait. The refusal of a gate further in concerns one call alone.
func (r *retry) holdOthersBack(t *try) {
	if t.err.RetryAfter > 0 && t.err.Code.Temporary() && !r.tooLong(t.err.RetryAfter) && !errors.Is(t.cause, errDeadline) {
		r.gate.close(time.Now().Add(t.err.RetryAfter))
	}
}

func (r *retry) tooLong(retryAfter time.Duration) bool {
	return r.cfg.MaxRetryAfter > 0 && retryAfter > r.cfg.MaxRetryAfter
}

// mayTryAgain reports whether the same request may be made once more.
func (r *retry) mayTryAgain(t *try) bool {
	switch {
	case !t.err.Code.Temporary():
		return false
	case r.cfg.MaxAttempts > 0 && t.number >= r.cfg.MaxAttempts:
		return false
	case r.tooLong(t.err.RetryAfter):
		return false
	default:
		return !t.output || r.cfg.AfterOutput
	}
}

// hold waits while the gate is closed to a call that has not been made yet.
func (r *retry) hold(ctx context.Context, place *waiter, req *Request) error {
	wait, err := r.gate.pass(ctx, place, func(wait time.Duration) {
		Notify(ctx, Notice{Kind: NoticeRateLimit, Model: req.Model, Wait: wait})
	})
	return heldBack(ctx, req, wait, err)
}

// heldBack returns the error of a call that a gate did not let through, for pass's results.
func heldBack(ctx context.Context, req *Request, wait time.Duration, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return gaveUp(ctx, req.Model, "being held back by a rate limit", nil)
	default:
		message := fmt.Sprintf("held back for %v by a rate limit, longer than the context lasts", wait.Round(time.Millisecond))
		return &Error{Code: CodeRateLimited, Model: req.Model, Message: message, RetryAfter: wait, Err: err}
	}
}

// wait waits between a failed try and the next. It returns what the call ends with if there will be
// no next try.
func (r *retry) wait(ctx context.Context, place *waiter, req *Request, t *try) error {
	onWait := func(wait time.Duration) {
		Notify(ctx, Notice{Kind: NoticeRetry, Model: req.Model, Attempt: t.number, Wait: wait, Err: t.cause, Discard: t.output})
	}
	err := ctx.Err()
	if err != nil && errors.Is(t.cause, err) {
		return t.cause
	}
	wait := max(t.err.RetryAfter, r.backoff(t.number))
	switch {
	case err != nil:
	case outlasts(ctx, wait):
		return t.cause
	case wait > 0 && (t.err.Code == CodeRateLimited || t.err.RetryAfter > 0):
		r.gate.close(time.Now().Add(wait))
	default:
		onWait(wait)
		err = sleep(ctx, wait)
	}
	if err == nil {
		_, err = r.gate.pass(ctx, place, onWait)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDeadline):
		return t.cause
	default:
		return gaveUp(ctx, req.Model, "waiting to try again", t.cause)
	}
}

// backoff returns the wait after the n-th failed try.
func (r *retry) backoff(n int) time.Duration {
	const longest = time.Duration(math.MaxInt64 / 2)
	most := min(r.cfg.MaxWait, longest)
	if most < 0 {
		most = longest
	}
	wait := min(max(r.cfg.Base, 0), most)
	for ; n > 1 && 0 < wait && wait < most; n-- {
		wait = min(2*wait, most)
	}
	half := wait / 2
	return half + time.Duration(r.cfg.Jitter()*float64(wait-half))
}

// sleep waits, unless ctx is done before.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
