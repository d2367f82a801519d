package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// stage runs the cases of a shard, one after the other. Making an Orchestrator takes longer than a
// case, so cases with the same tools share one. The Orchestrator finds its case in the context; its
// strategies are those of the current case.
type stage struct {
	made  map[[2]string]func() strategy.Strategy // by kind and Config
	built map[string]*orchestrator.Orchestrator  // by their configuration
	now   atomic.Pointer[composed]
}

func newStage() *stage {
	return &stage{made: map[[2]string]func() strategy.Strategy{}, built: map[string]*orchestrator.Orchestrator{}}
}

// factory returns the factory of a strategy.
func (s *stage) factory(n composedNode) func() strategy.Strategy {
	key := [2]string{n.Strategy, n.Config}
	if s.made[key] == nil {
		made, err := factory(n.Strategy, n.Config)
		if err != nil {
			panic(fmt.Sprintf("the Config %s of %s: %v", n.Config, n.Strategy, err))
		}
		s.made[key] = made
	}
	return s.made[key]
}

// orchestrator returns an Orchestrator for a composition.
func (s *stage) orchestrator(p *composition) *orchestrator.Orchestrator {
	key := fmt.Sprint(len(p.Nodes), p.Agents, p.Missing, p.Person > 0, p.Stored, p.Edits)
	if s.built[key] != nil {
		return s.built[key]
	}
	cfg := orchestrator.Config{
		Client:     llmclient.ClientFunc(ask),
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
		Tools:      p.tools(),
	}
	for i := range p.Nodes {
		cfg.Strategies[nodeName(i)] = func() strategy.Strategy {
			if w := s.now.Load(); w != nil {
				return w.nodes[i]()
			}
			return completetask.New(completetask.Config{})() // only while it is built
		}
	}
	if p.Person > 0 {
		cfg.Reply = answer
	}
	if p.Stored {
		cfg.Store, cfg.Timeouts.Store = caseStore{}, -1 // an append that is refused is not tried again
	}
	cfg.Middleware = []orchestrator.Middleware{noteInTools}
	if p.Edits {
		cfg.Middleware = append(cfg.Middleware, edit)
	}
	o, err := orchestrator.New(cfg)
	if err != nil {
		panic(err)
	}
	s.built[key] = o
	return o
}

// caseKey is the context key of the case.
type caseKey struct{}

func caseOf(ctx context.Context) *composed { return ctx.Value(caseKey{}).(*composed) }

// ask returns the answer of the case's model.
func ask(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	return caseOf(ctx).Complete(ctx, req, onDelta)
}

// answer is a person who answers, or is absent.
func answer(ctx context.Context, wait machine.Wait) (machine.Reply, error) {
	if caseOf(ctx).Person == 1 {
		return machine.Reply{WaitID: wait.ID, Approve: true, Text: "that one"}, nil
	}
	return machine.Reply{}, tools.ErrSuspended
}

// caseStore is the store of the case.
type caseStore struct{}

func (caseStore) Append(ctx context.Context, b checkpoint.Batch) error {
	w := caseOf(ctx)
	if len(b.Records) == 0 { // the lease ends
		return w.store.Append(ctx, b)
	}
	if w.appends++; w.appends == w.Fails {
		return errRefused
	}
	return w.store.Append(ctx, b)
}

var errRefused = errors.New("the store refuses")

func (caseStore) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return caseOf(ctx).store.Read(ctx, key, from)
}

func (caseStore) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	return caseOf(ctx).store.Head(ctx, key)
}

// noteInTools is a middleware that makes notes during tool calls.
func noteInTools(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if w := caseOf(ctx); e.Kind == machine.EffectTool {
			w.mu.Lock()
			w.note()
			w.mu.Unlock()
		}
		return next(ctx, e)
	}
}

// edit is a middleware that changes tool calls, their results, and replies.
func edit(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.Kind == machine.EffectTool && e.ID.Index%2 == 1 {
			e.Call.Arguments += " "
		}
		a, err := next(ctx, e)
		switch a := a.(type) {
		case nextstep.ToolResult:
			a.Output.Output += " (edited)"
			return a, err
		case nextstep.APIResponse:
			resp := *a.Response
			resp.Model = "edited"
			return nextstep.APIResponse{Response: &resp}, err
		}
		return a, err
	}
}

// agentTools are the strategies as tools, by their numbers.
var agentTools = func() (list []tools.Tool) {
	for i := range mostNodes {
		name := nodeName(i)
		list = append(list, orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "agent_" + name, ReadOnly: i%2 == 0},
			Strategy:   name, FanOut: i%3 > 0, Limits: delegation.Limits{ModelCalls: 2 * i}, Model: agentModel(i),
		}))
	}
	return list
}()

// agentPrefix is the beginning of the names of agents.
const agentPrefix = "agent_n"

// agents returns the numbers of the strategies that are tools.
func (p *composition) agents() []int {
	var all []int
	for i := range p.Nodes {
		all = append(all, i)
	}
	switch p.Agents {
	case 0:
		return nil
	case 1:
		return all
	case 2:
		return all[1:]
	default:
		return all[len(all)-1:]
	}
}

// tools returns the tools of a composition.
func (p *composition) tools() []tools.Tool {
	var list []tools.Tool
	for _, i := range p.agents() {
		list = append(list, agentTools[i])
	}
	for i, tool := range composedTools {
		if i != p.Missing-1 {
			list = append(list, tool)
		}
	}
	return list
}
