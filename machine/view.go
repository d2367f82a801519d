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

// FrameView is the state of a frame between two records. It is a copy: changing it does not change
// the run.
type FrameView struct {
	Name     string // position in the delegation tree: "0.1.2"
	Depth    int    // the root has 1
	Strategy string
	State    strategy.State // state of the strategy's FSM, if it has one
	Seq      int            // number of its last step; 0 before the first

	Effects []EffectView // effects that it waits for, in order, without those that have ended
	Child   string       // the child frame that it waits for; "" if it waits for effects

	Call   EffectID // the call that its branch answers; zero for the root and for delegated children
	Branch bool     // whether it is the first frame of a branch

	Limits  delegation.Limits // its own limits; negative: none
	Left    delegation.Limits // see [Machine.Left]
	Used    delegation.Counts // used by it and all frames below it, including what open effects have reserved
	Usage   messages.Usage
	Cost    messages.Cost
	Elapsed time.Duration // sum of the durations of the effects of it and all frames below it
	ToHear  int           // number of notes that its strategy hears before its next answer; 0 if it is no [strategy.Listener]

	Made []callView // the last calls of its model, oldest first, as far as a repetition of them is noticed
	Told bool       // a limit of tool calls was told, to it or to a frame below it

	Untrusted bool   // whether its branch has read text from outside
	Source    string // the source of that text, for people; "" if there is none
	Ending    string // why it must end; "" if it may continue
}

// callView is a call that a model has made, and may repeat.
type callView struct {
	Call   messages.ToolCall   // as it was made last
	Beside []messages.ToolCall // the calls of that batch that are not read-only
	Times  int                 // in how many batches it had the result, with nothing new between them
	Output messages.ToolOutput // the result, without CallID and Elapsed
}

// EffectView is the state of an effect that a frame waits for. Its State is
//
//   - "blocked": earlier calls must end first, or its verdict must be stored
//   - "queued": it waits in the queue, because of Parallel
//   - "intending": it is next in turn, but its intent must be stored first
//   - "open": it is in progress
//   - "asking": it is in progress, and waits for a person
//   - "waiting": it waits for a person, and is not in progress
//   - "nested": its branches are at work
type EffectView struct {
	ID    EffectID
	Kind  EffectKind
	State string
	Tool  string   // name of the tool of a call
	Waits []string // ids of its open waits, see [Machine.Waits]
}

var effectStates = [...]string{
	blocked: "blocked", judged: "blocked", queued: "queued", intending: "intending", open: "open", asking: "asking", waiting: "waiting", nested: "nested",
}

// Frames returns the frames of the run, in the order of the tree: each frame before the frames that
// it started. There are none before the run began and after it ended.
func (m *Machine) Frames() []FrameView {
	live := m.live()
	var sleeps map[*frame]string // the child of each sleeping frame
	for _, f := range live {
		if f.up != nil && f.call == nil {
			if sleeps == nil {
				sleeps = map[*frame]string{}
			}
			sleeps[f.up] = f.name
		}
	}
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
		Limits: f.limits.limits(), Left: m.remaining(f).limits(), Used: f.used.Counts, Usage: f.used.tokens, Cost: f.used.cost, Elapsed: f.used.elapsed, ToHear: m.toHear(f),
		State: f.state, Untrusted: f.branch.untrusted, Source: f.branch.source, Told: f.told,
	}
	for i := range f.made {
		if c := &f.made[i]; c.news == m.news(f) {
			v.Made = append(v.Made, callView{Call: c.call, Beside: c.beside, Times: c.times, Output: c.out})
		}
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

// byPlace compares the names of two frames by their position in the tree.
func byPlace(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// Digest returns the digest of the step or call of an open effect. It is computed now if
// [Config].Durable is false. It returns false if there is no such effect, if the effect is a
// question to a person, and if its step has no JSON form.
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
