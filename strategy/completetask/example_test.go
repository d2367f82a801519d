package completetask_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// The model calls a tool, receives the result, and answers.
func Example() {
	add := tools.New(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("add", `{"A":19,"B":23}`, "")),
			scripted.Text("It is 42."),
		),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
		Tools:      []tools.Tool{add},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19 + 23?"}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s model calls\n", result.Output.Metadata["model_calls"])
	// Output:
	// It is 42. <nil>
	// 2 model calls
}

// With many tools the model searches for those that it needs.
func Example_search() {
	var all []tools.Tool
	for _, name := range []string{"read_file", "send_mail", "get_weather"} {
		all = append(all, tools.NewRaw(tools.Definition{Name: name, ReadOnly: true}, func(context.Context, string) (string, error) { return "done", nil }))
	}
	model := scripted.New(
		scripted.Calls(scripted.Call("search_tools", `{"query":"mail"}`, "")),
		scripted.Calls(scripted.Call("send_mail", `{}`, "")),
		scripted.Text("Sent."),
	)
	searching := completetask.New(completetask.Config{
		Search: toolsearch.Config{Above: 2, Pinned: []string{"read_file"}, Results: 3},
	})
	o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: all, Strategies: strategy.Set{"agent": searching}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Send it."}})
	fmt.Println(result.Output.Text(), err)
	for _, request := range model.Requests() {
		var names []string
		for _, d := range request.Tools {
			names = append(names, d.Name)
		}
		fmt.Println(strings.Join(names, ", "))
	}
	// Output:
	// Sent. <nil>
	// read_file, search_tools
	// read_file, search_tools, send_mail
	// read_file, search_tools, send_mail
}
