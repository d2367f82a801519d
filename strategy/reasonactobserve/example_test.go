package reasonactobserve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/tools"
)

// S4-14, S4-27: the events of a run under the nine names of a chat front end: a tool is called in
// the first step, and the second step finishes.
func Example() {
	look := tools.New(tools.Definition{Name: "look", Description: "Looks at a file.", ReadOnly: true},
		func(_ context.Context, in struct{ Path string }) (string, error) { return in.Path + " holds 42", nil })
	first := scripted.Text("I must look.")
	first.Calls = append(first.Calls, scripted.Call(rao.DecideNext, `{"plan":"look at notes.txt"}`, ""))
	seen := scripted.Text("There is a number.")
	seen.Calls = append(seen.Calls, scripted.Call(rao.ObserveDecide, `{"should_continue":true}`, ""))
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			first,
			scripted.Calls(scripted.Call("look", `{"Path":"notes.txt"}`, "")),
			seen,
			scripted.Calls(scripted.Call(rao.DecideNext, `{"finish":true,"final_answer":"It is 42."}`, "")),
		),
		Strategies: strategy.Set{rao.Name: rao.New(rao.Config{MaxSteps: 3})},
		Tools:      []tools.Tool{look},
	})
	if err != nil {
		log.Fatal(err)
	}
	flat := sse.Flat{Strategy: "react", MaxSteps: 3}
	for e := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Which number is in notes.txt?"}}) {
		for _, told := range flat.From(e) {
			payload, err := json.Marshal(told)
			fmt.Println(string(payload), err)
		}
		if end, ok := e.Detail.(machine.RunFinished); ok {
			fmt.Println(end.Output.Text())
		}
	}
	// Output:
	// {"type":"agent_start","strategy":"react","max_steps":3} <nil>
	// {"type":"agent_turn_start","step":1} <nil>
	// {"type":"agent_reason","step":1,"message":"I must look."} <nil>
	// {"type":"agent_tool_start","step":1,"tool":"look","call_id":"call_2_1"} <nil>
	// {"type":"agent_tool_complete","step":1,"tool":"look","call_id":"call_2_1","result":"notes.txt holds 42"} <nil>
	// {"type":"agent_observe","step":1,"message":"There is a number."} <nil>
	// {"type":"agent_turn_start","step":2} <nil>
	// {"type":"agent_reason","step":2} <nil>
	// {"type":"agent_completion","steps":2,"answer":"It is 42."} <nil>
	// It is 42.
}

// One step: the model decides, calls a tool, and says what the result means.
func ExampleNew() {
	look := tools.New(tools.Definition{Name: "look", Description: "Looks at a file."},
		func(_ context.Context, in struct{ Path string }) (string, error) { return in.Path + " holds 42", nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call(rao.DecideNext, `{"plan":"Look at notes.txt.","finish":false}`, "")),
			scripted.Calls(scripted.Call("look", `{"Path":"notes.txt"}`, "")),
			scripted.Calls(scripted.Call(rao.ObserveDecide, `{"observation":"42","should_continue":false,"final_answer":"It is 42."}`, "")),
		),
		Strategies: strategy.Set{"work": rao.New(rao.Config{MaxSteps: 3})},
		Tools:      []tools.Tool{look},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Which number is in notes.txt?"}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s step, tools %s\n", result.Output.Metadata["steps"], result.Output.Metadata["tools"])
	// Output:
	// It is 42. <nil>
	// 1 step, tools ["look"]
}
