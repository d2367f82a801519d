package strategytest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/segue-go/segue/machine"
)

// places determines from the events of a run where something happens in a story. Each agent has a
// name, and numbers its own frames and steps.
type places struct {
	mu     sync.Mutex
	agents map[string]*branch // by their first frames
	calls  map[stepCall]*fan  // the calls that have begun
	root   branch
}

// branch is the root and its children, or an agent and its children.
type branch struct {
	frame string // the first frame
	name  string // the name of an agent: "4/c1", or "4/c1/2" for one of several goals; "" for the root
	steps []int  // the numbers of its steps in the run, in order
	by    int    // the number in the run of the step that called it
}

// stepCall is a tool call of a step of a frame.
type stepCall struct {
	frame string
	seq   int
	id    string
}

// fan is the number of agents that a call has opened, and whether it may open several.
type fan struct {
	opened  int
	several bool
}

func newPlaces() *places {
	return &places{agents: map[string]*branch{}, calls: map[stepCall]*fan{}, root: branch{frame: "0"}}
}

// place is a step of a branch, or what precedes the first step (number 0).
type place struct {
	agent  string // the name of the branch
	frame  string // with the numbers of the branch
	number int    // of the step
}

// depth returns the depth of the frame in its branch.
func (p place) depth() int { return strings.Count(p.frame, ".") }

// String returns the name of a step in scripts.
func (p place) String() string { return p.agent + "#" + strconv.Itoa(p.number) }

// at returns the place of a step.
func (p *places) at(frame string, seq int) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.branch(frame)
	return place{agent: b.name, frame: "0" + strings.TrimPrefix(frame, b.frame), number: b.number(seq)}
}

// in returns the branch and the frame of something that is not a step of its own.
func (p *places) in(frame string) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.branch(frame)
	return place{agent: b.name, frame: "0" + strings.TrimPrefix(frame, b.frame)}
}

// branch returns the branch of a frame.
func (p *places) branch(frame string) *branch {
	for frame != "" {
		if b := p.agents[frame]; b != nil {
			return b
		}
		frame = parent(frame)
	}
	return &p.root
}

// parent returns the parent of a frame, or "" for the root.
func parent(frame string) string { return frame[:max(0, strings.LastIndexByte(frame, '.'))] }

// number returns the number of a step in its branch. A new step gets the next number, because a
// branch does one thing at a time.
func (b *branch) number(seq int) int {
	i := slices.Index(b.steps, seq)
	if i < 0 {
		i = len(b.steps)
		b.steps = append(b.steps, seq)
	}
	return i + 1
}

// event records what an event says about places. If the event begins an agent, it returns the step
// that called the agent.
func (p *places) event(e *machine.Event) (caller place, begins bool) {
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		switch {
		case d.After != "": // it has the place of another one
			p.at(e.Frame, e.Seq)
		case d.CallID != "":
			return p.opened(e, d.CallID), true
		case e.Seq > 0:
			p.at(e.Frame, e.Seq) // a delegation is a step
		}
	case machine.ToolStarted:
		p.at(e.Frame, e.Seq)
		var args struct{ Goals []json.RawMessage }
		_ = json.Unmarshal([]byte(d.Call.Arguments), &args) // no arguments if this fails
		p.calls[stepCall{e.Frame, e.Seq, d.Call.ID}] = &fan{several: len(args.Goals) > 0}
	case machine.ToolFinished:
		if d.Output.Reason != machine.ReasonNotStarted { // in a batch this takes no number
			p.at(e.Frame, e.Seq)
		}
	case machine.StepTaken:
		p.at(e.Frame, e.Seq)
	}
	return place{}, false
}

// opened names an agent.
func (p *places) opened(e *machine.Event, id string) place {
	caller := p.at(parent(e.Frame), e.Seq)
	p.mu.Lock()
	defer p.mu.Unlock()
	name := strconv.Itoa(caller.number) + "/" + id
	if caller.agent != "" {
		name = caller.agent + "/" + name
	}
	f := p.calls[stepCall{parent(e.Frame), e.Seq, id}]
	if f.opened++; f.several {
		name += "/" + strconv.Itoa(f.opened)
	}
	p.agents[e.Frame] = &branch{frame: e.Frame, name: name, by: e.Seq}
	return caller
}
