package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// numberOf is one that depends on the text alone.
func numberOf(text string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return int(h.Sum32() >> 1)
}

// program is what the strategies of a random run do, one move after the other: "ask a b" asks a
// model, which calls those tools, "child 2" delegates, "far" delegates elsewhere.
type program [4][]string

var programTools = []string{"read", "pay", "again", "asks", "guarded", "fails", "alone"}

func drawProgram(rng *rand.Rand) (p program) {
	for level := range p {
		for range 1 + rng.IntN(2) {
			deeper, last := level+1+rng.IntN(max(1, 3-level)), level == 3
			move := "ask"
			switch kind := rng.IntN(8); {
			case kind == 0 && !last:
				move = fmt.Sprint("child ", deeper)
			case kind == 1:
				move = "far"
			default:
				for range rng.IntN(4) {
					if rng.IntN(5) == 0 && !last {
						move += fmt.Sprint(" agent", deeper)
					} else {
						move += " " + programTools[rng.IntN(len(programTools))]
					}
				}
			}
			p[level] = append(p[level], move)
		}
	}
	return p
}

// strategy returns a strategy that follows its moves, and tells at the end what it was answered.
func (p *program) strategy(level int) strategy.Strategy {
	at, goal, heard := 0, "", []string(nil)
	next := func(words ...string) nextstep.NextStep {
		heard = append(heard, words...)
		if at == len(p[level]) {
			return done("[" + strings.Join(heard, " ") + "]")
		}
		move := strings.Fields(p[level][at])
		at++
		switch move[0] {
		case "child":
			return nextstep.Delegate{Strategy: "p" + move[1], Input: delegation.Input{Goal: goal + "." + move[1]}}
		case "far":
			return nextstep.Delegate{Strategy: "far", Input: delegation.Input{Goal: goal}}
		default:
			return ask(fmt.Sprintf("%s/%d: %s", goal, at, strings.Join(move[1:], " ")), append([]string{"agent1", "agent2", "agent3"}, programTools...)...)
		}
	}
	return &scene{
		Start: func(in delegation.Input) nextstep.NextStep {
			goal = in.Goal
			return next()
		},
		Reply: func(r llmclient.Response) nextstep.NextStep {
			if calls := r.Message.Calls(); len(calls) > 0 {
				return nextstep.ExecuteTools{Calls: calls}
			}
			return next(r.Message.Text())
		},
		Results: func(results []messages.ToolOutput) nextstep.NextStep {
			var words []string
			for _, r := range results {
				words = append(words, r.CallID+"="+string(r.Status)+":"+r.Output)
			}
			return next(words...)
		},
		Child: func(out delegation.Output) nextstep.NextStep { return next("child=" + out.Text()) },
	}
}

// world counts what was done in it, by the key of the effect.
type world struct {
	mu     sync.Mutex
	paid   map[string]int
	unsafe map[string]int // of what must not be repeated; nil: that is not counted apart
}

func (w *world) tool(name string) tools.Tool {
	def := tools.Definition{
		Name: name, ReadOnly: name == "read" || name == "alone", Idempotent: name == "again", NeedsApproval: name == "guarded", Sequential: name == "alone",
	}
	return tools.NewRaw(def, func(ctx context.Context, args string) (string, error) {
		if name == "asks" {
			text, err := tools.Ask(ctx, tools.Question{Text: "well, " + args})
			if err != nil {
				return "", err
			}
			args += text
		}
		w.mu.Lock()
		if w.paid[tools.IdempotencyKey(ctx)]++; w.unsafe != nil && !def.ReadOnly && !def.Idempotent {
			w.unsafe[tools.IdempotencyKey(ctx)]++
		}
		w.mu.Unlock()
		if name == "fails" {
			return "", errors.New("it broke")
		}
		return name + " of " + args, nil
	})
}

// reply is that of a person, which depends on nothing but the question.
func (w *world) reply(wait machine.Wait) machine.Reply {
	return machine.Reply{WaitID: wait.ID, Approve: wait.Kind == machine.WaitUnknown || numberOf(wait.Arguments)%3 > 0, Text: "so"}
}

// process returns a process that follows a program.
func (p *program) process(t *testing.T, w *world, store checkpoint.Store) *orchestrator.Orchestrator {
	t.Helper()
	model := always(func(req *llmclient.Request) scripted.Reply {
		text := req.Messages.Last().(messages.User).Text()
		goal, names, _ := strings.Cut(text, ": ")
		var made []messages.ToolCall
		for i, name := range strings.Fields(names) {
			made = append(made, scripted.Call(name, fmt.Sprintf(`{"goal":"%s/%d"}`, goal, i+1), fmt.Sprint("c", i+1)))
		}
		if len(made) == 0 {
			return scripted.Text("said of " + goal)
		}
		return scripted.Calls(made...)
	})
	cfg := orchestrator.Config{
		Client: model, Store: store, Default: "p0", Strategies: strategy.Set{}, Limits: delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}, Approve: &orchestrator.ApprovalConfig{Expires: -1},
		Remote: map[string]orchestrator.Remote{"far": func(_ context.Context, step nextstep.Delegate) (delegation.Output, error) {
			text := "far " + step.Input.Goal
			return delegation.Output{Result: &text, Counts: delegation.Counts{Steps: 1}}, nil
		}},
	}
	for level := range p {
		cfg.Strategies[fmt.Sprint("p", level)] = func() strategy.Strategy { return p.strategy(level) }
		if level > 0 {
			cfg.Tools = append(cfg.Tools, orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: fmt.Sprint("agent", level)}, Strategy: fmt.Sprint("p", level)}))
		}
	}
	for _, name := range programTools {
		cfg.Tools = append(cfg.Tools, w.tool(name))
	}
	handles(dying)(&cfg)
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}
