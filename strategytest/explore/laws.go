package explore

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The laws, by the names that violations have.
const (
	lawTaken     = "the machine takes every answer that fits"
	lawProtocol  = "a strategy keeps to the protocol: no panic, no nil, no step that its table forbids"
	lawNoStart   = "nothing starts after a stop"
	lawStopped   = "a stopped run is done only if nothing of it was cut off"
	lawStuck     = "no run is stuck"
	lawOpen      = "no run ends over open effects"
	lawAwaits    = "the open step is of the kind that the state awaits"
	lawRequest   = "a request is a valid conversation, with each call answered once"
	lawOutput    = "the conversation of an output is valid, with each call answered once"
	lawJSON      = "every step has a JSON form"
	lawLimits    = "no limit is passed"
	lawTaint     = "a frame that has read text from outside is known to have"
	lawAllowed   = "no tool is called that the frame may not use"
	lawRefused   = "an answer that does not fit is refused and changes nothing"
	lawMoves     = "every step is a move of the table, within its caps"
	lawEnds      = "a run that meets nothing but the same mishap ends"
	lawLost      = "a failure does not become a success without a result"
	lawEdited    = "the model sees calls as they were made"
	lawAside     = "Conclude and Inherit do not panic"
	lawTurn      = "a method that is called out of turn reports an error and changes nothing"
	lawKept      = "a step does not change after it was returned"
	lawGiven     = "what a strategy is given is not written to"
	lawTools     = "the tools that a strategy brings have names of their own"
	lawNew       = "a factory returns a new strategy each time"
	lawRestored  = "a strategy that is restored from its snapshot goes on alike"
	lawSame      = "the same answers give the same steps"
	lawDecoded   = "answers from a journal give the same steps"
	lawScribbled = "what lies behind a returned slice is not the strategy's"
)

// The laws of every state, in the order in which they are checked. The check of a law may rely on
// the laws before it: a run that has ended has no frames.
var stateLaws = []struct {
	name   string
	broken func(w *walk, views []machine.FrameView) (problem string)
}{
	{lawProtocol, (*walk).defect},
	{lawEnds, (*walk).spins},
	{lawRequest, (*walk).invalid},
	{lawNoStart, (*walk).startedLate},
	{lawPrefix, (*walk).departs},
	{lawOpen, (*walk).endedEarly},
	{lawStopped, (*walk).doneThough},
	{lawStuck, (*walk).stuck},
	{lawAwaits, (*walk).misplaced},
	{lawLimits, (*walk).exceeded},
	{lawLost, (*walk).lost},
	{lawEdited, (*walk).unedited},
	{lawTaint, (*walk).trusts},
	{lawAllowed, (*walk).oversteps},
	{lawOutput, (*walk).badOutput},
	{lawAside, (*walk).panickedAside},
	{lawNotes, (*walk).unheeded},
	{lawPlace, (*walk).onTop},
	{lawBounds, (*walk).unbounded},
}

// holds checks the laws of a state, after the last reaction of the path. It reports whether the
// state may be explored further.
func (x *exploration) holds(path []choice) bool {
	law, problem := x.run.check()
	if law != "" {
		x.violate(law, path, problem)
	}
	return law == ""
}

// check returns the first law that the state breaks, and how; "" if there is none.
func (w *walk) check() (law, problem string) {
	views := w.frames()
	for i := range stateLaws {
		l := &stateLaws[i]
		if l.name == w.off {
			continue
		}
		if problem := l.broken(w, views); problem != "" {
			return l.name, problem
		}
	}
	return "", ""
}

// defect returns the problem if a strategy broke the protocol.
func (w *walk) defect([]machine.FrameView) string {
	for left, frame := range w.left() {
		if left.Err != nil && isDefect(left.Err) {
			return fmt.Sprintf("frame %s of %q: %s", frame, left.Strategy, causeOf(left.Err))
		}
	}
	return ""
}

// invalid returns the problem of a request that is no valid conversation. The Machine withholds it.
func (w *walk) invalid([]machine.FrameView) string {
	for left, frame := range w.left() {
		if left.Err == nil {
			continue
		}
		if bad, ok := errors.AsType[*messages.LawError](left.Err); ok {
			return fmt.Sprintf("frame %s of %q: %s", frame, left.Strategy, bad)
		}
	}
	return ""
}

// left yields the frames that ended with the last reaction, with their names.
func (w *walk) left() iter.Seq2[*machine.FrameLeft, string] {
	return func(yield func(*machine.FrameLeft, string) bool) {
		for i := range w.events {
			if left, ok := w.events[i].Detail.(machine.FrameLeft); ok && !yield(&left, w.events[i].Frame) {
				return
			}
		}
	}
}

func (w *walk) startedLate([]machine.FrameView) string {
	if w.started {
		return "it started " + w.pending()
	}
	return ""
}

func (w *walk) endedEarly([]machine.FrameView) string {
	if w.m.Done() && len(w.open) > 0 {
		return "it has ended over " + w.pending()
	}
	return ""
}

func (w *walk) doneThough([]machine.FrameView) string {
	if w.cut != "" && w.m.Status() == machine.StatusDone {
		return "its status is done, and frame " + w.cut + " was stopped"
	}
	return ""
}

func (w *walk) stuck([]machine.FrameView) string {
	if !w.m.Done() && len(w.open) == 0 {
		return "nothing is open, and the run has not ended"
	}
	return ""
}

// ruleOf returns the rule of the state in which a strategy is; nil if it has no table.
func ruleOf(st strategy.Strategy) *strategy.StateRule {
	t, ok := st.(strategy.Tabler)
	if !ok || t.FSM().Table() == nil {
		return nil
	}
	states, now := t.FSM().Table().States, t.FSM().State()
	for i := range states {
		if states[i].Name == now {
			return &states[i]
		}
	}
	return nil
}

// isDefect reports whether an error says that a strategy broke the protocol.
func isDefect(err *delegation.Error) bool {
	return err.Code == delegation.CodeDefect || err.Code == delegation.CodePanic
}

// causeOf describes an error of a strategy, with the value of its panic.
func causeOf(err *delegation.Error) string {
	if p, ok := errors.AsType[*machine.PanicError](err); ok {
		return fmt.Sprintf("%s: %v", err.Message, p.Value)
	}
	return err.Message
}

// misplaced says how a frame's open step differs from what its state awaits; "" if it does not.
func (w *walk) misplaced(views []machine.FrameView) string {
	for i := range views {
		if rule := ruleOf(w.live[views[i].Name]); rule != nil {
			if kind := openKind(&views[i]); kind != 0 && rule.Awaits != kind {
				return fmt.Sprintf("frame %s is in state %q, which awaits %s, and its step is %s", views[i].Name, rule.Name, rule.Awaits, kind)
			}
		}
	}
	at := -1
	for left, frame := range w.left() {
		at++
		rule := ruleOf(w.gone[at])
		if left.Err == nil && rule != nil && rule.Awaits != nextstep.KindComplete {
			return fmt.Sprintf("frame %s is in state %q, which awaits %s, and has completed", frame, rule.Name, rule.Awaits)
		}
	}
	return ""
}

// openKind returns the kind of the open step of a frame; 0 if it has none.
func openKind(f *machine.FrameView) nextstep.Kind {
	switch {
	case f.Child != "":
		return nextstep.KindDelegate
	case len(f.Effects) == 0:
		return 0
	}
	switch f.Effects[0].Kind {
	case machine.EffectModel:
		return nextstep.KindGetChatCompletion
	case machine.EffectTool:
		return nextstep.KindExecuteTools
	default:
		return nextstep.KindDelegate
	}
}

// exceeded says which limit of a frame was passed; "" if none was.
func (w *walk) exceeded(views []machine.FrameView) string {
	if problem := w.overspent(); problem != "" {
		return problem
	}
	for i := range views {
		f := &views[i]
		for _, l := range []struct {
			name        string
			used, limit int
		}{
			{"steps", f.Used.Steps, f.Limits.Steps},
			{"model calls", f.Used.ModelCalls, f.Limits.ModelCalls},
			{"tool calls", f.Used.ToolCalls, f.Limits.ToolCalls},
			{"handoffs", f.Used.Handoffs, f.Limits.Handoffs},
		} {
			if l.limit >= 0 && l.used > l.limit {
				return fmt.Sprintf("frame %s has used %d %s, and its limit is %d", f.Name, l.used, l.name, l.limit)
			}
		}
	}
	return ""
}

// lawPrefix is the law about the beginnings of requests, which providers bill less if they repeat.
const lawPrefix = "within a frame a request extends the last one, or declares that it does not"

// prefixes hold the last request of each live frame.
type prefixes struct {
	frames []asking // those behind the length lend their memory to new ones
	broken string   // how a request began otherwise without a word; "" if none did
	shown  int      // messages of the last request of the root
}

// asking is the last request of a frame, with copies of its lists as they were then.
type asking struct {
	frame   string
	request llmclient.Request
}

// reset forgets everything but the memory.
func (p *prefixes) reset() { p.frames, p.broken, p.shown = p.frames[:0], "", 0 }

// note compares a request with the last one of its frame, and takes its place.
func (p *prefixes) note(e *machine.Effect) {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	at := slices.IndexFunc(p.frames, func(a asking) bool { return a.frame == e.Frame })
	if at >= 0 {
		if why := ask.Request.Departure(&p.frames[at].request); why != "" && ask.Anew == nil && p.broken == "" {
			p.broken = fmt.Sprintf("request #%s of frame %s does not begin with the last one, and its Anew is nil: %s", e.ID, e.Frame, why)
		}
	} else {
		at = len(p.frames)
		p.frames = slices.Grow(p.frames, 1)[:at+1]
		p.frames[at].frame = e.Frame
	}
	if e.Depth == 1 {
		p.shown = len(ask.Request.Messages)
	}
	last := &p.frames[at].request
	messages, tools := last.Messages[:0], last.Tools[:0]
	*last = ask.Request
	last.Messages, last.Tools = append(messages, ask.Request.Messages...), append(tools, ask.Request.Tools...)
}

// left forgets a frame that has ended, and keeps its memory for others.
func (p *prefixes) left(frame string) {
	at := slices.IndexFunc(p.frames, func(a asking) bool { return a.frame == frame })
	if at < 0 {
		return
	}
	end := len(p.frames) - 1
	p.frames[at], p.frames[end] = p.frames[end], p.frames[at]
	p.frames = p.frames[:end]
}

// departs returns the problem of a request that does not extend the last one and does not say why.
func (w *walk) departs([]machine.FrameView) string { return w.prefix.broken }
