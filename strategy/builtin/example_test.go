package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

// With tool-first the model has to call a tool before it may answer.
func ExampleNew_toolFirst() {
	factory, err := builtin.New("tool-first", nil)
	if err != nil {
		log.Fatal(err)
	}
	model := scripted.New(scripted.Calls(scripted.Call("clock", `{}`, "")), scripted.Text("It is noon."))
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Strategies: strategy.Set{"look": factory},
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "clock", Description: "Tells the time."},
			func(context.Context, struct{}) (string, error) { return "12:00", nil })},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "How late is it?"}})
	fmt.Println(result.Output.Text(), err)
	for _, req := range model.Requests() {
		fmt.Printf("choice %q\n", req.ToolChoice.Mode)
	}
	// Output:
	// It is noon. <nil>
	// choice "required"
	// choice ""
}

// With llm-only no tool is offered, whatever tools the run has.
func ExampleNew_llmOnly() {
	factory, err := builtin.New("llm-only", json.RawMessage(`{"system":"Be brief."}`))
	if err != nil {
		log.Fatal(err)
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("Hello.")),
		Strategies: strategy.Set{"talk": factory},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}})
	fmt.Println(result.Output.Text(), err)
	// Output: Hello. <nil>
}

// With plan-and-execute the plan is not judged, and the answer combines all results.
func ExampleNew_planAndExecute() {
	set, err := builtin.Set(map[string]builtin.Spec{
		"plan": {Strategy: "plan-and-execute", Config: json.RawMessage(`{"executor":"work"}`)},
		"work": {Strategy: "complete-task"},
	})
	if err != nil {
		log.Fatal(err)
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("submit_plan", `{"steps":["Count the chairs.","Count the tables."]}`, "")),
			scripted.Text("four"),
			scripted.Text("one"),
			scripted.Text("Four chairs and a table."),
		),
		Strategies: set,
		Default:    "plan",
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is in the room?"}})
	fmt.Println(result.Output.Text(), err)
	// Output: Four chairs and a table. <nil>
}

// Strategies are composed by name. The bound of the whole is known before a run.
func ExampleSet() {
	set, err := builtin.Set(map[string]builtin.Spec{
		"solve":    {Strategy: "complete-task", Config: json.RawMessage(`{"max_model_calls":5}`)},
		"reviewed": {Strategy: "reflection", Config: json.RawMessage(`{"generator":"solve","max_iterations":1,"on_rejected":"fail"}`)},
		"careful":  {Strategy: "retry", Config: json.RawMessage(`{"strategy":"reviewed","max_retries":1}`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Text("41"), scripted.Text("It is one more."),
			scripted.Text("42"), scripted.Text("APPROVED"),
		),
		Strategies: set,
		Default:    "careful",
	})
	if err != nil {
		log.Fatal(err)
	}
	for e := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 6 times 7?"}}) {
		switch d := e.Detail.(type) {
		case machine.FrameEntered:
			fmt.Println(e.Frame, d.Strategy)
		case machine.RunFinished:
			fmt.Println(d.Status, d.Output.Text())
		}
	}
	b, err := o.Bound(orchestrator.Task{}, bound.Options{})
	fmt.Println("at most", b.ModelCalls.Most, "model calls", err)
	// Output:
	// 0 careful
	// 0.1 reviewed
	// 0.1.1 solve
	// 0.2 reviewed
	// 0.2.1 solve
	// done 42
	// at most 18 model calls <nil>
}

// The planner chooses who carries out a step. The executors are the possible choices.
func ExampleSet_executors() {
	set, err := builtin.Set(map[string]builtin.Spec{
		"plan":   {Strategy: "plan-revise-execute", Config: json.RawMessage(`{"evaluation":"never","executor":"lookup","executors":["write"]}`)},
		"lookup": {Strategy: "react"},
		"write":  {Strategy: "reflection", Config: json.RawMessage(`{"json_critique":true}`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	steps := `{"steps":[{"id":"a","goal":"Find a rhyme for cat."},{"id":"b","goal":"Write the line.","depends_on":["a"],"executor":"write"}]}`
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("submit_plan", steps, "")),
			scripted.Text("Thought: Easy.\nFinal Answer: hat"),
			scripted.Text("The cat has a hat."),
			scripted.Text(`{"approved":true,"feedback":""}`),
		),
		Strategies: set,
		Default:    "plan",
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "A line about a cat."}})
	fmt.Println(result.Output.Text(), err)
	// Output: The cat has a hat. <nil>
}

// The greatest number of model calls of the zero Configs, which delegate to a complete-task, in
// runs without limits.
func Example_bounds() {
	set := builtin.All()
	set["step-agent"] = stepagent.New(stepagent.Config{Step: func(stepagent.Step) stepagent.StepResult { return stepagent.Continue() }})
	for _, name := range []string{
		"complete-task", "plan-revise-execute", "plan-and-execute", "reflection", "react", "retry", "reason-act-observe", "step-agent",
	} {
		run := machine.Started{Strategy: name, Limits: delegation.Limits{ModelCalls: -1, Steps: -1}}
		b, err := bound.Of(&machine.Config{Strategies: set}, run, bound.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, b.ModelCalls.Most)
	}
	// Output:
	// complete-task 53
	// plan-revise-execute 1230
	// plan-and-execute 1227
	// reflection 57
	// react 14
	// retry 159
	// reason-act-observe 42
	// step-agent 80
}
