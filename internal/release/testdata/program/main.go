package main

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A real model would be asked by openaichat; the one that answers here is scripted.
var _ llmclient.Client = (*openaichat.Client)(nil)

func main() {
	add := tools.NewPure(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(in struct{ A, B float64 }) (float64, error) { return in.A + in.B, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("add", `{"A":19.5,"B":22.5}`, "")),
			scripted.Func(func(req *llmclient.Request) scripted.Reply {
				return scripted.Text("The sum is " + req.Messages.Last().(messages.Tool).Output + ".")
			}),
		),
		Tools:      []tools.Tool{add},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19.5 + 22.5?"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output.Text())
}
