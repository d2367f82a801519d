package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

func rules(names ...string) *orchestrator.ApprovalConfig {
	policies := map[string]machine.ApprovalPolicy{}
	for _, n := range names {
		policies[n] = machine.AskAlways
	}
	return &orchestrator.ApprovalConfig{Default: machine.AllowAlways, Tools: policies}
}

// A rule for a tool that there is not, such as one that is misspelt, would approve everything: New
// refuses it.
func TestNew_refusesRulesOfNoTool(t *testing.T) {
	var called atomic.Int32
	watching := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			called.Add(1)
			return next(ctx, e)
		}
	}
	build := func(approve *orchestrator.ApprovalConfig) error {
		_, err := orchestrator.New(orchestrator.Config{
			Client: scripted.New(), Approve: approve, Middleware: []orchestrator.Middleware{watching}, Tools: []tools.Tool{echo("write_file"), echo("read_file")},
			Strategies: strategy.Set{
				"p": func() strategy.Strategy { return &provider{} }, // which brings submit
				"t": completetask.New(completetask.Config{}),
			},
		})
		return err
	}
	require.NoError(t, build(rules("write_file", "submit")))
	for name, approve := range map[string]*orchestrator.ApprovalConfig{
		"alone":              rules("wrtie_file"),
		"beside a good one":  rules("wrtie_file", "write_file"),
		"beside several too": rules("read_file", "wrtie_file", "submit"),
	} {
		t.Run(name, func(t *testing.T) {
			err := build(approve)
			wrong, ok := errors.AsType[*orchestrator.ConfigError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "Approve", wrong.Field)
			require.ErrorContains(t, err, `Approve: rules name tools that do not exist: `+
				`"wrtie_file" (did you mean "write_file"?); the tools are: read_file, submit, write_file`)
		})
	}
	require.ErrorContains(t, build(rules("write")), `"write" (did you mean "write_file"?); the tools are`)
	require.ErrorContains(t, build(rules("rm", "Submitt")), `"Submitt" (did you mean "submit"?), "rm"; the tools are`)
	require.Zero(t, called.Load(), "no Handler is called by New")
}

// New calls each middleware once, also where it adds one of its own.
func TestNew_wrapsOnce(t *testing.T) {
	for _, needs := range []bool{false, true} {
		var wrapped int
		_ = solver(t, scripted.New(), with(counted("danger", new(atomic.Int32), tools.Definition{Name: "danger", NeedsApproval: needs})), func(c *orchestrator.Config) {
			c.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
				wrapped++
				return next
			}}
		})
		require.Equal(t, 1, wrapped, needs)
	}
}

// A tool can itself say that it needs approval. It is asked about unless a rule names the tool.
func TestApprove_toolsThatNeedIt(t *testing.T) {
	allow := map[string]machine.ApprovalPolicy{"danger": machine.AllowAlways}
	for name, c := range map[string]struct {
		approve *orchestrator.ApprovalConfig
		asked   bool
	}{
		"no Approve":            {nil, true},
		"a default that allows": {&orchestrator.ApprovalConfig{Default: machine.AllowAlways}, true},
		"a rule that allows":    {&orchestrator.ApprovalConfig{Tools: allow}, false},
		"a rule that asks":      {rules("danger"), true},
	} {
		t.Run(name, func(t *testing.T) {
			var runs, harmless atomic.Int32
			asked := 0
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("danger", "{}", "1"), scripted.Call("harmless", "{}", "2")), scripted.Text("ok")),
				with(counted("danger", &runs, tools.Definition{Name: "danger", ReadOnly: true, NeedsApproval: true}),
					counted("harmless", &harmless, tools.Definition{Name: "harmless", ReadOnly: true})),
				func(c2 *orchestrator.Config) { c2.Approve = c.approve },
				replying(func(w machine.Wait) (machine.Reply, error) {
					asked++
					require.Equal(t, "danger", w.Tool)
					return machine.Reply{Reason: "no"}, nil
				}))
			ran(t, o, task("go"))
			require.EqualValues(t, 1, harmless.Load())
			if c.asked {
				require.Equal(t, 1, asked)
				require.Zero(t, runs.Load())
			} else {
				require.Zero(t, asked)
				require.EqualValues(t, 1, runs.Load())
			}
		})
	}
}
