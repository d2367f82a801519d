package retry_test

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
	"github.com/segue-go/segue/strategy/retry"
)

// A function decides what a failure is. The second attempt is told about the first.
func Example() {
	ask := retry.New(retry.Config{
		Strategy: "ask",
		Detect: func(out delegation.Output) (bool, string) {
			return !strings.HasSuffix(out.Text(), "."), "the answer is not a sentence"
		},
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("Paris"), scripted.Text("It is Paris.")),
		Strategies: strategy.Set{"ask": completetask.New(completetask.Config{}), "insist": ask},
		Default:    "insist",
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is the capital of France?"}})
	fmt.Println(result.Output.Text(), err)
	var attempts []retry.Attempt
	if _, err := result.Output.Metadata.Decode("attempts", &attempts); err != nil {
		log.Fatal(err)
	}
	for i, a := range attempts {
		fmt.Println(i+1, *a.Result, a.Failure)
	}
	// Output:
	// It is Paris. <nil>
	// 1 Paris the answer is not a sentence
	// 2 It is Paris.
}
