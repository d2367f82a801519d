package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// RedactionError says that Config.Redact could not redact a record: the record was neither applied
// nor stored, and nothing of it was told. A run in progress is interrupted by it, and parked where
// it has a journal. Its text holds nothing of the record, and nothing of Err, which may quote it.
type RedactionError struct {
	Run    string
	Record string // the type of the record, such as "answered"
	Err    error  // of Config.Redact; a [*PanicError] if it panicked
}

// Error names the run and the type of the record.
func (e *RedactionError) Error() string {
	return fmt.Sprintf("orchestrator: run %.64q: Config.Redact failed for a record of the type %q: nothing of it was kept", e.Run, e.Record)
}

// Unwrap returns the cause.
func (e *RedactionError) Unwrap() error { return e.Err }

// redact returns the record that is to be applied in the place of another.
func (o *Orchestrator) redact(ctx context.Context, run string, rec machine.Record) (redacted machine.Record, err error) {
	if o.cfg.Redact == nil {
		return rec, nil
	}
	kind := machine.TypeOf(rec)
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: v, Stack: debug.Stack()}
			o.panicked(ctx, &PanicReport{Run: run, Where: "Config.Redact", Value: v, Stack: p.Stack})
			redacted, err = nil, &RedactionError{Run: run, Record: kind, Err: p}
		}
	}()
	redacted, err = o.cfg.Redact(rec)
	if err == nil && !onlyContentDiffers(rec, redacted) {
		err = errors.New("orchestrator: it has changed more than what somebody has written")
	}
	if err != nil {
		_, data := readError(err)
		return nil, &RedactionError{Run: run, Record: kind, Err: data}
	}
	return redacted, nil
}

// redact returns the record that is to be applied in the place of another. After one that could not
// be redacted there are no others.
func (r *run) redact(rec machine.Record) (machine.Record, error) {
	if r.unkept != nil {
		return nil, r.unkept
	}
	redacted, err := r.o.redact(r.ctx, r.id, rec)
	if err != nil {
		r.unkept = err
	}
	return redacted, err
}

// redactWait returns a wait as it is to be applied: a tool that asks the same again, after a
// resume, comes to the same.
func (r *run) redactWait(of machine.EffectID, w Wait) (Wait, error) {
	if r.o.cfg.Redact == nil {
		return w.Identified(of), nil
	}
	rec, err := r.o.redact(r.ctx, r.id, machine.Asked{At: time.Now(), Effect: of, Wait: w.Identified(of)})
	if err != nil {
		return w, err
	}
	return rec.(machine.Asked).Wait.Identified(of), nil
}

// redactPosting returns a message to a run as it is to be posted.
func (o *Orchestrator) redactPosting(ctx context.Context, run string, p posting) (posting, error) {
	var rec machine.Record
	switch {
	case o.cfg.Redact == nil:
		return p, nil
	case p.Type == postedReply:
		rec = machine.Replied{At: time.Now(), Reply: *p.Reply}
	case p.Type == postedNote:
		rec = machine.Noted{At: time.Now(), Text: p.Text}
	default:
		rec = machine.Stopped{At: time.Now(), Reason: p.Text, Now: p.Now}
	}
	rec, err := o.redact(ctx, run, rec)
	switch rec := rec.(type) {
	case machine.Replied:
		p.Reply = &rec.Reply
	case machine.Noted:
		p.Text = rec.Text
	case machine.Stopped:
		p.Text = rec.Reason
	}
	return p, err
}

// onlyContentDiffers reports whether two records differ in what somebody has written alone: all
// that says what happened is the same.
func onlyContentDiffers(was, now machine.Record) bool {
	if machine.TypeOf(was) != machine.TypeOf(now) {
		return false
	}
	a, okA := withContentOf(was, was)
	b, okB := withContentOf(now, was)
	if !okA || !okB {
		return false
	}
	before, errBefore := machine.AppendRecord(nil, a)
	after, errAfter := machine.AppendRecord(nil, b)
	if errBefore != nil { // it has no form, and is refused by that
		return errAfter != nil
	}
	return errAfter == nil && bytes.Equal(before, after)
}

// withContentOf returns a record with the content of another of its type. It reports whether both
// have content of one kind.
func withContentOf(rec, other machine.Record) (machine.Record, bool) {
	switch rec := rec.(type) {
	case machine.Started:
		o := other.(machine.Started)
		rec.Input, rec.Tools, rec.StopNote, rec.Metadata, rec.Labels = o.Input, o.Tools, o.StopNote, o.Metadata, o.Labels
		return rec, true
	case machine.Answered:
		o := other.(machine.Answered)
		same := fmt.Sprintf("%T", rec.Answer) == fmt.Sprintf("%T", o.Answer)
		rec.Answer = o.Answer
		return rec, same
	case machine.Asked:
		o := other.(machine.Asked)
		rec.Wait = waitWithContentOf(&rec.Wait, &o.Wait)
		return rec, true
	case machine.Suspended:
		o := other.(machine.Suspended)
		if len(rec.Waits) != len(o.Waits) {
			return rec, false
		}
		waits := make([]Wait, len(rec.Waits))
		for i := range waits {
			waits[i] = waitWithContentOf(&rec.Waits[i], &o.Waits[i])
		}
		rec.Waits, rec.State = waits, o.State
		return rec, true
	case machine.Replied:
		o := other.(machine.Replied)
		rec.Reply.Text, rec.Reply.Reason = o.Reply.Text, o.Reply.Reason
		if rec.Err != nil && o.Err != nil {
			rec.Err = &delegation.Error{Code: rec.Err.Code, Message: o.Err.Message}
		}
		return rec, true
	case machine.Noted:
		rec.Text = other.(machine.Noted).Text
		return rec, true
	case machine.Stopped:
		rec.Reason = other.(machine.Stopped).Reason
		return rec, true
	default:
		return rec, true
	}
}

func waitWithContentOf(w, other *Wait) Wait {
	with := *w
	with.ID, with.Text, with.Options, with.Arguments = other.ID, other.Text, other.Options, other.Arguments
	return with
}

// heldBack reports whether what is told while it happens is kept from the consumer: nobody has
// redacted it.
func (o *Orchestrator) heldBack() bool { return o.cfg.Redact != nil && !o.cfg.TellUnredacted }

// deliverRedacted tells a redacted reply whole, whose pieces were held back.
func (r *run) deliverRedacted(e *machine.Effect, rec machine.Record) {
	answered, ok := rec.(machine.Answered)
	if !ok || !r.streams || !r.o.heldBack() {
		return
	}
	a, ok := answered.Answer.(nextstep.APIResponse)
	if !ok || a.Response == nil {
		return
	}
	event := Event{Run: e.Run, Frame: e.Frame, Depth: e.Depth, Seq: e.ID.Seq, Record: e.Record, Time: r.now}
	r.deliverParts(&event, &a.Response.Message)
}

// deliverParts tells the text of a reply.
func (r *run) deliverParts(e *Event, m *messages.Assistant) {
	for _, part := range m.Content {
		switch c := part.(type) {
		case messages.Text:
			e.Kind, e.Text = EventTextDelta, c.Text
		case messages.Thought:
			e.Kind, e.Text = EventThoughtDelta, c.Text
		default: // calls are told when they are made
			continue
		}
		r.consumer.deliver(e)
	}
}

// endUnkept ends a run of which a record could not be redacted: it goes on once somebody says so.
func (r *run) endUnkept() {
	err := r.unkept
	if r.journal.store != nil {
		if parked := r.park(err.Error()); parked != nil {
			err = errors.Join(err, parked)
		}
	}
	r.endBroken(err)
}
