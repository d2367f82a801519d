package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A run asks for an approval, ends as waiting, and goes on when somebody has answered: perhaps days
// later, in another process that shares the store.
func ExampleOrchestrator_Resume() {
	ctx := context.Background()
	model := scripted.New(
		scripted.Calls(scripted.Call("delete_file", `{"path":"old.txt"}`, "")),
		scripted.Text("old.txt is gone."),
	)

	deleteFile := tools.New(tools.Definition{Name: "delete_file"},
		func(_ context.Context, in struct{ Path string }) (string, error) { return "deleted " + in.Path, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{deleteFile, tools.AskUser()},
		Approve:    new(orchestrator.ApprovalConfig),
		Store:      new(checkpoint.Memory),
	})
	if err != nil {
		log.Fatal(err)
	}

	result, err := o.Run(ctx, orchestrator.Task{Run: "cleanup-1", Input: delegation.Input{Goal: "Remove old.txt."}})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range result.Waits {
		fmt.Println(result.Status, w.Kind, w.Tool, w.Arguments)
	}

	reply := machine.Reply{WaitID: result.Waits[0].ID, Approve: true}
	result, err = orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: "cleanup-1", Replies: []machine.Reply{reply}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Output.Text())
	// Output:
	// waiting approval delete_file {"path":"old.txt"}
	// done old.txt is gone.
}

// An inbox lists what all runs of a store wait for, and one call answers.
func ExampleOrchestrator_Waits() {
	ctx := context.Background()
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("ask_user", `{"question":"Which colour?","options":["red","blue"]}`, ""))),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{tools.AskUser()},
		Store:      new(checkpoint.Memory),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := o.Run(ctx, orchestrator.Task{Namespace: "ann", Run: "paint-1", Input: delegation.Input{Goal: "Paint the door."}}); err != nil {
		log.Fatal(err)
	}

	for w, err := range o.Waits(ctx, checkpoint.Query{All: true}) {
		if err != nil {
			log.Print(w.Head.Key, err) // of this run alone
			continue
		}
		for _, wait := range w.Waits {
			fmt.Println(w.Head.Key.Namespace, w.Goal, wait.Kind, wait.Text, wait.Options)
			err := o.Answer(ctx, w.Head.Key, machine.Reply{WaitID: wait.ID, Text: "blue"})
			fmt.Println(err)
		}
	}
	// Output:
	// ann Paint the door. question Which colour? [red blue]
	// <nil>
}

// In a process where somebody can be asked, Config.Reply does it, and the run does not end.
func ExampleConfig_reply() {
	asking := tools.AskUser()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("ask_user", `{"question":"Which file?"}`, "")),
			scripted.Text("I took notes.txt."),
		),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{asking},
		Reply: func(_ context.Context, w machine.Wait) (machine.Reply, error) {
			fmt.Println("the model asks:", w.Text)
			return machine.Reply{Text: "notes.txt"}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Take a file."}})
	fmt.Println(result.Output.ToolMetas()[0].Output, "/", result.Output.Text(), err)
	// Output:
	// the model asks: Which file?
	// notes.txt / I took notes.txt. <nil>
}
