package machine

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// oneHandoff returns the amounts that a handoff uses of the limits.
func oneHandoff() amounts {
	more := stepOf(0, 0)
	more[handoffs] = 1
	return more
}

// handOff ends a frame whose strategy names a successor. The successor takes its place: it has its
// name, its parent or call, its limits and usage, and the notes that it has not heard. The stack
// does not grow. A handoff that is not possible is the error of the frame.
func (m *Machine) handOff(f *frame, boxed nextstep.NextStep) nextstep.NextStep {
	step := boxed.(nextstep.Complete)
	limit := m.reached(f, oneHandoff())
	if limit == nil {
		limit = m.countInnerMove(f)
	}
	if limit != nil {
		return m.endAtLimit(f, limit)
	}
	known, broken := m.successors(f)
	if broken != nil {
		return nextstep.ReportError{Err: broken}
	}
	next, err := m.successor(f, step.Handoff, known)
	if err != nil {
		return m.defect(f, "Complete", "names a successor that cannot take its place", err)
	}
	m.seq++
	f.seq, next.seq = m.seq, m.seq
	m.charge(f, &usage{Counts: delegation.Counts{Steps: 1, Handoffs: 1}})
	out := f.output(f.withUnseen(step.Output))
	m.frameLeft(f, &out, next.strategy)
	next.used = f.used
	if f == m.root {
		next.trunk = *f.branch
		next.branch = &next.trunk
		m.root = next
	}
	if holdsUntrusted(next.input.Messages) {
		next.branch.taint("the input of a successor")
	}
	m.recycle(f)
	m.schedule(next, m.enter(next))
	return nil
}

// successors returns the strategies that a frame may hand off to. The error says that its strategy
// panicked.
func (m *Machine) successors(f *frame) (known []string, broken *delegation.Error) {
	defer func() {
		if v := recover(); v != nil {
			broken = m.brokeDown(f, "Names", v)
		}
	}()
	return append([]string{}, strategy.NamesOf(f.st).Handoffs...), nil
}

// successor returns a frame that can take the place of f. It lacks the usage that f still adds.
func (m *Machine) successor(f *frame, s *nextstep.Handoff, known []string) (*frame, error) {
	if !slices.Contains(known, s.Strategy) {
		return nil, fmt.Errorf("%.64q is not among its Handoffs, which are %q", s.Strategy, known)
	}
	next := m.newFrame()
	if err := m.build(next, s.Strategy); err != nil {
		m.recycle(next)
		return nil, err
	}
	next.name, next.depth, next.up, next.branch = f.name, f.depth, f.up, f.branch
	next.call, next.place, next.after = f.call, f.place, f.strategy
	next.input, next.context = s.Input, shareOf(f, s.Input)
	next.limits, next.began, next.children, next.heard, next.told = f.limits, f.began, f.children, f.heard, f.told
	next.allowed = narrow(f.allowed, s.Tools)
	return next, nil
}
