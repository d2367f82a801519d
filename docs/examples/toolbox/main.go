// Toolbox shows what a tool can say of itself, and what it can do while it runs.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

type report struct {
	City  string   `json:"city" jsonschema:"a city, in English"`
	Unit  string   `json:"unit" enum:"celsius,fahrenheit"`
	Hours []int    `json:"hours,omitempty" jsonschema:"of today; leave out for all"`
	Wind  *float64 `json:"wind,omitempty" jsonschema:"only hours with more metres a second than this"`
}

// forecast changes nothing, so that a call that was cut off may be made again. Its text comes from
// outside, and is marked so.
var forecast = tools.New(tools.Definition{
	Name: "forecast", Description: "Tells the weather of today.", ReadOnly: true, Untrusted: true, Timeout: 10 * time.Second,
}, func(ctx context.Context, in report) (string, error) {
	tools.Progress(ctx, "asking the station in "+in.City)
	if in.City == "Atlantis" {
		return "", fmt.Errorf("no station in %s", in.City) // the model is told, and may do something else
	}
	tools.Attach(ctx, messages.Attachment{Name: "map.txt", MediaType: "text/plain", URL: "data:,~~~"})
	return "Sunny in " + in.City, nil
})

type booking struct {
	Table int `json:"table"`
}

// book has an effect. The key is the same whenever this very call is made again, as after a crash,
// so that whoever takes it can tell one booking from two. A person is asked first.
var book = tools.New(tools.Definition{
	Name: "book", Description: "Books a table.", Idempotent: true, NeedsApproval: true,
}, func(ctx context.Context, in booking) (string, error) {
	return fmt.Sprintf("table %d is yours (%s)", in.Table, tools.IdempotencyKey(ctx)), nil
})

func main() {
	agent := segue.Agent{
		Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Tools: []tools.Tool{forecast, book, tools.AskUser()},
		Configure: func(c *orchestrator.Config) {
			c.Parallel = 4
			c.Timeouts.Tool = time.Minute
			c.Reply = func(_ context.Context, w machine.Wait) (machine.Reply, error) {
				fmt.Fprintln(os.Stderr, w.Text, w.Arguments)
				return machine.Reply{WaitID: w.ID, Approve: true}, nil
			}
		},
	}
	answer, err := agent.Ask(context.Background(), "If it is sunny in Rome, book table 4.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
