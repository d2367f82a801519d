package orchestrator_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// bursting is a store that panics with a value from the second record on.
type bursting struct {
	checkpoint.Memory
	value any
}

func (s *bursting) Append(ctx context.Context, b checkpoint.Batch) error {
	if len(b.Records) > 0 && b.Records[0].Seq > 1 {
		panic(s.value)
	}
	return s.Memory.Append(ctx, b)
}

// The value of a panic may be an error as hostile as any: the run ends, and its error can be read
// and asked.
func TestForeignErrors_panics(t *testing.T) {
	for name, hostile := range hostiles() {
		for where, edit := range map[string]func(*orchestrator.Config){
			"client": withClient(func(*llmclient.Request) (*llmclient.Response, error) { panic(hostile) }),
			"middleware": handles(func(context.Context, machine.Effect, orchestrator.Handler) (nextstep.Answer, error) {
				panic(hostile)
			}),
			"store": stored(&bursting{value: hostile}),
			"remote": func(c *orchestrator.Config) {
				c.Strategies["main"] = func() strategy.Strategy {
					return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} }}
				}
				c.Remote = map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
					panic(hostile)
				}}
			},
			"strategy": func(c *orchestrator.Config) {
				c.Strategies["main"] = func() strategy.Strategy {
					return &scene{Start: func(delegation.Input) nextstep.NextStep { panic(hostile) }}
				}
			},
			"strategy's error": func(c *orchestrator.Config) {
				c.Strategies["main"] = func() strategy.Strategy {
					return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.ReportError{Err: hostile} }}
				}
			},
		} {
			t.Run(name+"/"+where, func(t *testing.T) {
				logged := func(c *orchestrator.Config) {
					c.Logger, c.LogContent = slog.New(slog.NewTextHandler(t.Output(), nil)), true
				}
				res, err := staged(t, only(func() *scene { return &scene{} }), edit, logged).Run(t.Context(), task("go"))
				require.NotEqual(t, machine.StatusDone, res.Status)
				require.NotEmpty(t, err.Error())
				require.NotErrorIs(t, err, errors.ErrUnsupported)
				_, found := errors.AsType[*messages.LawError](err)
				require.False(t, found)
			})
		}
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
