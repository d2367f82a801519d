package explore

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// outOfTurn calls methods of the live strategies out of turn, and names one that did not refuse.
// The walk cannot be used afterwards.
func (w *walk) outOfTurn(views []machine.FrameView) string {
	for i := range views {
		kind := openKind(&views[i])
		st := w.live[views[i].Name]
		if rule := ruleOf(st); kind == 0 || st == nil || rule != nil && rule.Awaits != kind {
			continue
		}
		if problem := refuses(st, kind); problem != "" {
			return "frame " + views[i].Name + ": " + problem
		}
	}
	return ""
}

// refuses returns the problem of a strategy that accepts an answer to a step of another kind.
func refuses(st strategy.Strategy, open nextstep.Kind) (problem string) {
	before := memoryOf(st)
	if again := memoryOf(st); !bytes.Equal(again.text, before.text) {
		return "" // another law
	}
	for _, m := range []struct {
		kind nextstep.Kind
		call func() nextstep.NextStep
	}{
		{nextstep.KindGetChatCompletion, func() nextstep.NextStep { return st.ProcessAPIResponse(llmclient.Response{}) }},
		{nextstep.KindGetChatCompletion, func() nextstep.NextStep {
			return st.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("nobody asked"), Finish: llmclient.FinishStop})
		}},
		{nextstep.KindExecuteTools, func() nextstep.NextStep { return st.ProcessToolResults(nil) }},
		{nextstep.KindExecuteTools, func() nextstep.NextStep {
			return st.ProcessToolResults([]messages.ToolOutput{{CallID: "of nobody", ToolName: "nothing", Output: "nobody asked", Status: messages.StatusFailed}})
		}},
		{nextstep.KindDelegate, func() nextstep.NextStep { return st.ProcessDelegationResult(delegation.Output{}) }},
		{nextstep.KindDelegate, func() nextstep.NextStep {
			return st.ProcessDelegationResult(delegation.Output{Result: new("nobody asked")})
		}},
	} {
		if m.kind == open {
			continue
		}
		step, panicked := calmly(m.call)
		if panicked != nil {
			return fmt.Sprintf("while %s is open it panicked at an answer to %s: %v", open, m.kind, panicked)
		}
		if _, refused := step.(nextstep.ReportError); !refused {
			return fmt.Sprintf("while %s is open it took an answer to %s", open, m.kind)
		}
		if now := memoryOf(st); !reflect.DeepEqual(now.Position, before.Position) || !bytes.Equal(now.text, before.text) {
			return fmt.Sprintf("while %s is open an answer to %s has changed it", open, m.kind)
		}
	}
	return ""
}

// remembered is the memory of a strategy, as far as the strategy reports it.
type remembered struct {
	strategy.Position
	text []byte
}

func memoryOf(st strategy.Strategy) (r remembered) {
	if t, ok := st.(strategy.Tabler); ok {
		r.Position = t.FSM().Position()
	}
	if s, ok := st.(strategy.Snapshotter); ok {
		defer func() { _ = recover() }() // another law
		r.text, _ = s.Snapshot()
		r.text = bytes.Clone(r.text)
	}
	return r
}

// calmly calls a method, and returns the value of its panic.
func calmly(call func() nextstep.NextStep) (step nextstep.NextStep, panicked any) {
	defer func() { panicked = recover() }()
	return call(), nil
}

// place is the position of a frame in its table, and the number of its step.
type place struct {
	strategy.Position
	table *strategy.Table
	seq   int
	open  bool // its step is of the kind that the state awaits
}

// places returns the positions of the frames with a table.
func (w *walk) places() map[string]place {
	all := map[string]place{}
	for _, f := range w.m.Frames() {
		if t, ok := w.live[f.Name].(strategy.Tabler); ok && t.FSM().Table() != nil {
			rule := ruleOf(w.live[f.Name])
			all[f.Name] = place{t.FSM().Position(), t.FSM().Table(), f.Seq, rule != nil && rule.Awaits == openKind(&f)}
		}
	}
	return all
}

// moves returns the moves of a frame with the last reaction, until it was left. A successor in its
// place has a table of its own.
func (w *walk) moves(frame string) (all []machine.StateChanged, left bool) {
	for i := range w.events {
		if w.events[i].Frame != frame {
			continue
		}
		switch d := w.events[i].Detail.(type) {
		case machine.StateChanged:
			all = append(all, d)
		case machine.FrameLeft:
			return all, true
		}
	}
	return all, false
}

// illegal names a frame that has made a move since then that its table forbids; "" if none has.
func (w *walk) illegal(before map[string]place) string {
	now := w.places()
	for name, was := range before {
		is, lives := now[name]
		moves, left := w.moves(name)
		if lives = lives && !left; !lives {
			is = was // it is held to its last moves
		}
		for cap, left := range is.Left {
			if left > was.Left[cap] {
				return fmt.Sprintf("frame %s has %d left of the cap %q, and had %d", name, left, cap, was.Left[cap])
			}
		}
		for _, change := range moves {
			begun := change.From == was.table.Initial // what was left before the first move is not known
			if problem := taken(was.table, change.From, change.To, lives && !begun, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
		if lives && len(moves) == 0 && is.open && is.seq != was.seq {
			if problem := taken(was.table, was.State, is.State, true, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
	}
	return ""
}

// taken returns the reason why no rule allows a move between two states; "" if a rule allows it. If
// the rule has a cap, less of the cap must be left afterwards, where this is known.
func taken(t *strategy.Table, from, to strategy.State, known bool, was, is map[string]int) string {
	rules := map[string]bool{}
	for _, r := range t.Rules {
		for _, f := range r.From {
			if f == from && r.To == to {
				rules[r.Cap] = true
			}
		}
	}
	if len(rules) == 0 {
		return fmt.Sprintf("has gone from %q to %q, and no rule leads there", from, to)
	}
	for cap := range maps.Keys(rules) {
		if cap == "" || !known || was[cap] == strategy.Unbounded || is[cap] < was[cap] {
			return ""
		}
	}
	return fmt.Sprintf("has gone from %q to %q, and nothing was taken off a cap of the rules", from, to)
}
