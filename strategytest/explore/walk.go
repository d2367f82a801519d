package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// walk drives one run along a path of reactions.
type walk struct {
	subject string // name of the explored strategy, for reports
	m       *machine.Machine
	first   machine.Record // the Started of each run
	as      way
	open    []machine.Effect
	events  []machine.Event // of the last reaction
	made    []newcomer      // strategies whose frames have not been entered yet
	live    map[string]strategy.Strategy
	gone    []strategy.Strategy         // whose frames were left with the last reaction, in the order of the events
	results map[machine.EffectID]choice // the results of calls whose batch is not over
	ended   map[string]string           // how the branches have ended whose batch is not over, by frame; "" for those at work
	stopped bool                        // by a reaction
	started bool                        // something new was started after a stop
	answers machine.Effect              // the effect that is answered
	prefix  prefixes
	text    []byte   // of the state's key
	written []byte   // memory for a message
	names   []string // memory for keys
	views   []machine.FrameView
	viewed  bool // views are those of this state
	cfg     *machine.Config
	words   strings.Builder // of models, in a walk that looks closely
	lacks   lacking         // the first agent that nothing answers
	aside                   // what the laws look at besides
}

// newcomer is a strategy that a factory made.
type newcomer struct {
	name  string
	st    strategy.Strategy
	stand *standIn // for it, in a walk that looks closely
}

// watched returns the set with factories that note what they make.
func (w *walk) watched(set strategy.Set) strategy.Set {
	noted := strategy.Set{}
	for name, factory := range set {
		if factory == nil {
			noted[name] = nil // the machine refuses it by name
			continue
		}
		noted[name] = func() strategy.Strategy {
			st := factory()
			place, stand := w.stand(st, factory)
			w.made = append(w.made, newcomer{name, st, stand})
			return place
		}
	}
	return noted
}

// start begins the run, always with the same input.
func (w *walk) start(cfg *machine.Config, in delegation.Input) error {
	if w.m == nil {
		w.m, w.live, w.results, w.ended = machine.New(cfg), map[string]strategy.Strategy{}, map[machine.EffectID]choice{}, map[string]string{}
	}
	w.m.Reset(cfg)
	w.cfg = cfg
	w.words.Reset()
	clear(w.live)
	w.gone = w.gone[:0]
	clear(w.results)
	clear(w.ended)
	w.prefix.reset()
	w.reset()
	w.open, w.events, w.made = w.open[:0], w.events[:0], w.made[:0]
	w.stopped, w.started = false, false
	if w.first == nil {
		w.first = cfg.Start(machine.Started{Run: "explored", Strategy: Subject, Input: in, Parallel: -1})
	}
	return w.apply(w.first)
}

// errGone says that a path cannot be walked to its end.
var errGone = errors.New("what was answered then is not open now")

// react applies a reaction; nil is one that the world does not have any more.
func (w *walk) react(r *Reaction, c choice) error {
	if r == nil {
		return errGone
	}
	w.events = w.events[:0]
	e := &w.answers
	w.gone = w.gone[:0]
	if c.effect != whole {
		*e = w.open[c.effect]
	}
	rec := r.Record(e)
	if r.own {
		rec = filled(rec, e)
	}
	w.note(e, rec)
	switch rec.(type) {
	case machine.Stopped:
		w.stopped = true
	case machine.Noted:
		w.notes.said++
	case machine.Resumed:
		w.open = w.open[:0]
	case machine.Answered, machine.Suspended, machine.Replied:
		w.open = slices.Delete(w.open, int(c.effect), int(c.effect)+1)
		if e.Kind == machine.EffectTool {
			w.results[e.ID] = c
		}
	}
	return w.apply(rec)
}

// apply applies a record, and the intents that are due after it. Each of them may add others, and
// withdraw others.
func (w *walk) apply(rec machine.Record) error {
	w.viewed = false
	if err := w.take(rec); err != nil {
		return err
	}
	for intents := w.m.Ready().Intents; len(intents) > 0; intents = w.m.Ready().Intents {
		if err := w.take(intents[0]); err != nil {
			return err
		}
	}
	w.takeOver(w.m.Ready(), rec)
	w.m.Advance()
	return nil
}

// take applies one record.
func (w *walk) take(rec machine.Record) error {
	rec, err := w.through(rec)
	if err != nil {
		return err
	}
	return w.m.Apply(rec)
}

// takeOver takes over what is due after a record.
func (w *walk) takeOver(ready machine.Ready, rec machine.Record) {
	if w.tamper != nil {
		w.tamper(w.m, &ready)
	}
	w.noteEvents(ready.Events)
	for _, id := range ready.Withdrawn { // what waits is over; everything else still ends
		w.open = slices.DeleteFunc(w.open, func(e machine.Effect) bool { return e.ID == id && e.Kind == machine.EffectPerson })
	}
	w.open = append(w.open, ready.Effects...)
	w.boundEffects(ready.Effects)
	for i := range ready.Effects {
		w.prefix.note(&ready.Effects[i])
	}
	if _, again := rec.(machine.Resumed); w.stopped && !again && len(ready.Effects) > 0 {
		w.started = true
	}
	if w.as == scribbled {
		for i := range ready.Effects {
			scribble(ready.Effects[i].Step)
		}
	}
}

// through returns the record as it is read back from a journal, in a walk that looks closely:
// nothing that is looked at is shared with other walks.
func (w *walk) through(rec machine.Record) (machine.Record, error) {
	if w.as != closely {
		return rec, nil
	}
	data, err := machine.AppendRecord(nil, rec)
	if err != nil {
		return nil, err
	}
	return machine.ReadRecord(data)
}

// noteEvents notes which strategy is in which frame.
func (w *walk) noteEvents(events []machine.Event) {
	for i := range events {
		w.noteEvent(&events[i])
		w.boundEvent(&events[i])
		switch d := events[i].Detail.(type) {
		case machine.FrameEntered:
			w.narrow(events[i].Frame, &d)
			at := slices.IndexFunc(w.made, func(n newcomer) bool { return n.name == d.Strategy })
			if at >= 0 {
				w.live[events[i].Frame] = w.made[at].st
				w.stands[events[i].Frame] = w.made[at].stand
				w.boundTools(events[i].Frame, w.made[at].stand)
				w.made = slices.Delete(w.made, 0, at+1)
			}
			w.tookOver(&events[i], &d)
			if d.CallID != "" {
				w.ended[events[i].Frame] = ""
			}
		case machine.FrameLeft:
			if d.Err != nil && d.Err.Code == delegation.CodeStopped && w.stopped {
				w.cut = events[i].Frame
			}
			w.gone = append(w.gone, w.live[events[i].Frame])
			w.branchesOver(events[i].Frame)
			if _, ok := w.ended[events[i].Frame]; ok && d.Handoff == "" {
				w.ended[events[i].Frame] = outcome(&d)
			}
			w.handedOff(&events[i], &d)
			delete(w.live, events[i].Frame)
			w.prefix.left(events[i].Frame)
			delete(w.stands, events[i].Frame)
		case machine.StepTaken:
			if d.Kind == nextstep.KindExecuteTools {
				w.branchesOver(events[i].Frame)
				for id := range w.results {
					if id.Seq == events[i].Seq {
						delete(w.results, id)
					}
				}
			}
		}
	}
	w.events = append(w.events, events...)
}

// branchesOver forgets the branches of a frame: it has heard of them, or never will.
func (w *walk) branchesOver(frame string) {
	maps.DeleteFunc(w.ended, func(name, _ string) bool { return above(name) == frame })
}

// outcome is what the parent of a branch hears of it.
func outcome(d *machine.FrameLeft) string {
	text, code := "", delegation.Code("")
	if d.Result != nil {
		text = *d.Result
	}
	if d.Err != nil {
		code = d.Err.Code
	}
	return "ended " + string(code) + " " + text
}

// ending reports whether the frame of an open effect must end.
func (w *walk) ending(i int) bool {
	if !w.stopped {
		return false
	}
	frames := w.frames()
	at := slices.IndexFunc(frames, func(f machine.FrameView) bool { return f.Name == w.open[i].Frame })
	return at >= 0 && frames[at].Ending != ""
}

// frames returns the live frames.
func (w *walk) frames() []machine.FrameView {
	if !w.viewed {
		w.views, w.viewed = w.m.Frames(), true
	}
	return w.views
}

// checksums has one seed for the process.
var checksums = maphash.MakeSeed()

// checksum identifies what is open, with the whole of what it asks for, or how the run has ended,
// with its output. It is not ok if a step has no JSON form.
func (w *walk) checksum() (sum uint32, ok bool) {
	ok = true
	var h maphash.Hash
	h.SetSeed(checksums)
	for i := range w.open {
		e := &w.open[i]
		_, _ = h.WriteString(e.Frame)
		if e.Wait != nil {
			_, _ = h.WriteString(e.Wait.ID)
			continue
		}
		digest, has := w.m.Digest(e.ID)
		_, _ = h.WriteString(digest)
		ok = ok && has
	}
	if w.m.Done() {
		w.sumOutput(&h)
	}
	return uint32(h.Sum64()), ok //nolint:gosec // a part of it is enough
}

// sumOutput adds how the run has ended.
func (w *walk) sumOutput(h *maphash.Hash) {
	out := w.m.Output()
	_, _ = h.WriteString(string(w.m.Status()) + out.Text())
	_, _ = h.Write(out.Data)
	if out.Err != nil {
		_, _ = h.WriteString(string(out.Err.Code) + out.Err.Message)
	}
	unseen := out.Messages[max(0, min(w.prefix.shown, len(out.Messages)-1)):] // the last request has shown the others
	for _, m := range unseen {
		w.written, _ = messages.AppendMessage(w.written[:0], m) // without a JSON form it breaks another law
		_, _ = h.Write(w.written)
	}
	if len(out.Metadata) > 0 {
		text, _ := json.Marshal(out.Metadata)
		_, _ = h.Write(text)
	}
}

// name returns the name of a reaction, with the id of the effect that it concerns.
func (w *walk) name(r *Reaction, c choice) string {
	if c.effect == whole {
		return r.Name
	}
	return "#" + w.open[c.effect].ID.String() + " " + r.Name
}

// pending describes the open effects.
func (w *walk) pending() string {
	if len(w.open) == 0 {
		return "nothing"
	}
	var all []string
	for i := range w.open {
		e := &w.open[i]
		what := string(e.Kind)
		if e.Call.Name != "" {
			what += " " + e.Call.Name
		}
		all = append(all, fmt.Sprintf("#%s %s of frame %s", e.ID, what, e.Frame))
	}
	return strings.Join(all, ", ")
}

// expiry is when a wait is over.
func expiry(w *machine.Wait) time.Time { return w.Expires.Add(time.Second) }
