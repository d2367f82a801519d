package machine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
)

// FrameView is a frame as it stands between two records. It is a copy: reading it, or writing to
// it, changes nothing of the run.
type FrameView struct {
	Name     string // position in the delegation tree: "0.1.2"
	Depth    int    // the root's is 1
	Strategy string
	State    strategy.State // of the strategy's FSM, where it tells
	Seq      int            // the number of its last step; 0 before the first

	Effects []EffectView // that it rests on, in order; those that have ended are left out
	Child   string       // the frame that it delegated to and sleeps below; "" if it rests on effects

	Call   EffectID // the call that its branch answers; zero for the root, and for what was delegated to
	Branch bool     // it is the first frame of a branch

	Limits  delegation.Limits // its own; negative: none
	Left    delegation.Limits // see [Machine.Left]
	Used    delegation.Counts // by it and all below it; what its open effects have reserved is among it
	Usage   messages.Usage
	Cost    messages.Cost
	Elapsed time.Duration // of the effects of it and all below it, added up

	Untrusted bool   // text from outside has been read in its branch
	Source    string // what brought it, for people; "" if nothing did
	Ending    string // why it has to end; "" if it may go on
}

// EffectView is an effect that a frame rests on.
type EffectView struct {
	ID    EffectID
	Kind  EffectKind
	State EffectState
	Tool  string   // of a call
	Waits []string // the ids of what it waits for, see [Machine.Waits]
}

// EffectState says how far an effect has come.
type EffectState string

// The states.
const (
	EffectBlocked   EffectState = "blocked"   // calls before it have to end, or its verdict has to be stored
	EffectQueued    EffectState = "queued"    // it waits for a place
	EffectIntending EffectState = "intending" // it has its place, and waits for its intent to be stored
	EffectOpen      EffectState = "open"      // it is performed
	EffectAsking    EffectState = "asking"    // it is performed, and waits for somebody
	EffectWaiting   EffectState = "waiting"   // it waits for somebody, and nobody performs it
	EffectNested    EffectState = "nested"    // branches answer it
)

var effectStates = [...]EffectState{
	blocked: EffectBlocked, judged: EffectBlocked, queued: EffectQueued, intending: EffectIntending, open: EffectOpen,
	asking: EffectAsking, waiting: EffectWaiting, nested: EffectNested,
}

// Frames returns the frames of the run as they stand, in the order of the tree: each before what it
// has started. There are none before the run began and after it ended.
func (m *Machine) Frames() []FrameView {
	var live []*frame
	sleeps := map[*frame]string{} // below which child
	seen := map[*frame]bool{}
	for _, parked := range m.frames() {
		for f := parked; f != nil && !seen[f]; f = f.up {
			seen[f] = true
			live = append(live, f)
			if f.up != nil && f.call == nil {
				sleeps[f.up] = f.name
			}
		}
	}
	slices.SortFunc(live, func(a, b *frame) int { return byPlace(a.name, b.name) })
	views := make([]FrameView, 0, len(live))
	for _, f := range live {
		v := m.view(f)
		v.Child = sleeps[f]
		if e := m.endingOf(f); e != nil {
			v.Ending = e.reason
		}
		views = append(views, v)
	}
	return views
}

func (m *Machine) view(f *frame) FrameView {
	v := FrameView{
		Name: f.name, Depth: f.depth, Strategy: f.strategy, Seq: f.seq, Branch: f.call != nil,
		Limits: f.limits.limits(), Left: m.remaining(f).limits(), Used: f.used.Counts, Usage: f.used.tokens, Cost: f.used.cost, Elapsed: f.used.elapsed,
		Untrusted: f.branch.untrusted, Source: f.branch.source,
	}
	if f.stater != nil {
		v.State = f.state
	}
	if f.call != nil {
		v.Call = f.call.id
	}
	for e := range f.effects() {
		if e.state == ended {
			continue
		}
		shown := EffectView{ID: e.id, Kind: e.kind, State: effectStates[e.state], Tool: e.call.Name}
		for w := range e.openWaits() {
			shown.Waits = append(shown.Waits, w.ID)
		}
		v.Effects = append(v.Effects, shown)
	}
	return v
}

// byPlace compares the names of two frames by their place in the tree.
func byPlace(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// Left returns what a frame, and all above it, have left of each limit for something that starts
// one frame deeper, such as a delegation; negative: there is no limit. It returns false if no such
// frame lives.
func (m *Machine) Left(frame string) (delegation.Limits, bool) {
	f := m.named(frame)
	if f == nil {
		return delegation.Limits{}, false
	}
	return m.remaining(f).limits(), true
}

// Digest returns the digest of an effect that has no answer: of all that stands in its step or its
// call. It is made now, if [Config].Durable did not make it before. It returns false if there is no
// such effect, for what a person is asked, and for a step that has no JSON form.
func (m *Machine) Digest(id EffectID) (string, bool) {
	e := m.find(id)
	switch {
	case e == nil:
		return "", false
	case e.digest != "":
		return e.digest, true
	case e.kind == EffectTool:
		return digestOf(&e.call), true
	}
	sum, err := e.frame.digest(e.step)
	return sum, err == nil
}
