package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// replay applies the journal of the run to a new Machine. It compares the events of the Machine
// with those of the run, one by one, and its output with that of the run.
func (w *composed) replay(res orchestrator.Result) {
	m := machine.New(w.machine())
	var again []string
	for stored, err := range w.store.Read(context.Background(), checkpoint.Key{Run: composedRun}, 1) {
		var rec machine.Record
		if err == nil {
			rec, err = machine.ReadRecord(stored.Data)
		}
		if err == nil {
			err = m.Apply(rec)
		}
		if err != nil {
			w.blame("record %d cannot be applied again: %v", stored.Seq, err)
			return
		}
		for _, e := range m.Ready().Events {
			again = append(again, line(&e))
		}
		m.Advance()
	}
	ended, out := m.Done(), m.Output()
	if res.Status == machine.StatusWaiting && w.broke && len(w.lines) == w.before+1 {
		w.lines = w.lines[:w.before] // the run waited and still waits: its resumption is not stored
	}
	if !w.Whole {
		w.compare(again)
	}
	if was, is := told(orchestrator.Result{Output: res.Output}), told(orchestrator.Result{Output: out}); ended && was != is {
		w.blame("the replay has ended otherwise:\n%s\n%s", was, is)
	}
}

// compare compares the events of the replay with the reported ones. Events that were stored but not
// reported when the run broke off are not reported later.
func (w *composed) compare(again []string) {
	untold := len(again) - len(w.lines)
	if !w.broke && untold != 0 || untold < 0 {
		w.blame("%d events were told, and %d are when they are replayed", len(w.lines), len(again))
	}
	for i, was := range w.lines {
		j := i
		if w.broke && i >= w.before {
			j += untold
		}
		if is := at(again, j); is != was {
			w.blame("event %d of the replay differs, of %d that were told and %d that are:\n%s\n%s", j, len(w.lines), len(again), was, is)
			return
		}
	}
}

// machine configures a Machine as the Orchestrator of the case does.
func (w *composed) machine() *machine.Config {
	set := strategy.Set{completetask.Name: completetask.New(completetask.Config{})}
	for i, build := range w.nodes {
		set[nodeName(i)] = build
	}
	cfg := &machine.Config{Strategies: set, Agents: map[string]*machine.Agent{}, Durable: true}
	for _, tool := range w.tools() {
		cfg.Tools = append(cfg.Tools, tool.Definition())
		if a := machine.AgentOf(tool); a != nil {
			cfg.Agents[tool.Definition().Name] = a
		}
	}
	return cfg
}

// line returns an event of the Machine as text, without the time that the loop added.
func line(e *machine.Event) string {
	detail, err := json.Marshal(e.Detail)
	return fmt.Sprint(e.Record, "/", e.Index, " ", e.Frame, " ", e.Seq, " ", e.Kind, " ", string(detail), err)
}

// at returns a line, if there is one.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}
