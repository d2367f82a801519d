package llmclient_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is what a fake model does with one request.
type outcome struct {
	deltas []llmclient.Delta
	err    error // nil: the reply "ok"
}

// fake answers the n-th request with the n-th outcome, and all later ones with the last. It records
// the times of the requests.
type fake struct {
	mu       sync.Mutex
	outcomes []outcome
	requests []*llmclient.Request
	times    []time.Time
}

func failing(errs ...error) *fake {
	f := &fake{}
	for _, err := range errs {
		f.outcomes = append(f.outcomes, outcome{err: err})
	}
	return f
}

func (f *fake) Complete(_ context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	f.mu.Lock()
	o := f.outcomes[min(len(f.requests), len(f.outcomes)-1)]
	f.requests = append(f.requests, req)
	f.times = append(f.times, time.Now())
	f.mu.Unlock()
	if onDelta != nil {
		for _, d := range o.deltas {
			onDelta(d)
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return reply("ok"), nil
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func reply(text string) *llmclient.Response {
	return &llmclient.Response{Message: messages.AssistantText(text), Finish: llmclient.FinishStop}
}

func coded(code llmclient.Code) *llmclient.Error { return &llmclient.Error{Code: code, Message: "no"} }

func after(code llmclient.Code, wait time.Duration) *llmclient.Error {
	return &llmclient.Error{Code: code, RetryAfter: wait}
}

// listen returns a context that appends the notices of wrappers to notices.
func listen(ctx context.Context, notices *[]llmclient.Notice) context.Context {
	return llmclient.WithNotify(ctx, func(n llmclient.Notice) { *notices = append(*notices, n) })
}

func waits(attempts []llmclient.Attempt) []time.Duration {
	var all []time.Duration
	for _, a := range attempts {
		all = append(all, a.Wait)
	}
	return all
}

func text(s string) llmclient.Delta { return llmclient.Delta{Text: s} }

func half() float64 { return 0.5 }
