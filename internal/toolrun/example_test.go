package toolrun_test

import (
	"context"
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// To give up on tools that hang, perform calls on separate goroutines.
func ExampleRunner_Begin() {
	release := make(chan struct{})
	hangs := tools.NewRaw(tools.Definition{Name: "fetch", ReadOnly: true}, func(context.Context, string) (string, error) {
		<-release // ignores its context
		return "too late", nil
	})
	runner := toolrun.Runner{Timeout: 10 * time.Millisecond}.WithDefaults()
	ctx := context.Background()

	c := runner.Begin(ctx, toolrun.Job{Call: messages.ToolCall{ID: "1", Name: "fetch"}, Tool: hangs})
	results := make(chan messages.ToolOutput, 1)
	go func() {
		returned := false
		defer func() {
			if !returned { // the tool ended this goroutine
				results <- c.Exited()
			}
		}()
		out := c.Perform()
		returned = true
		results <- out
	}()

	due, _ := c.Due()
	var out messages.ToolOutput
	select {
	case out = <-results:
	case <-time.After(time.Until(due) + runner.Grace):
		out = c.Abandon(tools.ReasonTimeout)
	}
	fmt.Printf("%s: %s\n", out.Status, out.Output)
	close(release)
	fmt.Println((<-results).Output == out.Output) // a call has one result
	// Output:
	// failed: tools: fetch was stopped after its time-out of 10ms; it did not stop, was abandoned and may still be running
	// true
}

// Every failure is a result.
func ExampleRunner() {
	set, err := tools.NewSet(
		tools.NewRaw(tools.Definition{Name: "echo"}, func(_ context.Context, arguments string) (string, error) { return arguments, nil }),
		tools.NewRaw(tools.Definition{Name: "break"}, func(context.Context, string) (string, error) { panic("oops") }),
	)
	if err != nil {
		panic(err)
	}
	for _, call := range []messages.ToolCall{
		{ID: "1", Name: "echo", Arguments: "hello"},
		{ID: "2", Name: "break"},
		{ID: "3", Name: "ecco"},
	} {
		tool, _ := set.Lookup(call.Name)
		out := toolrun.Runner{}.Run(context.Background(), toolrun.Job{Call: call, Tool: tool, Names: set.Names})
		fmt.Printf("%s %s: %s\n", out.CallID, out.Status, out.Output)
	}
	// Output:
	// 1 ok: hello
	// 2 failed: tools: break panicked: with a string
	// 3 failed: tools: there is no tool "ecco"; there are: break, echo
}
