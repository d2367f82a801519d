package orchestrator_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A server continues waiting runs when a person has answered, whichever process the answer came to.
func ExampleOrchestrator_Recover() {
	refund := tools.NewRaw(tools.Definition{Name: "refund", NeedsApproval: true}, func(context.Context, string) (string, error) {
		return "refunded", nil
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("refund", `{}`, "c1")), scripted.Text("The money is on its way.")),
		Strategies: strategy.Set{"support": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{refund},
		Store:      new(checkpoint.Memory), // or a sqlitestore.Store, which outlives the process
		Version:    "2026-11-22",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	ended := make(chan machine.RunFinished)
	go func() {
		done <- o.Recover(ctx, orchestrator.Recovery{
			Every: 10 * time.Millisecond,
			Event: func(_ checkpoint.Key, e machine.Event) {
				if end, ok := e.Detail.(machine.RunFinished); ok {
					ended <- end
				}
			},
		})
	}()

	res, err := o.Run(ctx, orchestrator.Task{Run: "r1", Input: delegation.Input{Goal: "Refund order 7."}})
	fmt.Println(res.Status, err, res.Waits[0].Text)

	// Later, in any process: a person says yes.
	key := checkpoint.Key{Run: "r1"}
	if err := o.Answer(ctx, key, machine.Reply{WaitID: res.Waits[0].ID, Approve: true}); err != nil {
		log.Fatal(err)
	}
	end := <-ended
	fmt.Println(end.Status, end.Output.Text())
	stop()
	<-done
	// Output:
	// waiting <nil> May refund be called?
	// done The money is on its way.
}
