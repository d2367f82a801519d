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

// RetryConfig configures [Retry]. The zero value is ready to use.
type RetryConfig struct {
	MaxAttempts   int           // tries in all, including the first; default 4; negative: no limit
	Base          time.Duration // backoff after the first failed try, doubled after each further one; default 500 ms; negative: none
	MaxWait       time.Duration // longest backoff; default 30 s; negative: no limit
	MaxRetryAfter time.Duration // longest Retry-After that is obeyed; default 2 min; negative: no limit

	// AfterOutput also retries if the reply broke off after parts of it were passed to onDelta.
	// Discard of the Notice before the next try is then set: code that shows the parts must remove
	// them.
	AfterOutput bool

	// Jitter returns a number in [0,1); default math/rand/v2. It must be safe for concurrent use.
	Jitter func() float64
}

// Retry returns a Client that asks c again after errors whose code is temporary (see
// [Code.Temporary]). Among errors that are not an [*Error], only context.DeadlineExceeded,
// io.ErrUnexpectedEOF, [*net.OpError] and [*net.DNSError] are temporary.
//
// The wait before the next try is Error.RetryAfter, or the backoff if that is longer. The backoff
// is a random time between half of Base·2ⁿ⁻¹ and the whole of it, at most MaxWait. The error is
// returned at once if its NoRetry is set, if its RetryAfter is longer than MaxRetryAfter, or if the
// wait would outlast ctx. If ctx is done during a wait, the error has [CodeCanceled] or
// [CodeTimeout] and wraps the cause of ctx and the last error.
//
// Some waits delay all calls of this Client: a RetryAfter that is not too long, and any wait after
// [CodeRateLimited], even if the call that received it does not try again. Calls that arrive in the
// meantime wait too, reported as [NoticeRateLimit]. All continue in the order of their arrival;
// none passes an earlier one. If a call would have to wait before its first try until after ctx
// ends, it fails at once with [CodeRateLimited]. Any other backoff delays only its own call.
//
// Every failed try except the last is reported as [NoticeRetry] before the wait, and listed in
// Response.Attempts or Error.Attempts together with the attempts of inner clients, in order of
// time. The last one is the outcome itself and is not listed. Retry copies errors and responses of
// c before it adds to them.
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

// Unwrap returns the wrapped client.
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

// A try is a failed try.
type try struct {
	number int    // from 1
	err    *Error // a copy
	cause  error  // the error that the client returned
	output bool   // parts of its reply were passed on
}

// holdOthersBack delays all calls if the provider asks to wait, whether or not this call tries
// again. A refusal by an inner gate concerns only one call.
func (r *retry) holdOthersBack(t *try) {
	if t.err.RetryAfter > 0 && t.err.Code.Temporary() && !r.tooLong(t.err.RetryAfter) && !errors.Is(t.cause, errDeadline) {
		r.gate.close(time.Now().Add(t.err.RetryAfter))
	}
}

func (r *retry) tooLong(retryAfter time.Duration) bool {
	return r.cfg.MaxRetryAfter > 0 && retryAfter > r.cfg.MaxRetryAfter
}

// mayTryAgain reports whether the same request may be made again.
func (r *retry) mayTryAgain(t *try) bool {
	switch {
	case !t.err.Code.Temporary() || t.err.NoRetry:
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

// heldBack returns the error of a call that a gate did not let pass. wait and err are the results
// of pass.
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

// wait waits between a failed try and the next. If there will be no next try, it returns the final
// error.
func (r *retry) wait(ctx context.Context, place *waiter, req *Request, t *try) error {
	onWait := func(wait time.Duration) {
		Notify(ctx, Notice{Kind: NoticeRetry, Model: cmp.Or(t.err.Model, req.Model), Attempt: t.number, Wait: wait, Err: t.cause, Discard: t.output})
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

// sleep waits, unless ctx is done earlier.
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
