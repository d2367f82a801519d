package orchestrator_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// Somebody says something to a run while it is at work.
func ExampleTask_notes() {
	ctx := context.Background()
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text("TCP is …"), scripted.Text("A reliable stream of bytes.")),
		Strategies: strategy.Set{"answer": completetask.New(completetask.Config{})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	notes := make(chan string, 8)
	notes <- "Answer in one sentence."
	res, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "Explain TCP."}, Notes: notes})
	fmt.Println(res.Output.Text(), err)
	// Output: A reliable stream of bytes. <nil>
}

// writer is a strategy that hears notes.
type writer struct {
	strategy.Strategy
	notes []string
}

// Hear implements strategy.Listener.
func (s *writer) Hear(note string) { s.notes = append(s.notes, note) }

var _ strategy.Listener = (*writer)(nil)
