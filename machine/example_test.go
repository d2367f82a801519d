package machine_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// A strategy that asks a model, makes the calls it wants, and ends with its text.
type assistant struct {
	strategy.Defaults
	said messages.History
}

func (a *assistant) ask(more ...messages.Message) nextstep.NextStep {
	a.said = append(a.said, more...)
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: a.said, Tools: definitions}}
}

func (a *assistant) Initialize(in delegation.Input) nextstep.NextStep {
	return a.ask(messages.UserText(in.Goal))
}

func (a *assistant) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	a.said = append(a.said, r.Message)
	if calls := r.Message.Calls(); len(calls) > 0 {
		return nextstep.ExecuteTools{Calls: calls}
	}
	text := r.Message.Text()
	return nextstep.Complete{Output: delegation.Output{Result: &text}}
}

func (a *assistant) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	var more []messages.Message
	for _, r := range results {
		more = append(more, messages.Tool{ToolOutput: r})
	}
	return a.ask(more...)
}

var definitions = []tools.Definition{{Name: "add", ReadOnly: true}, {Name: "pay"}}

// perform stands for the outside: a model, and two tools.
func perform(e machine.Effect) nextstep.Answer {
	if e.Kind == machine.EffectTool {
		return nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, Output: "42"}}
	}
	request := e.Step.(nextstep.GetChatCompletion).Request
	reply := messages.AssistantText("Paid 42.")
	if len(request.Messages) == 1 {
		reply = messages.Assistant{Content: []messages.AssistantContent{
			messages.ToolCall{ID: "1", Name: "add", Arguments: `{"a":19,"b":23}`}, messages.ToolCall{ID: "2", Name: "pay", Arguments: `{"sum":42}`},
		}}
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: reply}}
}

// An engine: the loop around a Machine. This one performs effects one after another, and its
// journal is a slice.
func Example() {
	cfg := &machine.Config{
		Strategies: strategy.Set{"assistant": func() strategy.Strategy { return new(assistant) }},
		Tools:      definitions,
		Durable:    true,
	}
	var journal, applied [][]byte
	m := machine.New(cfg)
	apply := func(r machine.Record) {
		if err := m.Apply(r); err != nil {
			panic(err)
		}
		text, err := machine.AppendRecord(nil, r)
		if err != nil {
			panic(err)
		}
		applied = append(applied, text)
	}

	apply(cfg.Start(machine.Started{At: time.Now(), Run: "run-1", Input: delegation.Input{Goal: "Pay 19 + 23."}}))
	var started []machine.Effect
	for {
		for len(m.Ready().Intents) > 0 {
			i := m.Ready().Intents[0].(machine.Intended)
			i.At = time.Now()
			apply(i)
		}
		journal, applied = append(journal, applied...), nil // store
		rd := m.Ready()
		for _, e := range rd.Events { // tell
			if strings.HasPrefix(string(e.Kind), "tool_") || e.Kind == machine.EventRunFinished {
				fmt.Println(e.Record, e.Kind)
			}
		}
		started = append(started, rd.Effects...) // start
		m.Advance()
		if m.Done() {
			break
		}
		begun := time.Now() // next
		answer := perform(started[0])
		apply(started[0].Answered(answer, time.Now(), time.Since(begun)))
		started = started[1:]
	}
	fmt.Println(m.Status(), m.Output().Text())

	// The run is its journal: applied to another Machine, it is the same run.
	replay := machine.New(cfg)
	for _, text := range journal {
		r, err := machine.ReadRecord(text)
		if err != nil {
			panic(err)
		}
		if err := replay.Apply(r); err != nil {
			panic(err)
		}
		replay.Advance()
	}
	fmt.Println(len(journal), "records:", replay.Status(), replay.Output().Text())
	// Output:
	// 2 tool_started
	// 3 tool_started
	// 4 tool_finished
	// 5 tool_finished
	// 6 run_finished
	// done Paid 42.
	// 6 records: done Paid 42.
}
