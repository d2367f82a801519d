package explore

import "github.com/segue-go/segue/strategy"

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
