package orchestrator

import (
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// mostSoFar is the number of bytes that are kept of a reply in progress.
const mostSoFar = 1 << 20

// progress is what has come of the replies of a run that is worked on here.
type progress struct {
	mu     sync.Mutex
	frames map[string]*replySoFar // of the frames that have a reply in progress
}

// replySoFar is what was told of the last step of a frame. Its pieces are appended, and never copied.
type replySoFar struct {
	event          machine.Event // the first of the step
	text, thoughts strings.Builder
	calls          []*callSoFar
	size           int  // above mostSoFar not all is kept
	later          bool // the text was promised for later
	taken          int  // the last step of the frame that has its answer, for a follower
}

type callSoFar struct {
	machine.CallDelta
	arguments strings.Builder
}

// tell hands an event to those who follow the run, if no journal keeps it, and keeps what it adds to
// a reply.
func (r *run) tell(e *machine.Event) {
	p := &r.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Kind == machine.EventStepTaken, e.Kind == machine.EventFrameLeft:
		delete(p.frames, e.Frame)
	case tellsOfReply(e):
		if s := p.frames[e.Frame]; s == nil || s.event.Seq != e.Seq {
			p.frames[e.Frame] = new(replySoFar)
			r.o.followers.told(r.journal.key, new(snapshotOf(*e, machine.StepSnapshot{}))) // for one who heard of the step before it was begun again
		}
		p.frames[e.Frame].add(e)
	}
	if e.Index == 0 {
		r.o.followers.told(r.journal.key, e)
	}
}

// tellsOfReply reports whether an event changes what has come of a reply.
func tellsOfReply(e *machine.Event) bool {
	return slices.Contains([]machine.EventKind{machine.EventTextDelta, machine.EventThoughtDelta, machine.EventCallDelta, machine.EventRetryWaiting, machine.EventStepSnapshot}, e.Kind)
}

// add adds an event of the frame, and reports whether it is a piece of a reply.
func (s *replySoFar) add(e *machine.Event) bool {
	if !tellsOfReply(e) {
		return false
	}
	if e.Seq > s.event.Seq {
		*s = replySoFar{event: *e, taken: s.taken}
	}
	to := &s.text
	switch d := e.Detail.(type) {
	case machine.StepSnapshot:
		s.replace(d)
		return false
	case machine.RetryWaiting:
		if s.calls = nil; d.Discard {
			s.replace(machine.StepSnapshot{})
		}
		return false
	case machine.CallDelta:
		to = &s.call(d).arguments
	default:
		if e.Kind == machine.EventThoughtDelta {
			to = &s.thoughts
		}
	}
	if s.size += len(e.Text); s.size <= mostSoFar {
		to.WriteString(strings.ToValidUTF8(e.Text, "\ufffd")) // as readers see halves of characters
	}
	return true
}

func (s *replySoFar) replace(d machine.StepSnapshot) {
	*s = replySoFar{event: s.event, taken: s.taken, later: d.Later, size: len(d.Text) + len(d.Thoughts)}
	s.text.WriteString(d.Text)
	s.thoughts.WriteString(d.Thoughts)
	for _, c := range d.Calls {
		s.call(c.CallDelta).arguments.WriteString(c.Arguments)
	}
}

func (s *replySoFar) call(d machine.CallDelta) *callSoFar {
	for _, c := range s.calls {
		if c.CallDelta == d {
			return c
		}
	}
	s.calls = append(s.calls, &callSoFar{CallDelta: d})
	return s.calls[len(s.calls)-1]
}

func (s *replySoFar) snapshot() machine.StepSnapshot {
	if s.later || s.size > mostSoFar {
		return machine.StepSnapshot{Later: true}
	}
	d := machine.StepSnapshot{Text: s.text.String(), Thoughts: s.thoughts.String()}
	for _, c := range s.calls {
		d.Calls = append(d.Calls, machine.CallSnapshot{CallDelta: c.CallDelta, Arguments: c.arguments.String()})
	}
	return d
}

// snapshotOf returns the snapshot of the step of an event.
func snapshotOf(e machine.Event, d machine.StepSnapshot) machine.Event {
	e.Kind, e.Text, e.Detail = machine.EventStepSnapshot, "", d
	return e
}

// wholeReply returns the snapshot of the reply that a record holds; nil if it holds none that was to
// be told.
func wholeReply(m *machine.Machine, rec machine.Record) *machine.Event {
	a, ok := rec.(machine.Answered)
	if !ok {
		return nil
	}
	var reply *messages.Assistant
	switch answer := a.Answer.(type) {
	case nextstep.APIResponse:
		reply = &answer.Response.Message
	case nextstep.Failure:
		reply = &answer.Partial
	default:
		return nil
	}
	for _, x := range m.Open() {
		if x.ID == a.Effect && x.Kind == machine.EffectModel && !isAside(&x) {
			return new(snapshotOf(eventOf(&x, a.At), machine.StepSnapshot{Text: reply.Text(), Thoughts: reply.Thought(), Whole: true}))
		}
	}
	return nil
}
