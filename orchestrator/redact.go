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

// RedactionError says that Config.Redact failed for a record. The record was neither applied nor
// stored, and no event of it was emitted. A run in progress is interrupted, and parked if it has a
// journal. The text of the error quotes neither the record nor Err, which may quote the record.
type RedactionError struct {
	Run    string
	Record string // the type of the record, such as "answered"
	Err    error  // of Config.Redact; a [*machine.PanicError] if it panicked
}

// Error names the run and the type of the record.
func (e *RedactionError) Error() string {
	return fmt.Sprintf("orchestrator: run %.64q: Config.Redact failed for a record of the type %q: nothing of it was kept", e.Run, e.Record)
}

// Unwrap returns the cause.
func (e *RedactionError) Unwrap() error { return e.Err }

// redaction is what a run knows of its records before and after Config.Redact.
type redaction struct {
	last   machine.Record // as Config.Redact returned it
	failed error          // a record could not be redacted: the run ends here
}

// redact returns a record as Config.Redact, which is not nil, returns it.
func (o *Orchestrator) redact(ctx context.Context, run string, rec machine.Record) (redacted machine.Record, err error) {
	kind := machine.TypeOf(rec)
	defer func() {
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			o.panicked(ctx, &machine.PanicReport{Run: run, Where: "Config.Redact", Value: v, Stack: p.Stack})
			redacted, err = nil, &RedactionError{Run: run, Record: kind, Err: p}
		}
	}()
	redacted, err = o.cfg.Redact(rec)
	if err == nil && !onlyContentDiffers(rec, redacted) {
		err = errors.New("orchestrator: it changed more than what somebody wrote")
	}
	if err != nil {
		_, data := readError(err)
		return nil, &RedactionError{Run: run, Record: kind, Err: data}
	}
	return redacted, nil
}

// redact returns a record as the run must apply it. After a record that could not be redacted it
// redacts no other.
func (r *run) redact(rec machine.Record) (machine.Record, error) {
	if r.o.cfg.Redact == nil {
		return rec, nil
	}
	state := r.redaction
	if state.failed == nil {
		state.last, state.failed = r.o.redact(r.ctx, r.id, rec)
	}
	return state.last, state.failed
}

// unkept returns why a record of the run could not be redacted; nil if all were.
func (r *run) unkept() error {
	if r.redaction == nil {
		return nil
	}
	return r.redaction.failed
}

// redactWait returns a redacted wait with its ID. A tool that asks the same question again, after a
// resume, gets the same ID.
func (r *run) redactWait(of machine.EffectID, w machine.Wait) (machine.Wait, error) {
	if r.o.cfg.Redact == nil {
		return w.Identified(of), nil
	}
	rec, err := r.o.redact(r.ctx, r.id, machine.Asked{At: time.Now(), Effect: of, Wait: w.Identified(of)})
	if err != nil {
		return w, err
	}
	return rec.(machine.Asked).Wait.Identified(of), nil
}

// redactPosting returns a redacted message to a run.
func (o *Orchestrator) redactPosting(ctx context.Context, run string, p posting) (posting, error) {
	var rec machine.Record
	switch {
	case o.cfg.Redact == nil:
		return p, nil
	case p.Type == postedReply:
		rec = machine.Replied{At: time.Now(), Reply: *p.Reply}
	case p.Type == postedNote:
		rec = machine.Noted{At: time.Now(), Text: p.Text, Remark: p.Remark}
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

// onlyContentDiffers reports whether two records differ at most in what somebody wrote.
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

// withContentOf returns a record with the content of another record of the same type. It reports
// whether both have the same kind of content.
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
		waits := make([]machine.Wait, len(rec.Waits))
		for i := range waits {
			waits[i] = waitWithContentOf(&rec.Waits[i], &o.Waits[i])
		}
		rec.Waits, rec.State = waits, o.State
		return rec, true
	case machine.Replied:
		o := other.(machine.Replied)
		rec.Reply.Text, rec.Reply.Reason, rec.Reply.Arguments = o.Reply.Text, o.Reply.Reason, o.Reply.Arguments
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

func waitWithContentOf(w, other *machine.Wait) machine.Wait {
	with := *w
	with.ID, with.Text, with.Options, with.Arguments = other.ID, other.Text, other.Options, other.Arguments
	return with
}

// heldBack reports whether events that no record stands behind are held back.
func (o *Orchestrator) heldBack() bool { return o.cfg.Redact != nil && !o.cfg.TellUnredacted }

// heldBackDelta returns an event of an effect for the text of its reply; nil if no delta of the
// reply was held back.
func (r *run) heldBackDelta(e *machine.Effect) *machine.Event {
	if !r.streams || !r.o.heldBack() || isAside(e) {
		return nil
	}
	return new(eventOf(e, r.now))
}

// deliverRedacted emits the text of the reply that was applied last, in the place of the deltas
// that were held back. A nil delta emits nothing.
func (r *run) deliverRedacted(delta *machine.Event) {
	if delta == nil {
		return
	}
	answered, ok := r.redaction.last.(machine.Answered)
	if !ok {
		return
	}
	if a, ok := answered.Answer.(nextstep.APIResponse); ok && a.Response != nil {
		r.deliverParts(delta, &a.Response.Message)
	}
}

// deliverParts emits the text of a reply.
func (r *run) deliverParts(e *machine.Event, m *messages.Assistant) {
	for _, part := range m.Content {
		switch c := part.(type) {
		case messages.Text:
			e.Kind, e.Text = machine.EventTextDelta, c.Text
		case messages.Thought:
			e.Kind, e.Text = machine.EventThoughtDelta, c.Text
		default: // calls are told when they are made
			continue
		}
		r.consumer.deliver(e)
	}
}

// endUnkept interrupts and parks a run after a record that could not be redacted.
func (r *run) endUnkept() {
	err := r.unkept()
	if r.journal != nil {
		if parked := r.park(err.Error()); parked != nil {
			err = errors.Join(err, parked)
		}
	}
	r.endBroken(err)
}
