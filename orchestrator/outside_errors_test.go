package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// hostile is an error whose methods panic, as those of a typed nil do.
type hostile struct {
	inner  error
	method string // the one that panics
}

func (e *hostile) Error() string {
	e.trip("Error")
	return "no"
}

func (e *hostile) Unwrap() error {
	e.trip("Unwrap")
	return e.inner
}

func (e *hostile) Is(error) bool {
	e.trip("Is")
	return false
}

func (e *hostile) As(any) bool {
	e.trip("As")
	return false
}

func (e *hostile) trip(method string) {
	if e.method == method {
		panic(method)
	}
}

// cyclic is an error that wraps itself; tangle wraps itself twice.
type cyclic struct{}

func (cyclic) Error() string   { return "cyclic" }
func (c cyclic) Unwrap() error { return c }

type tangle struct{}

func (tangle) Error() string     { return "tangle" }
func (t tangle) Unwrap() []error { return []error{t, t} }

// hostiles are errors that kill whoever reads them without care.
func hostiles() map[string]error {
	return map[string]error{
		"typed nil":              (*hostile)(nil),
		"typed nil of a model":   (*llmclient.Error)(nil),
		"typed nil of a wait":    (*orchestrator.SuspendedError)(nil),
		"typed nil of an output": (*delegation.Error)(nil),
		"typed nil within":       fmt.Errorf("it failed: %w", (*llmclient.Error)(nil)),
		"Error":                  &hostile{method: "Error"},
		"Unwrap":                 &hostile{method: "Unwrap"},
		"Is":                     &hostile{method: "Is"},
		"As":                     fmt.Errorf("it failed: %w", &hostile{method: "As"}),
		"wraps itself":           cyclic{},
		"wraps itself twice":     fmt.Errorf("it failed: %w", tangle{}),
	}
}

// staged is an Orchestrator of scenes, with a store if one is set.
func staged(t *testing.T, set map[string]func() *scene, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	cfg := orchestrator.Config{Client: always(func(*llmclient.Request) scripted.Reply { return scripted.Text("hi") }), Strategies: strategy.Set{}, Default: "main"}
	for name, build := range set {
		cfg.Strategies[name] = func() strategy.Strategy { return build() }
	}
	for _, e := range edit {
		e(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

// payer asks for calls and makes them, once; its result is what the first one left.
func payer(offered ...string) func() *scene {
	return func() *scene {
		return &scene{
			Start: func(in delegation.Input) nextstep.NextStep { return ask(in.Goal, offered...) },
			Reply: func(r llmclient.Response) nextstep.NextStep {
				if c := r.Message.Calls(); len(c) > 0 {
					return nextstep.ExecuteTools{Calls: c}
				}
				return done(r.Message.Text())
			},
			Results: func(o []messages.ToolOutput) nextstep.NextStep { return done(o[0].Output) },
		}
	}
}

// withClient has a function be the model.
func withClient(f func(req *llmclient.Request) (*llmclient.Response, error)) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		c.Client = llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			return f(req)
		})
	}
}

func handles(h func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error)) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		c.Middleware = append(c.Middleware, func(next orchestrator.Handler) orchestrator.Handler {
			return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) { return h(ctx, e, next) }
		})
	}
}

// passing does nothing of its own.
func passing(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
	return next(ctx, e)
}

// places are where foreign code fails, each with a Config that comes to it.
func places(fail func() error) map[string]func(*orchestrator.Config) {
	starts := func(start func() nextstep.NextStep) func(*orchestrator.Config) {
		return func(c *orchestrator.Config) {
			c.Strategies["main"] = func() strategy.Strategy {
				return &scene{Start: func(delegation.Input) nextstep.NextStep { return start() }}
			}
		}
	}
	refuses := handles(func(context.Context, machine.Effect, orchestrator.Handler) (nextstep.Answer, error) {
		return nil, fail()
	})
	return map[string]func(*orchestrator.Config){
		"client":     withClient(func(*llmclient.Request) (*llmclient.Response, error) { return nil, fail() }),
		"middleware": refuses,
		"middleware within another": func(c *orchestrator.Config) {
			handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
				answer, err := next(ctx, e)
				if err != nil {
					err = fmt.Errorf("%w (is it a limit: %v)", err, errors.Is(err, context.Canceled))
				}
				return answer, err
			})(c)
			refuses(c)
		},
		"store": stored(failsFrom(2, fail)),
		"remote": func(c *orchestrator.Config) {
			starts(func() nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} })(c)
			c.Remote = map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
				return delegation.Output{}, fail()
			}}
		},
		"strategy": starts(func() nextstep.NextStep { return nextstep.ReportError{Err: fail()} }),
	}
}

// Whoever returns an error whose methods panic, or panics with it, fails the step, and nothing
// else: the run ends, its error can be read and asked, and the process lives.
func TestForeignErrors(t *testing.T) {
	for name, hostile := range hostiles() {
		for how, fail := range map[string]func() error{"returned": func() error { return hostile }, "panicked with": func() error { panic(hostile) }} {
			for where, edit := range places(fail) {
				t.Run(name+"/"+how+"/"+where, func(t *testing.T) {
					logged := func(c *orchestrator.Config) {
						c.Logger, c.LogContent = slog.New(slog.NewTextHandler(t.Output(), nil)), true
					}
					res, err := staged(t, only(func() *scene { return &scene{} }), edit, logged).Run(t.Context(), task("go"))
					require.Error(t, err)
					require.NotEqual(t, machine.StatusDone, res.Status)
					require.NotEmpty(t, err.Error())
					require.NotEmpty(t, res.Output.Err.Message)
					require.NotErrorIs(t, err, errors.ErrUnsupported)
					_, found := errors.AsType[*messages.LawError](err)
					require.False(t, found)
				})
			}
		}
	}
}

// A journal whose error cannot be read is one that cannot be read.
func TestForeignErrors_reading(t *testing.T) {
	for name, hostile := range hostiles() {
		store := troubledBy(nil)
		o := staged(t, only(func() *scene { return &scene{} }), stored(store))
		ran(t, o, task("go"))
		store.before = unreadable(func() error { return hostile })
		_, err := resumed(t, o, "r")
		var journal *orchestrator.JournalError
		require.ErrorAs(t, err, &journal, name)
		require.NotErrorIs(t, err, checkpoint.ErrNotFound)
		require.NotEmpty(t, err.Error())
	}
}

// unreadable has every Read fail.
func unreadable(fail func() error) func(context.Context, string, *checkpoint.Batch) error {
	return func(_ context.Context, method string, _ *checkpoint.Batch) error {
		if method == "Read" {
			return fail()
		}
		return nil
	}
}

// Why a context ended is for its owner to say, who may say it badly.
func TestForeignErrors_causes(t *testing.T) {
	for name, hostile := range hostiles() {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(hostile)
		res, err := staged(t, only(func() *scene { return &scene{} })).Run(ctx, task("go"))
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, machine.StatusStopped, res.Status)
	}
}

// On goroutines of their own, tools and agents are as safe: a hostile error is the result of its
// call.
func TestForeignErrors_onGoroutinesOfTools(t *testing.T) {
	for name, hostile := range hostiles() {
		t.Run(name, func(t *testing.T) {
			bad := tools.NewRaw(tools.Definition{Name: "bad"}, func(context.Context, string) (string, error) { return "fine", hostile })
			sub := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "sub"})
			o := staged(t, map[string]func() *scene{"main": payer("bad", "sub"), "sub": func() *scene { return &scene{} }}, with(bad, sub),
				withClient(func(req *llmclient.Request) (*llmclient.Response, error) {
					if len(req.Tools) == 0 {
						return nil, hostile
					}
					return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
						messages.ToolCall{ID: "1", Name: "bad"}, messages.ToolCall{ID: "2", Name: "sub", Arguments: `{"goal":"x"}`},
					}}}, nil
				}))
			res := ran(t, o, task("go"))
			require.Len(t, res.Output.ToolMetas(), 2)
			for _, meta := range res.Output.ToolMetas() {
				require.Equal(t, messages.StatusFailed, meta.Status, meta.ToolName)
			}
		})
	}
}

// Config.Reply may fail as badly.
func TestForeignErrors_reply(t *testing.T) {
	for name, hostile := range hostiles() {
		o := solver(t, scripted.New(scripted.Calls(question("A?", "1")), scripted.Text("done")), with(tools.AskUser()), func(c *orchestrator.Config) {
			c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
				return machine.Reply{}, hostile
			}
		})
		res, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err, name)
		require.Equal(t, "done", res.Output.Text())
		require.Equal(t, messages.StatusFailed, res.Output.ToolMetas()[0].Status)
	}
}

// What is asked of a sound error finds what it found before.
func TestForeignErrors_soundOnes(t *testing.T) {
	down := &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down", Err: errors.ErrUnsupported}
	var seen error
	o := staged(t, only(func() *scene { return &scene{} }),
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			seen = err
			return answer, err
		}),
		withClient(func(*llmclient.Request) (*llmclient.Response, error) { return nil, fmt.Errorf("far: %w", down) }))
	_, err := o.Run(t.Context(), task("go"))
	for _, err := range []error{seen, err} {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		var model *llmclient.Error
		require.ErrorAs(t, err, &model)
		require.Same(t, down, model)
		require.ErrorContains(t, err, "far: ")
	}
}

// An error that was the value of a panic is found behind it, if it is sound.
func TestPanicError_value(t *testing.T) {
	_, err := staged(t, only(func() *scene { return &scene{} }),
		withClient(func(*llmclient.Request) (*llmclient.Response, error) { panic(errors.ErrUnsupported) })).Run(t.Context(), task("go"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	p, ok := errors.AsType[*machine.PanicError](err)
	require.True(t, ok)
	require.Equal(t, errors.ErrUnsupported, p.Value)
}
