package strategytest

import (
	"context"
	"fmt"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// model is a model that answers a step as it has answered it before, so that what is asked for
// again after a crash, or in another order, has the same reply.
type model struct {
	script *scripted.Client
	again  bool // each step has been asked for: there is nothing new

	mu   sync.Mutex
	said map[string]answered // by the key of the step
}

// answered is what was said to a step.
type answered struct {
	deltas []llmclient.Delta
	resp   *llmclient.Response
	err    error
	cutOff bool // by a stop
}

func newModel(script []scripted.Reply) *model {
	return &model{script: scripted.New(script...), said: map[string]answered{}}
}

// stepKey is the key under which the context of a step has its key.
type stepKey struct{}

// around is a middleware that tells the model which step it is asked in.
func (m *model) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
		return next(context.WithValue(ctx, stepKey{}, call.Key()), call)
	}
}

// Complete implements llmclient.Client. A step whose reply was cut off by a stop is not answered
// now either.
func (m *model) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	key := fmt.Sprint(ctx.Value(stepKey{}))
	m.mu.Lock()
	r, known := m.said[key]
	m.mu.Unlock()
	if !m.again {
		r = m.ask(ctx, req)
		m.mu.Lock()
		m.said[key] = r
		m.mu.Unlock()
		return r.resp, r.err
	}
	if !known {
		return nil, fmt.Errorf("strategytest: step %s is not asked for when the run is made at once", key)
	}
	if r.cutOff {
		<-ctx.Done()
	}
	for _, d := range r.deltas {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if onDelta != nil {
			onDelta(d)
		}
	}
	return r.resp, r.err
}

// ask has the script answer.
func (m *model) ask(ctx context.Context, req *llmclient.Request) (r answered) {
	r.resp, r.err = m.script.Complete(ctx, req, func(d llmclient.Delta) { r.deltas = append(r.deltas, d) })
	r.cutOff = ctx.Err() != nil
	return r
}
