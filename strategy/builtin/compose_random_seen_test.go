package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/planreviseexecute"
)

// seenFrame is a frame that is live.
type seenFrame struct {
	table string // of its strategy
	state strategy.State
	agent bool // it is the first of a branch
}

// look follows the frames of a case, and records where notes come, conversations are compacted, and
// frames hand off.
func (w *composed) look(e *machine.Event) {
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		w.frames[e.Frame] = &seenFrame{table: w.tableOf(d.Strategy), agent: d.CallID != ""}
	case machine.StateChanged:
		if f := w.frames[e.Frame]; f != nil {
			f.state = d.To
		}
	case machine.FrameLeft:
		if d.Handoff != "" && w.within(e.Frame, func(f *seenFrame) bool { return f.agent }) {
			w.saw["handed within a branch"] = true
		}
		delete(w.frames, e.Frame)
	case machine.Compacted:
		if w.within(e.Frame, func(f *seenFrame) bool { return f.table == planreviseexecute.Name }) {
			w.saw["compacted in a plan"] = true
		}
	case machine.Noting:
		if e.Kind == machine.EventNoted {
			for _, f := range w.frames {
				w.saw["noted "+f.table+"/"+string(f.state)] = true
			}
		}
	}
}

// within reports whether a frame, or one above it, is such a frame.
func (w *composed) within(frame string, such func(*seenFrame) bool) bool {
	for name, f := range w.frames {
		if (name == frame || strings.HasPrefix(frame, name) && !isDigit(frame[len(name)])) && such(f) {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// tableOf returns the name of the table of a strategy of the case.
func (w *composed) tableOf(name string) string {
	for i := range w.Nodes {
		if nodeName(i) == name {
			return w.nodes[i]().(strategy.Tabler).FSM().Table().Name
		}
	}
	return name
}

// notable lists the states in which a strategy waits for an answer, so that a note can come.
func notable() (all []string) {
	for _, t := range tables {
		for _, s := range t.States {
			if s.Awaits != 0 && s.Awaits != nextstep.KindComplete && s.Awaits != nextstep.KindReportError {
				all = append(all, "noted "+t.Name+"/"+string(s.Name))
			}
		}
	}
	return all
}

// rare checks that what is rare was there, if there were many cases.
func (c *tally) rare(t *testing.T) {
	t.Helper()
	states := notable()
	missing := slices.DeleteFunc(slices.Clone(states), func(s string) bool { return c.saw[s] > 0 })
	t.Logf("%d compact in a plan, %d hand off within a branch; notes come in %d of %d states, but not: %q",
		c.saw["compacted in a plan"], c.saw["handed within a branch"], len(states)-len(missing), len(states), missing)
	if c.cases < 2_000 {
		return
	}
	require.Positive(t, c.saw["compacted in a plan"], "some compact in the middle of a plan")
	require.Positive(t, c.saw["handed within a branch"], "some hand off within a branch")
	require.Greater(t, 2*(len(states)-len(missing)), len(states), "notes come in half of all states")
}
