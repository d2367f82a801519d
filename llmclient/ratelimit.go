package llmclient

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/segue-go/segue/internal/contentsize"
	"github.com/segue-go/segue/messages"
)

// RateLimitConfig sets the limits of [RateLimit].
type RateLimitConfig struct {
	RequestsPerMinute int // 0 means no limit
	RequestBurst      int // requests at once after a pause; default 1, which spaces them evenly

	TokensPerMinute int // input and output together; 0 means no limit
	TokenBurst      int // tokens at once after a pause; default TokensPerMinute

	// Estimate estimates the tokens of a request, which are taken before it is made. The default is
	// a quarter of the bytes of messages and tool definitions, plus MaxTokens; it reads the whole
	// request. An image counts as 1000 tokens, a file as one for 32 bytes of its data URL or as
	// 10,000, and sound as one for 1024 bytes of its data URL.
	Estimate func(*Request) int
}

// RateLimit returns a Client that delays calls so that c gets no more requests and tokens per
// minute than cfg allows. It uses token buckets (golang.org/x/time/rate). Share one RateLimit among
// all callers that share the provider's limit.
//
// The tokens of a request are estimated before it is made, and corrected by the usage in the
// response or the error. Tokens that were not used become available to waiting calls; tokens used
// beyond the estimate delay later calls. Without a usage, the estimate stands. An estimate above
// TokenBurst counts as TokenBurst.
//
// Calls are made in the order of their arrival, whatever their size. A wait is reported as
// [NoticeRateLimit] before it begins. If it would outlast ctx, the call fails at once with
// [CodeRateLimited] and the wait as RetryAfter. If ctx is done during the wait, the call fails with
// [CodeCanceled] or [CodeTimeout] and the cause of ctx.
func RateLimit(c Client, cfg RateLimitConfig) Client {
	l := &rateLimit{client: c, estimate: cfg.Estimate}
	if l.estimate == nil {
		l.estimate = func(req *Request) int { return EstimateTokens(req) + req.MaxTokens }
	}
	l.gate.limits = &limits{
		requests: newBucket(cfg.RequestsPerMinute, cmp.Or(cfg.RequestBurst, 1)),
		tokens:   newBucket(cfg.TokensPerMinute, cmp.Or(cfg.TokenBurst, cfg.TokensPerMinute)),
	}
	return l
}

type rateLimit struct {
	client   Client
	estimate func(*Request) int
	gate     gate
}

// Unwrap returns the limited client.
func (l *rateLimit) Unwrap() Client { return l.client }

// Complete asks the client as soon as the limits allow.
func (l *rateLimit) Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error) {
	place := newWaiter()
	if l.gate.limits.tokens != nil {
		place.tokens = l.estimate(req)
	}
	wait, err := l.gate.pass(ctx, place, func(wait time.Duration) {
		Notify(ctx, Notice{Kind: NoticeRateLimit, Model: req.Model, Wait: wait})
	})
	if err != nil {
		return nil, heldBack(ctx, req, wait, err)
	}
	resp, err := ask(ctx, l.client, req, onDelta)
	if err != nil {
		e := asError(err)
		l.correct(place, e.Usage, e.Attempts)
		return nil, err
	}
	l.correct(place, resp.Usage, resp.Attempts)
	return resp, nil
}

// correct corrects what place took by the tokens that were used in all.
func (l *rateLimit) correct(place *waiter, u messages.Usage, attempts []Attempt) {
	for _, a := range attempts {
		u = u.Add(a.Usage)
	}
	used := max(u.Total, u.Input+u.Output)
	if used <= u.Estimated {
		return
	}
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	tokens := l.gate.limits.tokens
	more := int(min(used, math.MaxInt32)) - tokens.fit(place.tokens)
	if more > 0 {
		tokens.take(time.Now(), more)
	} else {
		tokens.giveBack(-more)
		l.gate.notifyFirst()
	}
}

// EstimateTokens estimates the tokens of a request without its reply, from its bytes: four are a
// token.
func EstimateTokens(req *Request) int {
	size := 0
	for _, m := range req.Messages {
		switch m := m.(type) {
		case messages.System:
			size += len(m.Text)
		case messages.User:
			for _, c := range m.Content {
				size += contentsize.Of(c)
			}
		case messages.Assistant:
			size += assistantSize(m)
		case messages.Tool:
			size += len(m.Output)
			for _, image := range m.Images {
				size += contentsize.Of(image)
			}
		default: // not a message: the client will refuse it
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return size / 4
}

func assistantSize(m messages.Assistant) int {
	size := 0
	for _, c := range m.Content {
		switch c := c.(type) {
		case messages.Text:
			size += len(c.Text)
		case messages.Thought:
			size += len(c.Text)
		case messages.ToolCall:
			size += len(c.Name) + len(c.Arguments)
		default: // not a content: the client will refuse it
		}
	}
	return size
}
