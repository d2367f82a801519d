package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// greeter says hello, after another strategy has done the work.
type greeter struct {
	fsm    *strategy.FSM
	memory struct {
		Hello string `json:"hello"`
	}
	strategy.Defaults
}

func greeterTable(working strategy.State) *strategy.Table {
	return &strategy.Table{
		Name: "greeter", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: working, Awaits: nextstep.KindDelegate},
			{Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "start", To: working},
			{From: []strategy.State{working}, On: "end", To: "done"},
		},
	}
}

func (g *greeter) FSM() *strategy.FSM                     { return g.fsm }
func (g *greeter) Snapshot() (json.RawMessage, error)     { return json.Marshal(g.memory) }
func (g *greeter) Restore(snapshot json.RawMessage) error { return json.Unmarshal(snapshot, &g.memory) }

func (g *greeter) Initialize(in delegation.Input) nextstep.NextStep {
	g.memory.Hello = "Hello."
	return g.fsm.Then("start", nextstep.Delegate{Strategy: "work", Input: in})
}

func (g *greeter) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	text := g.memory.Hello + " " + out.Text()
	return g.fsm.Then("end", nextstep.Complete{Output: delegation.Output{Result: &text, Err: out.Err}})
}

// A new release names a state of its strategy otherwise. Runs that wait are carried over.
func ExampleConfig_migrate() {
	store := new(checkpoint.Memory)
	refund := tools.NewRaw(tools.Definition{Name: "refund", NeedsApproval: true}, func(context.Context, string) (string, error) {
		return "refunded", nil
	})
	release := func(version, name string, state strategy.State, model llmclient.Client, migrate func(*machine.Snapshot) error) *orchestrator.Orchestrator {
		table := greeterTable(state)
		o, err := orchestrator.New(orchestrator.Config{
			Client: model,
			Strategies: strategy.Set{
				name:   func() strategy.Strategy { return &greeter{fsm: table.New(nil)} },
				"work": completetask.New(completetask.Config{}),
			},
			Default: name, Tools: []tools.Tool{refund}, Store: store, Version: version, Snapshots: true, Migrate: migrate,
		})
		if err != nil {
			log.Fatal(err)
		}
		return o
	}
	before := release("v1", "greet", "delegating", scripted.New(scripted.Calls(scripted.Call("refund", `{}`, "c1"))), nil)
	res, err := before.Run(context.Background(), orchestrator.Task{Run: "r1", Input: delegation.Input{Goal: "Refund order 7."}})
	fmt.Println(res.Status, err)

	renamed := strategy.Set{"greeter": func() strategy.Strategy { return &greeter{fsm: greeterTable("working").New(nil)} }}
	migrate := func(s *machine.Snapshot) error {
		for frame := range s.Of("greet") {
			frame.Become(renamed, "greeter") // the new name, with the table that it has now
			if frame.Position.State == "delegating" {
				frame.Position.State = "working"
			}
			frame.Memory = json.RawMessage(`{"hello":"Good day."}`)
		}
		return nil
	}
	after := release("v2", "greeter", "working", scripted.New(scripted.Text("The money is on its way.")), migrate)
	for event, err := range after.Resume(context.Background(), orchestrator.Resumption{
		Run: "r1", Replies: []machine.Reply{{WaitID: res.Waits[0].ID, Approve: true}},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		switch detail := event.Detail.(type) {
		case machine.RunMigrated:
			fmt.Println("carried over from", detail.From)
		case machine.ToolFinished:
			fmt.Println(detail.Output.Output)
		case machine.RunFinished:
			fmt.Println(detail.Output.Text())
		default:
		}
	}
	// Output:
	// waiting <nil>
	// carried over from v1
	// refunded
	// Good day. The money is on its way.
}
