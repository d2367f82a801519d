package reflection_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/reflection"
)

// A draft, a critique, a better draft, and the critique that approves it: one conversation.
func Example() {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Text("Roses are red, and so is blood."),
			scripted.Text("Too grim for a birthday card."),
			scripted.Text("Roses are red, and so is your cake."),
			scripted.Text("APPROVED"),
		),
		Strategies: strategy.Set{"write": reflection.New(reflection.Config{MaxIterations: 2})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "A line for a birthday card."}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s iterations, approved: %s\n", result.Output.Metadata["iterations"], result.Output.Metadata["approved"])
	// Output:
	// Roses are red, and so is your cake. <nil>
	// 2 iterations, approved: true
}
