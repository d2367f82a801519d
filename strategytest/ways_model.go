package strategytest

import (
	"context"
	"fmt"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
)

// model is a model that always answers a step in the same way, so that a request that is repeated
// after a crash, or comes in another order, gets the same reply. The key of the step is in the
// context.
type model struct {
	script *scripted.Client
	again  bool // each step has been requested: there is nothing new

	mu   sync.Mutex
	said map[string]answered // by the key of the step
}

// answered is the answer to a step.
type answered struct {
	deltas []llmclient.Delta
	resp   *llmclient.Response
	err    error
	cutOff bool // by a stop
}

func newModel(script []scripted.Reply) *model {
	return &model{script: scripted.New(script...), said: map[string]answered{}}
}

// Complete implements llmclient.Client. A step whose reply was cut off by a stop is not answered
// again.
func (m *model) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	key := keyOf(ctx)
	r, known := m.recall(key)
	if !m.again {
		r = m.ask(ctx, req)
		m.mu.Lock()
		m.said[key] = r
		m.mu.Unlock()
		return r.resp, r.err
	}
	if !known {
		return nil, fmt.Errorf("strategytest: step %s was not requested in the uninterrupted run", key)
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

// recall returns the earlier answer to a step.
func (m *model) recall(key string) (r answered, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known = m.said[key]
	return r, known
}

// ask returns the script's answer.
func (m *model) ask(ctx context.Context, req *llmclient.Request) (r answered) {
	r.resp, r.err = m.script.Complete(ctx, req, func(d llmclient.Delta) { r.deltas = append(r.deltas, d) })
	r.cutOff = ctx.Err() != nil
	return r
}
