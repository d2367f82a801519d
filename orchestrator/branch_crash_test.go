package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// cutStore is a store whose n-th append fails, before the records are written or after.
type cutStore struct {
	checkpoint.Memory
	mu      sync.Mutex
	appends int
	at      int // 0: none fails
	after   bool
	cut     bool
}

var errPowerCut = errors.New("the power was cut")

func (s *cutStore) Append(ctx context.Context, b checkpoint.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b.Records) == 0 { // the lease ends
		return s.Memory.Append(ctx, b)
	}
	s.appends++
	if s.appends != s.at {
		return s.Memory.Append(ctx, b)
	}
	s.cut = true
	if s.after {
		if err := s.Memory.Append(ctx, b); err != nil {
			return err
		}
	}
	return errPowerCut
}

// firm is a composition of agents three deep: the root calls an agent for three goals at the same
// time, and tools; each of them calls another agent, and tools; and so does that. All that its
// model says follows from what it is asked, so that the order in which things end changes no
// output.
type firm struct {
	store    *cutStore
	parallel int

	mu   sync.Mutex
	made map[string]int // executions, by tool and arguments

	unsure map[string]bool // calls that somebody said shall be made again
}

// plan is what the model calls first for a goal, by the depth of the agent that has it.
func (f *firm) plan(goal string) []messages.ToolCall {
	call := func(n int, name, goals string) messages.ToolCall {
		return scripted.Call(name, fmt.Sprintf(`{%q:%s}`, goals, goal), fmt.Sprint("c", n))
	}
	goal, deep := fmt.Sprintf("%q", goal), strings.Count(goal, ".")
	calls := []messages.ToolCall{call(1, "pay", "for"), call(2, "look", "at")}
	switch deep {
	case 0:
		goal = `["go.a","go.b","go.c"]`
		calls = append(calls, call(3, "worker", "goals"), scripted.Call("sign", `{"for":"go"}`, "c4"))
	case 1:
		goal = strings.TrimSuffix(goal, `"`) + `.x"`
		calls = append(calls, call(3, "worker", "goal"))
	}
	return calls
}

func (f *firm) reply(req *llmclient.Request) scripted.Reply {
	goal := goalOf(req)
	if !answered(req) {
		return billed(scripted.Calls(f.plan(goal)...))
	}
	var said []string
	for _, m := range req.Messages {
		if out, ok := m.(messages.Tool); ok {
			said = append(said, out.Output)
		}
	}
	return billed(scripted.Text(goal + ": " + strings.Join(said, "; ")))
}

// tool is a tool that counts.
func (f *firm) tool(def tools.Definition) tools.Tool {
	return tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.made[def.Name+arguments]++
		return def.Name + arguments, nil
	})
}

// build makes another process of the firm.
func (f *firm) build(t *testing.T) *orchestrator.Orchestrator {
	t.Helper()
	fanOut := worker(func(a *orchestrator.Agent) { a.FanOut = true })
	return solver(t, always(f.reply), withWork, workAll, stored(f.store), func(c *orchestrator.Config) {
		c.Parallel = f.parallel
		c.Tools = []tools.Tool{
			fanOut, f.tool(tools.Definition{Name: "pay"}), f.tool(tools.Definition{Name: "look", ReadOnly: true}),
			f.tool(tools.Definition{Name: "sign", NeedsApproval: true}),
		}
	})
}

// stored returns the calls whose results stand in the journal.
func (f *firm) stored(t *testing.T) map[string]bool {
	t.Helper()
	kept := map[string]bool{}
	for rec, err := range f.store.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		if err != nil {
			break // nothing was written
		}
		r, err := machine.ReadRecord(rec.Data)
		require.NoError(t, err)
		if a, ok := r.(machine.Answered); ok {
			if result, ok := a.Answer.(nextstep.ToolResult); ok {
				kept[result.Output.Output] = true
			}
		}
	}
	return kept
}

// run brings the run to its end, with a process for each part of it, and returns what was stored
// and made when it was cut.
func (f *firm) run(t *testing.T) (res orchestrator.Result, kept map[string]bool, made map[string]int) {
	t.Helper()
	f.made, f.unsure = map[string]int{}, map[string]bool{}
	res, err := f.build(t).Run(t.Context(), task("go"))
	for range 20 {
		switch {
		case errors.Is(err, errPowerCut):
			kept, made = f.stored(t), f.made
			f.made = map[string]int{}
		case err != nil && !errors.Is(err, checkpoint.ErrNotFound):
			require.NoError(t, err)
		case res.Status == machine.StatusDone:
			return res, kept, made
		}
		if runsIn(t, f.store) == nil {
			res, err = f.build(t).Run(t.Context(), task("go"))
			continue
		}
		var replies []machine.Reply
		for _, w := range res.Waits {
			replies = append(replies, machine.Reply{WaitID: w.ID, Approve: true})
			if w.Kind == machine.WaitUnknown {
				f.unsure[w.Tool+w.Arguments] = true
			}
		}
		if err != nil {
			replies = nil // nobody knows yet what it waits for
		}
		res, err = orchestrator.Collect(f.build(t).Resume(t.Context(), resuming("r", replies...)))
	}
	require.Fail(t, "the run does not come to its end")
	return res, kept, made
}

// A run of agents that is cut off at any append, before what it writes is there or after, comes to
// the end that it would have come to, with branches open, and makes no call again whose result was
// stored. A call that may have had its effect is made again only since somebody said so. Every test
// run takes one of three appends.
func TestBranches_cutAnywhere(t *testing.T) {
	step := prove.DepthOr(3, 1)
	for _, parallel := range []int{1, 4} {
		whole := &firm{store: new(cutStore), parallel: parallel}
		want, _, _ := whole.run(t)
		require.Contains(t, want.Output.Text(), "go.a.x")
		require.Equal(t, []string{"r"}, runsIn(t, whole.store))
		for key, n := range whole.made {
			require.Equal(t, 1, n, key)
		}
		for _, after := range []bool{false, true} {
			cuts := 0
			for at := 1; ; at += step {
				f := &firm{store: &cutStore{at: at, after: after}, parallel: parallel}
				res, kept, made := f.run(t)
				if !f.store.cut {
					break
				}
				cuts++
				require.Equal(t, timeless(want.Output), timeless(res.Output), "parallel %d, append %d, after it %v", parallel, at, after)
				for key := range kept {
					require.Zero(t, f.made[key], "parallel %d, append %d, after it %v: %s is made again", parallel, at, after, key)
				}
				for key := range whole.made {
					require.LessOrEqual(t, f.made[key], 1, key)
					require.Positive(t, f.made[key]+made[key], key)
					if !strings.HasPrefix(key, "look") && !f.unsure[key] {
						require.Equal(t, 1, f.made[key]+made[key], "%s is made again, and nobody said so", key)
					}
				}
			}
			require.Greater(t, cuts*step, 8, "answers that come together are written together")
		}
	}
}
