package explore

import (
	"github.com/segue-go/segue/strategy"
)

// lowered returns a factory whose strategies have at most n left of each cap; the factory itself if
// n is 0.
func lowered(factory func() strategy.Strategy, n int) func() strategy.Strategy {
	if n <= 0 || factory == nil {
		return factory
	}
	return func() strategy.Strategy {
		st := factory()
		t, ok := st.(strategy.Tabler)
		if !ok {
			return st
		}
		p := t.FSM().Position()
		for name, left := range p.Left {
			if left == strategy.Unbounded || left > n {
				p.Left[name] = n
			}
		}
		if p.Left != nil {
			_ = t.FSM().SetPosition(p) // a machine that cannot be used says so in the run
		}
		return st
	}
}

// spareMachines hands the state machines of a walk back to their tables when the next walk begins:
// most frames have not ended then, and to make a machine costs as much as a step.
type spareMachines struct {
	used  []*strategy.FSM
	first map[string]*strategy.FSM // the first machine of each factory; nil: it makes a new one each time
}

// note notes the machine of a strategy that a factory made. A factory must not return a strategy
// twice; a law reports it if it does, and the machines of such a factory are not reused.
func (s *spareMachines) note(factory string, st strategy.Strategy) {
	t, ok := st.(strategy.Tabler)
	if !ok {
		return
	}
	fsm := t.FSM()
	first, known := s.first[factory]
	switch {
	case !known && s.first == nil:
		s.first = map[string]*strategy.FSM{factory: fsm}
	case !known:
		s.first[factory] = fsm
	case first == nil:
		s.used = append(s.used, fsm)
	case first != fsm:
		s.first[factory] = nil
	}
}

// discard discards the machines of the walk that is over.
func (s *spareMachines) discard() {
	for i, fsm := range s.used {
		fsm.Discard()
		s.used[i] = nil
	}
	s.used = s.used[:0]
}
