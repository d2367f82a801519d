package explore_test

import (
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// worker asks a model until it calls no tool. The flaw makes it go wrong.
type worker struct {
	strategy.Defaults
	flaw    string
	offered []tools.Definition
	hidden  []tools.Definition
	open    nextstep.Kind // of the step that it waits for
	history messages.History
}

// requests is what workers must not share.
var requests int

func newWorker(flaw string) func() strategy.Strategy {
	return func() strategy.Strategy { return &worker{flaw: flaw} }
}

func (w *worker) UseTools(defs []tools.Definition) { w.offered = defs }

func (w *worker) Initialize(in delegation.Input) nextstep.NextStep {
	w.history = messages.History{messages.UserText(in.Goal)}
	return w.ask()
}

func (w *worker) ask() nextstep.NextStep {
	w.open = nextstep.KindGetChatCompletion
	req := llmclient.Request{Messages: w.history.Clip(), Tools: w.offered}
	switch w.flaw {
	case "counts":
		requests++
		req.MaxTokens = requests
	case "hides a tool":
		if w.hidden == nil {
			w.hidden = append(slices.Clone(w.offered), tools.Definition{Name: "later"})
			req.Tools = w.hidden[:len(w.offered)]
		} else {
			req.Tools = w.hidden
		}
	}
	return nextstep.GetChatCompletion{Request: req}
}

func (w *worker) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if w.open != nextstep.KindGetChatCompletion {
		return w.Defaults.ProcessAPIResponse(r)
	}
	if !r.Message.Empty() {
		w.history = append(w.history, r.Message)
	}
	calls := r.Message.Calls()
	if len(calls) == 0 {
		return nextstep.Complete{Output: delegation.Output{Messages: w.history.Clip()}}
	}
	w.open = nextstep.KindExecuteTools
	return nextstep.ExecuteTools{Calls: calls}
}

func (w *worker) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if w.open != nextstep.KindExecuteTools {
		return w.Defaults.ProcessToolResults(results)
	}
	for _, r := range results {
		if w.flaw == "panics" && r.ToolName == "pay" && r.Status == messages.StatusFailed {
			panic("it failed")
		}
		w.history = append(w.history, messages.Tool{ToolOutput: r})
	}
	return w.ask()
}

// workerMemory is the JSON form of what a worker remembers.
type workerMemory struct {
	Open    nextstep.Kind    `json:"open"`
	History messages.History `json:"history"`
}

func (w *worker) Snapshot() (json.RawMessage, error) {
	return json.Marshal(workerMemory{w.open, w.history})
}

func (w *worker) Restore(snapshot json.RawMessage) error {
	var m workerMemory
	err := json.Unmarshal(snapshot, &m)
	w.open, w.history = m.Open, m.History
	return err
}
