package strategytest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

func (s *story) addTool(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if len(d.CmdArgs) == 0 {
		d.Fatalf(t, "usage: tool NAME [failed] [panics] [read-only] [repeatable] [idempotent] [sequential] [needs-approval] [untrusted]")
	}
	def := tools.Definition{Name: d.CmdArgs[0].Key}
	output, fails, panics := d.Input, false, false
	for _, flag := range d.CmdArgs[1:] {
		switch flag.Key {
		case "failed":
			fails = true
		case "panics":
			panics = true
		case "read-only":
			def.ReadOnly = true
		case "repeatable":
			def.Repeatable = true
		case "idempotent":
			def.Idempotent = true
		case "sequential":
			def.Sequential = true
		case "needs-approval":
			def.NeedsApproval = true
		case "untrusted":
			def.Untrusted = true
		default:
			d.Fatalf(t, "a tool has no flag %q", flag.Key)
		}
	}
	s.add(tools.NewRaw(def, func(context.Context, string) (string, error) {
		switch {
		case panics:
			panic(output)
		case fails:
			return "", errors.New(output)
		default:
			return output, nil
		}
	}))
}

// addAgent adds a strategy as a tool.
func (s *story) addAgent(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	if len(d.CmdArgs) < 2 {
		d.Fatalf(t, "usage: agent NAME STRATEGY [fan-out] [NAME=N…]")
	}
	a := orchestrator.Agent{Definition: tools.Definition{Name: d.CmdArgs[0].Key}, Strategy: d.CmdArgs[1].Key}
	for _, arg := range d.CmdArgs[2:] {
		if arg.Key == "fan-out" {
			a.FanOut = true
			continue
		}
		setLimit(t, d, &a.Limits, arg)
	}
	s.add(orchestrator.AgentTool(a))
}

// add adds a tool to the following runs, and replaces one of the same name.
func (s *story) add(tool tools.Tool) {
	name := tool.Definition().Name
	s.tools = slices.DeleteFunc(s.tools, func(have tools.Tool) bool { return have.Definition().Name == name })
	s.tools = append(s.tools, tool)
}

func setLimit(t *testing.T, d *datadriven.TestData, l *delegation.Limits, arg datadriven.CmdArg) {
	t.Helper()
	var n int
	arg.Scan(t, 0, &n)
	switch arg.Key {
	case "depth":
		l.Depth = n
	case "steps":
		l.Steps = n
	case "model_calls":
		l.ModelCalls = n
	case "tool_calls":
		l.ToolCalls = n
	case "total_tokens":
		l.TotalTokens = int64(n)
	case "handoffs":
		l.Handoffs = n
	default:
		d.Fatalf(t, "there is no limit %q", arg.Key)
	}
}
