package strategytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// shadow is a strategy, each of whose answers is also given by a copy: a new strategy that was
// restored from a snapshot just before. The copy must answer the same, and then have the same
// snapshot. The answers of the strategy itself are returned.
//
// A shadow has all abilities; those that the strategy lacks do what a driver does without them.
type shadow struct {
	strategy.Strategy
	factory  func() strategy.Strategy
	snapshot func(strategy.Snapshotter) (json.RawMessage, error)
	report   func(problem string)
	refused  func(err error) // gets errors of Snapshot, and the step is not compared
	idle     bool            // makes no copies

	given []tools.Definition
	uses  bool              // UseTools was called
	heir  strategy.Strategy // the copy that has inherited
}

// newShadow returns a shadow of a new strategy, or nil if that is no Snapshotter.
func newShadow(factory func() strategy.Strategy, report func(string)) *shadow {
	st := factory()
	if _, ok := st.(strategy.Snapshotter); !ok {
		return nil
	}
	return &shadow{Strategy: st, factory: factory, snapshot: strategy.Snapshotter.Snapshot, report: report, refused: func(error) {}}
}

// tabledShadow is the shadow of a Tabler.
type tabledShadow struct{ *shadow }

// FSM implements strategy.Tabler.
func (s tabledShadow) FSM() *strategy.FSM { return s.Strategy.(strategy.Tabler).FSM() }

// listeningShadow is the shadow of a Listener.
type listeningShadow struct{ *shadow }

// Hear implements strategy.Listener.
func (s listeningShadow) Hear(note string) { s.hear(note) }

// listeningTabledShadow is the shadow of a Tabler that is a Listener.
type listeningTabledShadow struct{ tabledShadow }

// Hear implements strategy.Listener.
func (s listeningTabledShadow) Hear(note string) { s.hear(note) }

// strategy returns the shadow as a strategy, which is a Tabler and a Listener if the original is
// one.
func (s *shadow) strategy() strategy.Strategy {
	_, tabled := s.Strategy.(strategy.Tabler)
	_, listens := s.Strategy.(strategy.Listener)
	switch {
	case tabled && listens:
		return listeningTabledShadow{tabledShadow{s}}
	case tabled:
		return tabledShadow{s}
	case listens:
		return listeningShadow{s}
	default:
		return s
	}
}

// remembered returns the snapshot of a strategy and, as JSON, the position of its FSM.
func (s *shadow) remembered(st strategy.Strategy) (snapshot, position []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panicked: %v", v)
			s.report(fmt.Sprintf("Snapshot panicked: %v", v))
		}
	}()
	if snapshot, err = s.snapshot(st.(strategy.Snapshotter)); err != nil {
		return nil, nil, err
	}
	if t, ok := st.(strategy.Tabler); ok {
		position, err = json.Marshal(t.FSM().Position())
	}
	return snapshot, position, err
}

// copied returns a copy of the strategy, or nil if there is none.
func (s *shadow) copied() strategy.Strategy {
	if s.idle {
		return nil
	}
	snapshot, position, err := s.remembered(s.Strategy)
	if err != nil {
		s.refused(err)
		return nil
	}
	kept := bytes.Clone(snapshot)
	scribble(snapshot)
	if again, _, err := s.remembered(s.Strategy); err != nil || !bytes.Equal(again, kept) {
		s.report(fmt.Sprintf("its snapshot is not the same the second time (%v):\n%s\n%s", err, kept, again))
		return nil
	}
	fresh := s.factory()
	if p, ok := fresh.(strategy.ToolProvider); ok {
		p.Tools()
	}
	if u, ok := fresh.(strategy.ToolUser); ok && s.uses {
		u.UseTools(s.given)
	}
	data := bytes.Clone(kept)
	var refusal error
	if !s.calm(func() { refusal = restore(fresh, data, position) }) {
		return nil
	}
	if refusal != nil {
		s.report(fmt.Sprintf("it cannot be restored from its snapshot: %v\n%s", refusal, kept))
		return nil
	}
	scribble(data)
	s.same("restored from its snapshot, it", fresh, kept, position)
	return fresh
}

// restore gives a snapshot and a position to a new strategy.
func restore(fresh strategy.Strategy, snapshot, position []byte) error {
	if err := fresh.(strategy.Snapshotter).Restore(snapshot); err != nil {
		return err
	}
	t, ok := fresh.(strategy.Tabler)
	if !ok {
		return nil
	}
	var p strategy.Position
	if err := json.Unmarshal(position, &p); err != nil {
		return err
	}
	return t.FSM().SetPosition(p)
}

// scribble overwrites a snapshot that nobody may still need.
func scribble(data []byte) {
	for i := range data {
		data[i] = '#'
	}
}

// same checks that a copy has that snapshot and that position.
func (s *shadow) same(what string, st strategy.Strategy, snapshot, position []byte) {
	gotSnapshot, gotPosition, err := s.remembered(st)
	if err != nil || !bytes.Equal(gotSnapshot, snapshot) || !bytes.Equal(gotPosition, position) {
		s.report(fmt.Sprintf("%s has another snapshot (%v):\n%s %s\n%s %s", what, err, snapshot, position, gotSnapshot, gotPosition))
	}
}

// answer lets the strategy and a copy answer a call.
func (s *shadow) answer(call func(strategy.Strategy) nextstep.NextStep) nextstep.NextStep {
	copied := s.heir
	if s.heir = nil; copied == nil {
		copied = s.copied()
	}
	step := call(s.Strategy)
	if copied == nil {
		return step
	}
	var other nextstep.NextStep
	if !s.calm(func() { other = call(copied) }) {
		return step
	}
	if want, got := stepForm(step), stepForm(other); want != got {
		s.report(fmt.Sprintf("restored from its snapshot, it decided differently:\n%s\n%s", want, got))
		return step
	}
	if step == nil || step.Kind().Final() {
		return step
	}
	snapshot, position, err := s.remembered(s.Strategy)
	if err != nil {
		s.refused(err)
		return step
	}
	s.same("restored from its snapshot, it decided the same and then", copied, snapshot, position)
	return step
}

// calm calls a method of a copy, and reports a panic.
func (s *shadow) calm(call func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			s.report(fmt.Sprintf("restored from its snapshot, it panicked: %v", v))
			ok = false
		}
	}()
	call()
	return true
}

// stepForm returns the JSON form of a step, or why there is none.
func stepForm(step nextstep.NextStep) string {
	data, err := nextstep.Marshal(step)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (s *shadow) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	return s.answer(func(st strategy.Strategy) nextstep.NextStep { return st.ProcessAPIResponse(resp) })
}

func (s *shadow) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	return s.answer(func(st strategy.Strategy) nextstep.NextStep { return st.ProcessToolResults(slices.Clone(results)) })
}

func (s *shadow) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	return s.answer(func(st strategy.Strategy) nextstep.NextStep { return st.ProcessDelegationResult(out) })
}

// ProcessFailure implements strategy.FailureHandler.
func (s *shadow) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if _, ok := s.Strategy.(strategy.FailureHandler); !ok {
		return nextstep.ReportError{Err: &delegation.Error{Code: f.Code, Message: f.Message}}
	}
	return s.answer(func(st strategy.Strategy) nextstep.NextStep { return st.(strategy.FailureHandler).ProcessFailure(f) })
}
