package orchestrator_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// runStream tells a run to a consumer that knows a flat stream: RunStart, TextDelta, ToolStart,
// ToolOutput, ToolEnd, and one of RunEnd and RunError. What it has no name for is "".
func runStream(e orchestrator.Event) string {
	switch d := e.Detail.(type) {
	case orchestrator.RunStarted, orchestrator.RunResumed:
		return "RunStart"
	case orchestrator.ToolStarted:
		return "ToolStart " + d.Call.Name
	case orchestrator.ToolProgress:
		return "ToolOutput " + d.ToolName + " " + e.Text
	case orchestrator.ToolFinished:
		return "ToolEnd " + d.Output.ToolName
	case orchestrator.RunFinished:
		switch d.Status {
		case orchestrator.StatusDone, orchestrator.StatusWaiting:
			return "RunEnd"
		case orchestrator.StatusStopped:
			return "RunEnd aborted"
		default:
			return "RunError " + d.Output.Err.Message
		}
	}
	if e.Kind == orchestrator.EventTextDelta {
		return "TextDelta " + e.Text
	}
	return ""
}

// sequentialAgent runs complete-task on a scripted model, with tools that run one after another.
func sequentialAgent(replies ...scripted.Reply) *orchestrator.Orchestrator {
	var list []tools.Tool
	for _, name := range []string{"one", "two"} {
		list = append(list, tools.NewRaw(tools.Definition{Name: name, Sequential: true}, func(_ context.Context, arguments string) (string, error) {
			return name + arguments, nil
		}))
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(replies...),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      append(list, tools.AskUser()),
	})
	if err != nil {
		log.Fatal(err)
	}
	return o
}

// The events under the names of a flat stream.
func Example_runStream() {
	first := scripted.Stream("a", "b")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1"), scripted.Call("two", "{}", "2")}
	o := sequentialAgent(first, scripted.Stream("c"))
	for event := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do both."}}) {
		if line := runStream(event); line != "" {
			fmt.Println(line)
		}
	}
	// Output:
	// RunStart
	// TextDelta a
	// TextDelta b
	// ToolStart one
	// ToolEnd one
	// ToolStart two
	// ToolEnd two
	// TextDelta c
	// RunEnd
}

// loopManager tells a run of complete-task to a consumer that knows turns: each begins with a
// request to the model, whose reply is the reason of the turn; the tools are what is done about it,
// and their results what is observed. The zero value is for one run.
type loopManager struct {
	turn   int
	reason strings.Builder // of this turn
}

// event returns the name of an event and what it carries; "" for what has no name.
func (l *loopManager) event(e orchestrator.Event) string {
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind == orchestrator.EventTextDelta {
			l.reason.WriteString(e.Text)
		}
	case orchestrator.RunStarted:
		return "agent_start strategy=" + d.Strategy
	case orchestrator.StateChanged:
		if d.To == completetask.AwaitingModel || d.To == completetask.Concluding {
			l.turn++
			l.reason.Reset()
			return fmt.Sprintf("agent_turn_start step=%d", l.turn)
		}
	case orchestrator.RetryWaiting:
		if d.Discard {
			l.reason.Reset() // the reply begins anew
		}
	case orchestrator.StepTaken:
		switch {
		case d.Err != nil: // the run says so at its end
		case d.Kind == nextstep.KindGetChatCompletion:
			return fmt.Sprintf("agent_reason step=%d message=%q", l.turn, l.reason.String())
		case d.Kind == nextstep.KindExecuteTools:
			return fmt.Sprintf("agent_observe step=%d", l.turn)
		}
	case orchestrator.ToolStarted:
		return "tool_start tool=" + d.Call.Name
	case orchestrator.ToolFinished:
		return fmt.Sprintf("tool_complete tool=%s result=%q", d.Output.ToolName, d.Output.Output)
	case orchestrator.WaitStarted:
		return fmt.Sprintf("agent_request_input step=%d question=%q", l.turn, d.Wait.Text)
	case orchestrator.RunFinished:
		switch d.Status {
		case orchestrator.StatusDone:
			return fmt.Sprintf("agent_completion steps=%d", l.turn)
		case orchestrator.StatusWaiting:
			return "" // agent_request_input has said so
		default:
			return fmt.Sprintf("agent_error message=%q", d.Output.Err.Message)
		}
	default: // frames, progress and the ends of waits have no name here
	}
	return ""
}

// The events under the names of an agent loop with turns.
func Example_loopManager() {
	first := scripted.Stream("I must ", "look.")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1")}
	o := sequentialAgent(first, scripted.Text("Done!"))
	var loop loopManager
	for event := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}}) {
		if line := loop.event(event); line != "" {
			fmt.Println(line)
		}
	}
	// Output:
	// agent_start strategy=solve
	// agent_turn_start step=1
	// agent_reason step=1 message="I must look."
	// tool_start tool=one
	// tool_complete tool=one result="one{}"
	// agent_observe step=1
	// agent_turn_start step=2
	// agent_reason step=2 message="Done!"
	// agent_completion steps=2
}
