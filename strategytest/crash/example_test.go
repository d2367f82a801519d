package crash_test

import (
	"context"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/crash"
	"github.com/segue-go/segue/tools"
)

// A clerk that pays is cut off wherever it can be. This is the test of docs/testing.md.
func TestClerk(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("pay", `{"euros":3}`, "c1")), scripted.Text("It is paid."))
	pay := tools.NewRaw(tools.Definition{Name: "pay"}, func(context.Context, string) (string, error) { return "paid", nil })
	config := func() orchestrator.Config {
		return orchestrator.Config{
			Client: model, Tools: []tools.Tool{pay},
			Strategies: strategy.Set{"clerk": completetask.New(completetask.Config{})},
		}
	}
	crash.Test(t, crash.Case{Config: config, Task: orchestrator.Task{Input: delegation.Input{Goal: "Pay 3 euros."}}, Pairs: 20})
}

// clerk is what each process works with.
func clerk() orchestrator.Config {
	return orchestrator.Config{
		Client:     scripted.New(scripted.Text("It is done.")),
		Strategies: strategy.Set{"clerk": completetask.New(completetask.Config{})},
	}
}

func ExampleTest() {
	var t *testing.T // that of your test
	crash.Test(t, crash.Case{Config: clerk, Task: orchestrator.Task{Input: delegation.Input{Goal: "Do it."}}})
}
