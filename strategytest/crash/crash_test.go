package crash_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a tool that answers with its name and its arguments.
func echo(def tools.Definition) tools.Tool {
	return tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) { return def.Name + " " + arguments, nil })
}

var (
	look  = echo(tools.Definition{Name: "look", ReadOnly: true})
	book  = echo(tools.Definition{Name: "book", Idempotent: true})
	pay   = echo(tools.Definition{Name: "pay"})
	alone = echo(tools.Definition{Name: "alone", Sequential: true})
)

// call is a call with an id of its own.
func call(id, name string) messages.ToolCall { return scripted.Call(name, `{"for":"`+id+`"}`, id) }

// of returns a case of a strategy that is called main.
func of(set strategy.Set, list []tools.Tool, replies ...scripted.Reply) crash.Case {
	model := scripted.New(replies...)
	return crash.Case{
		Config: func() orchestrator.Config {
			return orchestrator.Config{Client: model, Strategies: set, Tools: list}
		},
		Task: orchestrator.Task{Strategy: "main", Input: delegation.Input{Goal: "go"}},
	}
}

func TestCompleteTask(t *testing.T) {
	crash.Test(t, of(strategy.Set{"main": completetask.New(completetask.Config{})}, []tools.Tool{look, book, pay, alone},
		scripted.Calls(call("c1", "look"), call("c2", "pay"), call("c3", "book"), call("c4", "alone"), call("c5", "none")),
		scripted.Calls(call("c1", "pay")),
		scripted.Text("done"),
	))
}
