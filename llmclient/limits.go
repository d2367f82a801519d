package llmclient

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// limits are two token buckets. Each caller of a gate takes from both at once when its turn comes.
// A nil *limits never runs out. The mutex of the gate guards it.
type limits struct{ requests, tokens *bucket }

// wait returns how long w has to wait after those ahead of it. For all but the first it is a lower
// bound.
func (l *limits) wait(now time.Time, ahead []*waiter, w *waiter) time.Duration {
	if l == nil {
		return 0
	}
	tokens := l.tokens.fit(w.tokens)
	for _, o := range ahead {
		tokens += l.tokens.fit(o.tokens)
	}
	return max(l.requests.wait(now, len(ahead)+1), l.tokens.wait(now, tokens))
}

func (l *limits) take(now time.Time, w *waiter) {
	if l != nil {
		l.requests.take(now, 1)
		l.tokens.take(now, l.tokens.fit(w.tokens))
	}
}

// A bucket is a token bucket that can be corrected afterwards. A nil bucket never runs out.
type bucket struct {
	limiter *rate.Limiter
	credit  int // tokens to give back; the limiter itself takes nothing back
}

// newBucket returns a full bucket, or nil if perMinute means no limit.
func newBucket(perMinute, size int) *bucket {
	if perMinute <= 0 {
		return nil
	}
	return &bucket{limiter: rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(size, 1))}
}

// fit limits n to a full bucket, the most that can be taken at once.
func (b *bucket) fit(n int) int {
	if b == nil {
		return 0
	}
	return min(max(n, 0), b.limiter.Burst())
}

// wait returns how long it takes until n are available.
func (b *bucket) wait(now time.Time, n int) time.Duration {
	if b == nil {
		return 0
	}
	level := b.limiter.TokensAt(now)
	b.credit = min(b.credit, int(float64(b.limiter.Burst())-level)) // what exceeds a full bucket is lost
	missing := float64(n) - float64(b.credit) - level
	wait := math.Ceil(missing / float64(b.limiter.Limit()) * float64(time.Second))
	return time.Duration(min(wait, math.MaxInt64/2))
}

// take takes n at once, even if fewer are available: later callers wait for the rest.
func (b *bucket) take(now time.Time, n int) {
	if b == nil {
		return
	}
	credit := min(b.credit, n)
	b.credit -= credit
	n -= credit
	size := b.limiter.Burst()
	b.limiter.SetBurstAt(now, max(size, n))
	b.limiter.ReserveN(now, n)
	b.limiter.SetBurstAt(now, size)
}

// giveBack returns n to the bucket.
func (b *bucket) giveBack(n int) {
	if b != nil {
		b.credit += n
	}
}
