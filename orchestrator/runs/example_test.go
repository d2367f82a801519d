package runs_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// exampleOver returns an Orchestrator over a store, with the tool weather.
func exampleOver(store checkpoint.Store, system string, replies ...scripted.Reply) *orchestrator.Orchestrator {
	weather := tools.New(tools.Definition{Name: "weather", ReadOnly: true},
		func(_ context.Context, in struct{ City string }) (string, error) { return "rain in " + in.City, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(replies...),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: system})},
		Tools:      []tools.Tool{weather},
		Store:      store,
	})
	if err != nil {
		log.Fatal(err)
	}
	return o
}

// A run is forked at the result of a tool, with another result: what would the model have said? The
// first run is unchanged.
func ExampleFork() {
	ctx := context.Background()
	o := exampleOver(new(checkpoint.Memory), "",
		scripted.Calls(scripted.Call("weather", `{"City":"Bath"}`, "1")),
		scripted.Text("Take an umbrella."), scripted.Text("Take a hat."))
	res, err := o.Run(ctx, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "What shall I take to Bath?"}})
	fmt.Println(res.Output.Text(), err)

	from := checkpoint.Key{Run: "r"}
	head, err := runs.Fork(ctx, o, runs.ForkConfig{
		From: from, At: 3, Run: "sunny",
		Answer: nextstep.ToolResult{Output: messages.ToolOutput{Output: "sun in Bath"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(head.Key, "shares", head.Header.Origin.Record, "records with", head.Header.Origin.Run)
	res, err = orchestrator.Collect(o.Resume(ctx, orchestrator.Resumption{Run: head.Key.Run}))
	fmt.Println(res.Output.Text(), err)
	// Output:
	// Take an umbrella. <nil>
	// sunny shares 2 records with r
	// Take a hat. <nil>
}

// The events of a stored run, without a model and without tools.
func Example_replay() {
	ctx := context.Background()
	o := exampleOver(new(checkpoint.Memory), "", scripted.Calls(scripted.Call("weather", `{"City":"Bath"}`, "1")), scripted.Text("Take an umbrella."))
	if _, err := o.Run(ctx, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "What shall I take to Bath?"}}); err != nil {
		log.Fatal(err)
	}
	for e, err := range o.Replay(ctx, checkpoint.Key{Run: "r"}) {
		if err != nil {
			log.Fatal(err)
		}
		switch d := e.Detail.(type) {
		case machine.ToolFinished:
			fmt.Println(e.Record, d.Output.ToolName, d.Output.Output)
		case machine.RunFinished:
			fmt.Println(e.Record, d.Status, d.Output.Text())
		default:
		}
	}
	// Output:
	// 3 weather rain in Bath
	// 4 done Take an umbrella.
}

// Before a new prompt is deployed: how many stored runs would be decided differently?
func ExampleDiffs() {
	ctx := context.Background()
	store := new(checkpoint.Memory)
	old := exampleOver(store, "Be kind.", scripted.Text("Yes."), scripted.Text("No."))
	for _, goal := range []string{"Is it late?", "Is it far?"} {
		if _, err := old.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: goal}}); err != nil {
			log.Fatal(err)
		}
	}

	o := exampleOver(store, "Be brief.")
	all, words, decisions := 0, 0, 0
	for c, err := range runs.Diffs(ctx, o, checkpoint.Query{}) {
		switch {
		case err != nil:
			log.Print(err)
		case c.Difference == nil:
		case c.Difference.Worded:
			words++
		default:
			decisions++
			fmt.Println(c.Difference)
		}
		all++
	}
	fmt.Println(all, "runs:", words, "in other words,", decisions, "decided differently")
	// Output:
	// 2 runs: 2 in other words, 0 decided differently
}

// A conversation over several runs, in whatever process.
func Example_session() {
	ctx := context.Background()
	store := new(checkpoint.Memory)
	names := scripted.Func(func(r *llmclient.Request) scripted.Reply {
		return scripted.Text(fmt.Sprint("I know ", len(r.Messages), " messages."))
	})
	for _, text := range []string{"I am Ann.", "Who am I?"} {
		o := exampleOver(store, "", names) // another process, as it were
		res, err := o.Run(ctx, orchestrator.Task{Session: "ann", Input: delegation.Input{Goal: text}})
		fmt.Println(res.Run, res.Output.Text(), err)
	}
	o := exampleOver(store, "")
	for s, err := range o.Sessions(ctx, "") {
		fmt.Println(s.Name, s.Turns, err)
	}
	// Output:
	// ann.1 I know 1 messages. <nil>
	// ann.2 I know 3 messages. <nil>
	// ann 2 <nil>
}

// A run goes from one store to another as a file.
func ExampleExport() {
	ctx := context.Background()
	here := exampleOver(new(checkpoint.Memory), "", scripted.Text("Yes."))
	if _, err := here.Run(ctx, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "Is it late?"}}); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := runs.Export(ctx, here, checkpoint.Key{Run: "r"}, &file); err != nil {
		log.Fatal(err)
	}
	there := exampleOver(new(checkpoint.Memory), "")
	head, err := runs.Import(ctx, there, &file)
	fmt.Println(head.Key, head.Header.Status, head.Last, "records", err)
	// Output:
	// r done 2 records <nil>
}

// Whoever reads a run continues where it stopped reading, until the run ends.
func Example_follow() {
	o := exampleOver(new(checkpoint.Memory), "", scripted.Text("Yes."))
	if _, err := o.Run(context.Background(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "Is it late?"}}); err != nil {
		log.Fatal(err)
	}
	after := orchestrator.Position{Record: 2, Index: 1}
	for e, err := range o.Follow(context.Background(), checkpoint.Key{Run: "r"}, after) {
		fmt.Println(orchestrator.PositionOf(e), e.Kind, err)
	}
	// Output:
	// 2/2 state_changed <nil>
	// 2/3 frame_left <nil>
	// 2/4 run_finished <nil>
}
