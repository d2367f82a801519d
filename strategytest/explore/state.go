package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// State is a state of the run that is explored. It is read-only, and valid until the function
// returns that it was given to.
type State struct{ run *walk }

// Frames returns the live frames, each before those that it started; none after the end.
func (s *State) Frames() []machine.FrameView { return s.run.frames() }

// Strategy returns the strategy of a live frame, to look at and not to call; nil if there is none.
func (s *State) Strategy(frame string) strategy.Strategy { return s.run.live[frame] }

// Open returns the effects that the world has to answer.
func (s *State) Open() []machine.Effect { return s.run.open }

// Events returns what happened since the state before.
func (s *State) Events() []machine.Event { return s.run.events }

// Status returns how the run has ended; [machine.StatusWaiting] if it waits for people alone; ""
// otherwise.
func (s *State) Status() machine.Status { return s.run.m.Status() }

// Done reports whether the run has ended.
func (s *State) Done() bool { return s.run.m.Done() }

// Output returns the output of the run; before the end, the conversation of the root so far.
func (s *State) Output() delegation.Output { return s.run.m.Output() }

// stateKey identifies a state.
type stateKey [16]byte

// key returns the key of the current state of the walk. It is exact if every strategy could report
// its memory.
func (x *exploration) key() (k stateKey, exact bool) {
	t := keyText{buf: x.run.text[:0], names: x.run.names, exact: true}
	t.state(&x.run)
	x.run.text, x.run.names = t.buf, t.names
	sum := sha256.Sum256(t.buf)
	copy(k[:], sum[:])
	return k, t.exact
}

// keyText collects the text whose hash is the key of a state.
type keyText struct {
	buf   []byte
	names []string // of caps
	exact bool
}

func (t *keyText) text(s string) {
	t.buf = binary.AppendUvarint(t.buf, uint64(len(s)))
	t.buf = append(t.buf, s...)
}

func (t *keyText) number(n int) { t.buf = binary.AppendVarint(t.buf, int64(n)) }

func (t *keyText) flag(b bool) { t.buf = strconv.AppendBool(t.buf, b) }

func (t *keyText) state(w *walk) {
	if w.m.Done() {
		t.text(string(w.m.Status()))
		if err := w.m.Output().Err; err != nil {
			t.text(string(err.Code))
		}
		return
	}
	t.flag(w.stopped)
	t.number(w.notes.said)
	t.number(len(w.notes.heard))
	views := w.frames()
	for i := range views {
		t.frame(w, &views[i])
	}
	for i := range w.open {
		e := &w.open[i]
		t.text(string(e.Kind))
		t.number(e.Depth)
		t.text(e.Call.Name)
		t.text(e.Call.Arguments)
		if child, ok := e.Step.(nextstep.Delegate); ok {
			t.text(child.Strategy)
		}
		t.number(len(e.Replies))
		t.flag(e.Approved)
		if len(w.edited) > 0 && e.Kind != machine.EffectModel { // what comes of it shows when the calls are over
			t.text("edited")
		}
	}
}

// manyTokens is the greatest number of remaining tokens that a key tells apart. Each reply uses
// some tokens: with the exact number no two replies would lead to the same state.
const manyTokens = 100

func (t *keyText) frame(w *walk, f *machine.FrameView) {
	t.number(f.Depth)
	t.text(f.Strategy)
	t.text(string(f.State))
	t.text(f.Ending)
	t.flag(f.Untrusted)
	t.flag(f.Child != "")
	t.number(f.ToHear)
	t.memory(w.live[f.Name])
	for _, n := range []int{f.Left.Depth, f.Left.Steps, f.Left.ModelCalls, f.Left.ToolCalls, f.Left.Handoffs} {
		t.number(max(n, -1))
	}
	for _, n := range []int64{f.Left.InputTokens, f.Left.OutputTokens, f.Left.TotalTokens} {
		t.number(int(min(max(n, -1), manyTokens)))
	}
	t.flag(f.Told)
	for i := range f.Made {
		c := &f.Made[i]
		t.text(c.Call.Name)
		t.text(c.Call.Arguments)
		for i := range c.Beside {
			t.text(c.Beside[i].Name)
			t.text(c.Beside[i].Arguments)
		}
		t.number(c.Times)
		t.text(string(c.Output.Status))
		t.text(c.Output.Output)
	}
	for i := range f.Effects {
		e := &f.Effects[i]
		t.text(string(e.Kind))
		t.number(e.ID.Index)
		t.text(e.State)
		t.text(e.Tool)
		t.number(len(e.Waits))
	}
	for _, name := range slices.SortedFunc(maps.Keys(w.ended), byPlace) {
		if above(name) == f.Name {
			t.text(w.ended[name])
		}
	}
	if len(w.results) == 0 {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.results), byIndex) {
		if id.Seq == f.Seq {
			t.number(id.Index)
			t.number(int(w.results[id].reaction))
		}
	}
}

func byPlace(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func byIndex(a, b machine.EffectID) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Wait, b.Wait))
}

// memory adds the position of a strategy's machine, and its memory.
func (t *keyText) memory(st strategy.Strategy) {
	if tabler, ok := st.(strategy.Tabler); ok {
		p := tabler.FSM().Position()
		t.text(string(p.State))
		t.names = slices.AppendSeq(t.names[:0], maps.Keys(p.Left))
		slices.Sort(t.names)
		for _, name := range t.names {
			t.text(name)
			t.number(p.Left[name])
		}
	}
	s, ok := st.(strategy.Snapshotter)
	if !ok {
		t.exact = false
		return
	}
	memory, err := snapshotOf(s)
	if err != nil {
		t.exact = false
		return
	}
	t.buf = appendShape(t.buf, memory)
}
