package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

// Difference is the first place at which the strategies of this process decide otherwise than those
// that a run was recorded with. It is an error, too, for tests that want none.
type Difference struct {
	Run    string
	Record int    // the record at which it was found
	Seq    int    // of the step; 0 where it is about none
	Frame  string // "" where it is about none

	// Worded says that the same is asked for in other words: the same frame, kind of step and tool,
	// and another prompt, conversation, tool description or argument.
	Worded bool

	Recorded Decision
	Now      Decision
	Problem  string // why the record does not fit, where the decisions alone do not say it; else ""

	// Effect is all that is asked for now, such as the whole request to a model. Nil where nothing
	// is. What was asked for then stands in no journal: of that there is the digest.
	Effect *machine.Effect
}

// Decision is what a run came to: an effect, or its end.
type Decision struct {
	machine.StepID
	Ended machine.Status // how the run has ended; "": it asked for an effect
}

// String says what was decided, in a line.
func (d Decision) String() string {
	if d.Ended != "" {
		return "the run ends: " + string(d.Ended)
	}
	return d.StepID.String()
}

// String returns the difference in three lines or four: where it is, what was recorded behind a
// minus, and what there is now behind a plus.
func (d *Difference) String() string {
	return d.place() + "\n- " + d.Recorded.String() + "\n+ " + d.Now.String() + prefixed("\n  ", d.Problem)
}

// Error says the same in one line.
func (d *Difference) Error() string {
	return fmt.Sprintf("orchestrator: %s: recorded: %s; now: %s%s", d.place(), d.Recorded, d.Now, prefixed("; ", d.Problem))
}

func (d *Difference) place() string {
	text := fmt.Sprintf("run %.64q, record %d", d.Run, d.Record)
	if d.Seq > 0 {
		text += fmt.Sprintf(", step %d", d.Seq)
	}
	if d.Frame != "" {
		text += " of frame " + d.Frame
	}
	if d.Worded {
		text += ", in other words"
	}
	return text
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// Diff applies the journal of a run to the strategies, prompts and tools of this process, and
// returns the first difference; nil if they would have asked for the very same. No model is asked,
// and nothing is stored. Behind the first difference nothing can be compared: the answers are to
// what was asked for then.
//
// Of a run that was carried over a change of code, what the strategies of this process do not come
// to before that is no difference.
//
// The first difference in shape (frame, kind of step, tool, or whether and how the run ends) is
// returned if there is one, and else the first in words. [orchestrator.Config].Strict does not
// matter. Errors are those of [orchestrator.Orchestrator.Replay], except that a run which the
// strategies do not come to is no error here.
func Diff(ctx context.Context, o *orchestrator.Orchestrator, key checkpoint.Key) (*Difference, error) {
	read, err := o.Journals().Read(key)
	if err != nil {
		return nil, err
	}
	rd := comparing{read}
	rd.Config.Strict = false
	head, err := o.Head(ctx, key)
	if err != nil {
		return nil, err
	}
	var worded, shaped *Difference
	for stored, err := range rd.Records(ctx) {
		if err != nil {
			return nil, err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return nil, err
		}
		if rd.Unfit == nil {
			worded = cmp.Or(worded, rd.worded(rec))
		}
		was := rd.Unfit
		if _, err = rd.Apply(ctx, rec); err != nil {
			return nil, err
		}
		switch u := rd.Unfit; {
		case u == nil:
			shaped = nil
		case was == nil:
			shaped = rd.difference(u)
		}
	}
	if shaped != nil {
		return shaped, nil
	}
	return cmp.Or(rd.otherEnd(machine.Status(head.Header.Status), head.Last), worded), nil
}

// comparing is the reading of a run whose decisions are compared.
type comparing struct{ *journals.Reading }

// worded returns the difference between what a record is about and what is asked for now; nil if
// the digests are the same.
func (rd comparing) worded(rec machine.Record) *Difference {
	was, ok := journals.StepOf(rec)
	if !ok || was.Digest == "" {
		return nil
	}
	if now, known := rd.Machine.Digest(was.Effect); !known || now == was.Digest {
		return nil
	}
	d := rd.newDifference(was)
	d.Worded = true
	if d.Effect = rd.openAs(was.Effect); d.Effect != nil {
		d.Now.StepID = journals.StepIDOf(d.Effect)
	}
	return d
}

func (rd comparing) newDifference(was machine.StepID) *Difference {
	return &Difference{Run: rd.Key.Run, Record: rd.Last + 1, Seq: was.Effect.Seq, Frame: was.Frame, Recorded: Decision{StepID: was}}
}

// openAs returns the effect of that id, if it has no answer.
func (rd comparing) openAs(id machine.EffectID) *machine.Effect {
	for _, now := range rd.Machine.Open() {
		if now.ID == id {
			return &now
		}
	}
	return nil
}

// difference is that of a record which the run, as it is now, does not come to.
func (rd comparing) difference(u *journals.Unfit) *Difference {
	was, _ := journals.StepOf(u.Record)
	d := rd.newDifference(was)
	d.Record = u.Place
	if d.Effect = rd.openAs(was.Effect); d.Effect == nil {
		d.Effect = rd.Open()
	}
	switch replay, ok := errors.AsType[*machine.ReplayError](u.Err); {
	case ok:
		d.Now.StepID = replay.Now
	case rd.Machine.Done():
		d.Now.Ended = rd.Machine.Status()
	default:
		if d.Effect != nil {
			d.Now.StepID = journals.StepIDOf(d.Effect)
		}
		d.Problem = fmt.Sprintf("the record is %q: %v", machine.TypeOf(u.Record), u.Err)
	}
	return d
}

// otherEnd is the difference between how the run has ended and how it ends now; nil if it has not
// ended, or ends alike.
func (rd comparing) otherEnd(was machine.Status, last int) *Difference {
	now := rd.Machine.Status()
	if !checkpoint.Status(was).Ended() || was == now || rd.Last < last {
		return nil
	}
	d := &Difference{Run: rd.Key.Run, Record: last, Recorded: Decision{Ended: was}, Now: Decision{Ended: now}}
	if rd.Machine.Done() {
		return d
	}
	d.Now.Ended = ""
	if d.Effect = rd.Open(); d.Effect != nil {
		d.Now.StepID, d.Seq, d.Frame = journals.StepIDOf(d.Effect), d.Effect.ID.Seq, d.Effect.Frame
	}
	return d
}

// Compared is a run of a store, and where its decisions would be others now.
type Compared struct {
	Head       checkpoint.Head
	Difference *Difference // nil: they would be the same
}

// Diffs compares all runs that a query asks for, as [Diff] does, and yields each. A
// program that counts those with a Difference knows how many would be decided otherwise. The runs
// are listed page by page, of q.Limit each, and read one after the other.
//
// An error that comes with a Head is about that run alone; the next one follows. An error without
// is that of the list, and the last: a [*orchestrator.ConfigError] if the store is no
// [checkpoint.Lister].
func Diffs(ctx context.Context, o *orchestrator.Orchestrator, q checkpoint.Query) iter.Seq2[Compared, error] {
	return func(yield func(Compared, error) bool) {
		for head, err := range o.Journals().Heads(ctx, q) {
			if err != nil {
				yield(Compared{}, err)
				return
			}
			found, err := Diff(ctx, o, head.Key)
			if !yield(Compared{Head: head, Difference: found}, err) {
				return
			}
		}
	}
}
