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

// brittle is a store that panics when a record is appended.
type brittle struct{ checkpoint.Memory }

func (*brittle) Append(context.Context, checkpoint.Batch) error { panic("disk") }

// brittleEnd panics when the run is stopped.
type brittleEnd struct{ scene }

func (*brittleEnd) Conclude(string) delegation.Output { panic("conclude") }

// Whatever panics is reported with its value and stack, where it was, and once; and whoever is told
// may panic.
func TestOnPanic(t *testing.T) {
	silent := func() *scene { return &scene{} }
	bad := func(name string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name}, func(context.Context, string) (string, error) { panic("tool") })
	}
	calls := func(name, args string) func(*orchestrator.Config) {
		return func(c *orchestrator.Config) {
			c.Strategies["main"] = func() strategy.Strategy { return payer(name)() }
			c.Client = scripted.New(scripted.Calls(scripted.Call(name, args, "1")), scripted.Text("done"))
		}
	}
	for name, tt := range map[string]struct {
		edit []func(*orchestrator.Config)
		want []string
	}{
		"tool": {[]func(*orchestrator.Config){with(bad("bad")), calls("bad", "{}")}, []string{"r 0/2: the tool bad: tool"}},
		"client": {
			[]func(*orchestrator.Config){withClient(func(*llmclient.Request) (*llmclient.Response, error) { panic("client") })},
			[]string{"r 0/1: the client: client"},
		},
		"client within a middleware": {[]func(*orchestrator.Config){
			withClient(func(*llmclient.Request) (*llmclient.Response, error) { panic("client") }),
			handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
				return next(ctx, e)
			}),
		}, []string{"r 0/1: the client: client"}},
		"middleware": {[]func(*orchestrator.Config){handles(func(context.Context, machine.Effect, orchestrator.Handler) (nextstep.Answer, error) {
			panic("middleware")
		})}, []string{"r 0/1: a middleware: middleware"}},
		"middleware behind the client": {[]func(*orchestrator.Config){handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			_, _ = next(ctx, e)
			panic("middleware")
		})}, []string{"r 0/1: a middleware: middleware"}},
		"strategy": {[]func(*orchestrator.Config){func(c *orchestrator.Config) {
			c.Strategies["main"] = func() strategy.Strategy {
				return &scene{Reply: func(llmclient.Response) nextstep.NextStep { panic("strategy") }}
			}
		}}, []string{"r 0/1: the strategy main in ProcessAPIResponse: strategy"}},
		"strategy at its start, with a journal": {[]func(*orchestrator.Config){stored(new(checkpoint.Memory)), func(c *orchestrator.Config) {
			c.Strategies["main"] = func() strategy.Strategy {
				return &scene{Start: func(delegation.Input) nextstep.NextStep { panic("strategy") }}
			}
		}}, []string{"r 0/0: the strategy main in Initialize: strategy"}},
		"strategy at its end": {[]func(*orchestrator.Config){func(c *orchestrator.Config) {
			c.Limits = delegation.Limits{Steps: 1}
			c.Strategies["main"] = func() strategy.Strategy {
				return &brittleEnd{scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}}
			}
		}}, []string{"r 0/1: the strategy main in Conclude: conclude"}},
		"remote": {[]func(*orchestrator.Config){func(c *orchestrator.Config) {
			c.Strategies["main"] = func() strategy.Strategy {
				return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} }}
			}
			c.Remote = map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) { panic("remote") }}
		}}, []string{"r 0/1: the remote far: remote"}},
		"store": {[]func(*orchestrator.Config){stored(new(brittle))}, []string{"r /1: the store in Append: disk"}},
		"reply": {[]func(*orchestrator.Config){
			with(tools.AskUser()), calls(tools.AskUserName, `{"question":"A?"}`),
			replying(func(machine.Wait) (machine.Reply, error) { panic("reply") }),
		}, []string{"r 0/2: Config.Reply: reply"}},
		"agent's client": {[]func(*orchestrator.Config){
			with(orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "sub"})), calls("sub", `{"goal":"g"}`),
			func(c *orchestrator.Config) {
				c.Strategies["sub"] = func() strategy.Strategy { return silent() }
				c.Client = scripted.New(scripted.Calls(scripted.Call("sub", `{"goal":"g"}`, "1")), scripted.Func(func(*llmclient.Request) scripted.Reply { panic("client") }))
			},
		}, []string{"r 0.1/3: the client: client"}},
	} {
		t.Run(name, func(t *testing.T) {
			var told reports
			res, _ := staged(t, only(silent), append(tt.edit, told.hook)...).Run(t.Context(), task("go"))
			require.Equal(t, tt.want, told.where())
			if name != "store" {
				require.NotEmpty(t, res.Status)
			}
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
	_, err = resumed(t, staged(t, only(func() *scene { return &scene{} }), stored(new(panics)), told.hook), "r")
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
