// Workflow has one agent make a plan, a second carry it out, and a third correct the result.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
)

func main() {
	agent := segue.Agent{
		Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Strategy: workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
			{Strategy: "planner"}, {Strategy: "executor", Retries: 1}, {Strategy: "reviewer"},
		}}),
		Configure: func(c *orchestrator.Config) {
			c.Strategies["planner"] = completetask.New(completetask.Config{System: "Make a short plan. Do not carry it out."})
			c.Strategies["executor"] = completetask.New(completetask.Config{System: "Carry out the plan."})
			c.Strategies["reviewer"] = completetask.New(completetask.Config{System: "Correct the result. Reply with the whole of it.", Model: "gpt-4.1"})
		},
	}
	fmt.Println(agent.Ask(context.Background(), "Write a page on night trains for a travel guide."))
}
