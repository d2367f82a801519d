package orchestrator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// reports collects what Config.OnPanic is told.
type reports struct {
	mu   sync.Mutex
	list []machine.PanicReport
}

func (r *reports) hook(c *orchestrator.Config) {
	c.OnPanic = func(ctx context.Context, p machine.PanicReport) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, p)
		if ctx == nil || len(p.Stack) == 0 {
			panic("a report without a context or a stack")
		}
		panic("and panics itself, which ends nothing")
	}
}

// where says what panicked, in which step of which frame.
func (r *reports) where() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.list {
		list = append(list, fmt.Sprintf("%s %s/%d: %s: %v", p.Run, p.Frame, p.Seq, p.Where, p.Value))
	}
	return list
}

// brittleEnd panics when the run is stopped.
type brittleEnd struct{ scene }

func (*brittleEnd) Conclude(string) delegation.Output { panic("x") }

// Whatever panics is reported with its value and stack, where it was, and once; and whoever is told
// may panic.
func TestOnPanic(t *testing.T) {
	silent := func() *scene { return &scene{} }
	calls := func(tool tools.Tool, args string, edit ...func(*orchestrator.Config)) func(*orchestrator.Config) {
		return func(c *orchestrator.Config) {
			name := tool.Definition().Name
			c.Strategies["main"] = func() strategy.Strategy { return payer(name)() }
			c.Client = scripted.New(scripted.Calls(scripted.Call(name, args, "1")), scripted.Func(func(*llmclient.Request) scripted.Reply { panic("x") }))
			for _, e := range append(edit, with(tool)) {
				e(c)
			}
		}
	}
	rows := places(func() error { panic("x") })
	rows["client within a middleware"] = func(c *orchestrator.Config) {
		withClient(func(*llmclient.Request) (*llmclient.Response, error) { panic("x") })(c)
		handles(passing)(c)
	}
	rows["middleware behind the client"] = handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		_, _ = next(ctx, e)
		panic("x")
	})
	rows["strategy later"] = func(c *orchestrator.Config) {
		c.Strategies["main"] = func() strategy.Strategy {
			return &scene{Reply: func(llmclient.Response) nextstep.NextStep { panic("x") }}
		}
	}
	rows["strategy at its end"] = func(c *orchestrator.Config) {
		c.Limits = delegation.Limits{Steps: 1}
		c.Strategies["main"] = func() strategy.Strategy {
			return &brittleEnd{scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}}
		}
	}
	rows["tool"] = calls(raw("bad", func(context.Context, string) (string, error) { panic("x") }), "{}")
	rows["reply"] = calls(tools.AskUser(), `{"question":"A?"}`, replying(func(machine.Wait) (machine.Reply, error) { panic("x") }))
	rows["agent's client"] = calls(orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "sub"}), `{"goal":"g"}`,
		func(c *orchestrator.Config) { c.Strategies["sub"] = func() strategy.Strategy { return silent() } })
	want := map[string]string{
		"client": "0/1: the client: x", "client within a middleware": "0/1: the client: x", "agent's client": "0.1/3: the client: x",
		"middleware": "0/1: a middleware: x", "middleware within another": "0/1: a middleware: x", "middleware behind the client": "0/1: a middleware: x",
		"store": "/1: the store in Append: x", "remote": "0/1: the remote far: x", "tool": "0/2: the tool bad: x", "reply": "0/2: Config.Reply: x",
		"strategy": "0/0: the strategy main in Initialize: x", "strategy later": "0/1: the strategy main in ProcessAPIResponse: x",
		"strategy at its end": "0/1: the strategy main in Conclude: x",
	}
	for name, edit := range rows {
		t.Run(name, func(t *testing.T) {
			var told reports
			res, _ := staged(t, only(silent), stored(new(checkpoint.Memory)), edit, told.hook).Run(t.Context(), task("go"))
			require.Equal(t, []string{"r " + want[name]}, told.where())
			require.NotEmpty(t, res.Status)
		})
	}
}

// A panic that cannot be read as an error is reported, too, and those of reading a journal.
func TestOnPanic_errorsAndJournals(t *testing.T) {
	var told reports
	_, err := staged(t, only(func() *scene { return &scene{} }), told.hook,
		withClient(func(*llmclient.Request) (*llmclient.Response, error) { return nil, &hostile{method: "Error"} })).Run(t.Context(), task("go"))
	require.ErrorContains(t, err, "the Error method of a *orchestrator_test.hostile panicked")
	require.Equal(t, []string{"r 0/1: an error of the client: Error"}, told.where())

	told = reports{}
	store := troubledBy(nil)
	o := staged(t, only(func() *scene { return &scene{} }), stored(store), told.hook)
	ran(t, o, task("go"))
	store.before = unreadable(func() error { panic("no disk") })
	_, err = resumed(t, o, "r")
	require.Error(t, err)
	require.Equal(t, []string{"r /0: reading the journal: no disk"}, told.where())
}

// What a strategy panicked at before is no news when its run is resumed.
func TestOnPanic_notOfReplays(t *testing.T) {
	var told reports
	store := new(checkpoint.Memory)
	o := staged(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
				Child: func(delegation.Output) nextstep.NextStep { return ask("go on") },
			}
		},
		"child": func() *scene { return &scene{Start: func(delegation.Input) nextstep.NextStep { panic("child") }} },
	}, stored(store), told.hook)
	for e, err := range o.Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		if e.Kind == machine.EventFrameLeft {
			break
		}
	}
	require.Len(t, told.where(), 1)
	watchedOn(t, o, "r")
	require.Len(t, told.where(), 1)
}
