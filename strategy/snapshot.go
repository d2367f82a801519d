package strategy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Snapshotter is a [Strategy] whose memory can be written down and read back.
type Snapshotter interface {
	// Snapshot returns the memory as JSON: everything that later steps depend on, except the
	// configuration of the factory, the position of the frame's FSM (the Machine takes it with
	// [FSM.Position]), and what UseTools and Tools give. The same memory gives the same bytes. The
	// result shares nothing with the strategy. An error means that the memory cannot be written
	// down.
	Snapshot() (json.RawMessage, error)

	// Restore gives that memory to a new strategy of the same factory, after UseTools and instead
	// of Initialize. The position of the FSM is set separately, before or after. From then on the
	// strategy decides like the one of which the snapshot was taken. The snapshot is read-only and
	// may be changed after the call. Data that does not fit is an error; the strategy must then not
	// be used.
	Restore(snapshot json.RawMessage) error
}

// Position is where an [FSM] stands.
type Position struct {
	State State `json:"state"`

	// Left is what is left of each cap, by name; [Unbounded] for a cap without a limit. It is nil
	// for a table without caps.
	Left map[string]int `json:"left,omitempty"`
}

// Position returns where the machine stands. The result is the caller's. The zero FSM has the zero
// Position.
func (f *FSM) Position() Position {
	p := Position{State: f.State()}
	if f == nil || len(f.left) == 0 {
		return p
	}
	p.Left = make(map[string]int, len(f.left))
	for i, name := range f.table.made.caps {
		p.Left[name] = f.left[i]
	}
	return p
}

// SetPosition moves the machine to a position, without a rule: the state must be one of the table,
// and Left must have a value for each of its caps and no other. What is left need not be within the
// [Caps] with which the machine was made. If the position does not fit, there is an error and the
// machine does not change. For an FSM that cannot be used, the error is that of [FSM.Check].
// SetPosition copies Left. It is not one of [FSM.Moves].
func (f *FSM) SetPosition(p Position) error {
	if err := f.Check(); err != nil {
		return err
	}
	c := f.table.compile()
	if _, known := c.states[p.State]; !known {
		return f.unfit("state", string(p.State), "the table has no such state")
	}
	left := make([]int, len(c.caps))
	for i, name := range c.caps {
		n, given := p.Left[name]
		switch {
		case !given:
			return f.unfit("cap", name, "what is left of it is missing")
		case n < Unbounded:
			return f.unfit("cap", name, fmt.Sprintf("%d cannot be left of it", n))
		}
		left[i] = n
	}
	for _, name := range slices.Sorted(maps.Keys(p.Left)) {
		if !slices.Contains(c.caps, name) {
			return f.unfit("cap", name, "the table has no such cap")
		}
	}
	f.left, f.last = left, ""
	f.stand(c, p.State)
	return nil
}

// stand puts the machine into a state. A machine of a final state is shared and never changed.
func (f *FSM) stand(c *compiled, s State) {
	shared := c.finals[f.State()] == f.machine
	switch final := c.finals[s]; {
	case final != nil:
		if !shared {
			c.idle.Put(f.machine)
		}
		f.machine = final
	case shared:
		f.machine = c.machine(s)
	default:
		f.machine.SetState(string(s))
	}
}

// unfit says which state or cap of a [Position] does not fit the table.
func (f *FSM) unfit(what, name, problem string) error {
	return fmt.Errorf("strategy: table %q: a position does not fit: %s %q: %s", f.table.Name, what, name, problem)
}
