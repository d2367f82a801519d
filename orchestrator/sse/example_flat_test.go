package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// turns runs complete-task on a scripted model, with a tool and a user.
func turns(replies ...scripted.Reply) *orchestrator.Orchestrator {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(replies...),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{echo("one"), tools.AskUser()},
	})
	if err != nil {
		log.Fatal(err)
	}
	return o
}

// The events under the names of an agent loop with turns.
func ExampleFlat() {
	first := scripted.Stream("I must ", "look.")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1")}
	o := turns(first, scripted.Text("Done!"))
	flat := sse.Flat{Strategy: "react", MaxSteps: 3}
	for event := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}}) {
		for _, e := range flat.From(event) {
			payload, err := json.Marshal(e)
			fmt.Println(e.UpdateType(), string(payload), err)
		}
	}
	// Output:
	// agent_start {"type":"agent_start","strategy":"react","max_steps":3} <nil>
	// agent_turn_start {"type":"agent_turn_start","step":1} <nil>
	// agent_reason {"type":"agent_reason","step":1,"message":"I must look."} <nil>
	// tool_start {"type":"agent_tool_start","step":1,"tool":"one","call_id":"1"} <nil>
	// tool_complete {"type":"agent_tool_complete","step":1,"tool":"one","call_id":"1","result":"one{}"} <nil>
	// agent_observe {"type":"agent_observe","step":1} <nil>
	// agent_turn_start {"type":"agent_turn_start","step":2} <nil>
	// agent_reason {"type":"agent_reason","step":2,"message":"Done!"} <nil>
	// agent_completion {"type":"agent_completion","steps":2,"answer":"Done!"} <nil>
}
