// Tool has a model call a Go function.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/tools"
)

type numbers struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

func add(_ context.Context, in numbers) (float64, error) { return in.A + in.B, nil }

func main() {
	agent := segue.Agent{
		Model:  openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		System: "Do sums with your tools.",
		Tools:  []tools.Tool{tools.New(tools.Definition{Name: "add", Description: "Adds two numbers.", ReadOnly: true}, add)},
	}
	fmt.Println(agent.Ask(context.Background(), "What is 19.5 + 22.5?"))
}
