// Plan has a model make a plan, and other agents carry it out.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/planreviseexecute"
)

func main() {
	agent := segue.Agent{
		Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Strategy: planreviseexecute.New(planreviseexecute.Config{
			Executor: "writer", Executors: []string{"critic"}, Answer: planreviseexecute.AnswerSynthesize,
		}),
		Configure: func(c *orchestrator.Config) {
			c.Strategies["writer"] = completetask.New(completetask.Config{System: "You write plainly."})
			c.Strategies["critic"] = completetask.New(completetask.Config{System: "You find what is wrong with a text."})
		},
	}
	fmt.Println(agent.Ask(context.Background(), "Write a letter to the editor about night trains, and improve it once."))
}
