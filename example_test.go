package segue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// The smallest whole program: a scripted model, one strategy, one task.
func Example() {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("Hello!")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}})
	fmt.Println(result.Output.Text(), err)
	// Output: Hello! <nil>
}
