// Handover has agents hand a conversation over to each other; the next turn begins with the one
// that answered last.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

func agent(system string, to ...completetask.Handoff) func() strategy.Strategy {
	return completetask.New(completetask.Config{System: system, Handoffs: to})
}

func main() {
	refunds := completetask.Handoff{Strategy: "refunds", Description: "Hand over when the user wants money back."}
	books := completetask.Handoff{Strategy: "books", Description: "Hand over when the user asks for an invoice."}
	runs, err := orchestrator.New(orchestrator.Config{
		Client: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Strategies: strategy.Set{
			"triage":  agent("Find out what the user wants.", refunds, books),
			"refunds": agent("You handle refunds.", books),
			"books":   agent("You keep the books.", refunds),
		},
		Default: "triage",
		Store:   new(checkpoint.Memory), // one on disk would let the conversation last longer than this program
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"I want my money back.", "It is order 7.", "I need an invoice of what is left."} {
		result, err := runs.Run(context.Background(), orchestrator.Task{Session: "ann", Input: delegation.Input{Goal: text}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", result.Strategy, result.Output.Text())
	}
}
