package explore

import (
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Predicate is something that holds in a state or not. It must depend on the state alone, and not
// on the states before it.
type Predicate func(*State) bool

// InState holds while a live frame of a strategy is in a state of its table. The explored strategy
// has the name [Options].Name.
func InState(name string, state strategy.State) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(s.Frames(), func(f machine.FrameView) bool {
			return f.State == state && s.run.nameOf(f.Strategy) == name
		})
	}
}

// Calls holds while a call of a tool is in progress: it has been released, and has no result. The
// call of an agent is in progress while the agent is at work.
func Calls(tool string) Predicate {
	return Any(calls(func(e *machine.Effect) bool { return e.Call.Name == tool }), atWork(tool))
}

// atWork holds while an agent works on a call.
func atWork(agent string) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(s.Frames(), func(f machine.FrameView) bool {
			return slices.ContainsFunc(f.Effects, func(e machine.EffectView) bool {
				return e.Tool == agent && e.State == "nested"
			})
		})
	}
}

// CallsApproved holds while a call of a tool is in progress that a person has approved. For an
// agent it never holds: there are [Calls] and [Asks].
func CallsApproved(tool string) Predicate {
	return calls(func(e *machine.Effect) bool { return e.Call.Name == tool && e.Approved })
}

// CallsUnapproved holds while a call of a tool is in progress that no person has approved. For an
// agent it never holds: there are [Calls] and [Asks].
func CallsUnapproved(tool string) Predicate {
	return calls(func(e *machine.Effect) bool { return e.Call.Name == tool && !e.Approved })
}

func calls(is func(*machine.Effect) bool) Predicate {
	return open(func(e *machine.Effect) bool { return e.Kind == machine.EffectTool && is(e) })
}

// Asks holds while the run waits for a person about a call of a tool, with a wait of that kind,
// such as [machine.WaitApproval].
func Asks(kind, tool string) Predicate {
	return open(func(e *machine.Effect) bool {
		return e.Kind == machine.EffectPerson && e.Wait.Kind == kind && e.Wait.Tool == tool
	})
}

func open(is func(*machine.Effect) bool) Predicate {
	return func(s *State) bool {
		list := s.Open()
		for i := range list {
			if is(&list[i]) {
				return true
			}
		}
		return false
	}
}

// Done holds if the run has ended well.
func Done(s *State) bool { return s.Done() && s.Status() == machine.StatusDone }

// Failed holds if the run has failed, or ended at a limit.
func Failed(s *State) bool {
	return s.Done() && (s.Status() == machine.StatusFailed || s.Status() == machine.StatusLimit)
}

// Stopped holds if the run was stopped, and has ended.
func Stopped(s *State) bool { return s.Done() && s.Status() == machine.StatusStopped }

// Ended holds if the run has ended.
func Ended(s *State) bool { return s.Done() }

// Not holds if p does not.
func Not(p Predicate) Predicate { return func(s *State) bool { return !p(s) } }

// All holds if all of ps do.
func All(ps ...Predicate) Predicate {
	return func(s *State) bool {
		return !slices.ContainsFunc(ps, func(p Predicate) bool { return !p(s) })
	}
}

// Any holds if one of ps does.
func Any(ps ...Predicate) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(ps, func(p Predicate) bool { return p(s) })
	}
}

// nameOf returns the name of a strategy as the Options have it.
func (w *walk) nameOf(name string) string {
	if name == Subject && w.subject != "" {
		return w.subject
	}
	return name
}
