package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// errBreak is the cause when the consumer broke out of the loop.
var errBreak = errors.New("the consumer of the events went away")

// errStop is the cause when Stop was closed.
var errStop = errors.New("stop was asked for")

// stopped reports whether the run must be stopped and the Machine does not know it yet.
func (r *run) stopped() bool {
	if r.ending < stopsNow && r.ctx.Err() != nil {
		return !r.leaving()
	}
	if r.journal != nil && r.journal.inbox.stops.Load() && r.ending == goesOn {
		return true
	}
	if r.stop == nil {
		return false
	}
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// leaving reports whether this process leaves the run as it is: it has not ended.
func (r *run) leaving() bool {
	if r.consumer.gone {
		return true
	}
	if r.ctx.Err() == nil {
		return false
	}
	cause := causeOfContext(r.ctx)
	return errors.Is(cause, ErrInterrupted) || errors.Is(cause, ErrTakenOver)
}

// applyStop applies a Stopped, after the messages that were posted before the stop.
func (r *run) applyStop() {
	r.applyPosted()
	rec := machine.Stopped{At: r.now}
	var cause error
	j := r.journal
	switch {
	case r.ctx.Err() != nil:
		cause, rec.Now, r.ending = causeOfEnd(r.ctx), true, stopsNow
	case j != nil && j.inbox.stop != nil:
		cause, r.ending = j.inbox.stop, stopsAfter
	default:
		cause, r.ending = errStop, stopsAfter
	}
	r.stop = nil
	rec.Reason = cause.Error()
	r.causes.note(delegation.CodeStopped, rec.Reason, cause)
	if j != nil {
		j.taken, j.inbox.stopIDs = append(j.taken, j.inbox.stopIDs...), nil
	}
	_ = r.apply(rec) // the run may have ended
}

// causeOfEnd returns the cause of a context that is done, wrapping its error for errors.Is.
func causeOfEnd(ctx context.Context) error {
	cause := causeOfContext(ctx)
	if _, complete := errors.AsType[*endError](cause); complete || errors.Is(cause, ctx.Err()) {
		return cause
	}
	return &endError{cause: cause, err: ctx.Err()}
}

type endError struct{ cause, err error }

func (e *endError) Error() string { return e.cause.Error() }

func (e *endError) Unwrap() []error { return []error{e.cause, e.err} }

// ErrInterrupted interrupts a run instead of stopping it: cancel the context of the run with this
// cause (see [context.WithCancelCause]), for example when the process is told to shut down. Effects
// in progress are cut off, results that have arrived are stored, and the run continues when it is
// resumed, in this process or in another. Its status here is [machine.StatusInterrupted]. Without a
// Store the run cannot be resumed.
var ErrInterrupted = errors.New("orchestrator: the run was interrupted: it goes on when it is resumed")

// endLeft yields the last event of a run that continues later, or in another process.
func (r *run) endLeft() {
	cause := causeOfContext(r.ctx)
	out, status, code := r.m.Output(), machine.StatusInterrupted, delegation.CodeInterrupted
	if errors.Is(cause, ErrTakenOver) {
		status, code = machine.StatusTakenOver, delegation.CodeTakenOver
	}
	out.Err = &delegation.Error{Code: code, Message: cause.Error()}
	e := r.finished(status, out)
	r.consumer.last(&e, &outcomeError{err: out.Err, cause: causeOfEnd(r.ctx)})
}

// breakOff ends the work on a run that this process leaves. The run has not ended: it can be
// resumed, and results that arrive now are stored. It also stores which calls with an intent were
// not begun; otherwise a person would be asked about them.
func (r *run) breakOff(left []machine.Effect) {
	for _, e := range slices.Clone(left) {
		if !e.Safe() && r.executions[e.ID] == nil {
			_ = r.apply(machine.Answered{At: r.now, Effect: e.ID, NotBegun: true})
		}
	}
	cause := context.Cause(r.ctx)
	if cause == nil {
		cause = errBreak
	}
	r.drain(cause, true)
	_ = r.store() // there is no consumer for the error; effects that are not stored are performed again
	r.o.log(r.ctx, slog.LevelInfo, "run broke off", slog.String("run", r.id), slog.Int("seq", r.m.Seq()))
}

// drain cancels all effects in progress, and waits until each has returned or was abandoned.
func (r *run) drain(cause error, keep bool) {
	if len(r.executions) > 0 {
		r.cancel(cause)
	}
	r.ending, r.stop, r.notes, r.discards = stopsNow, nil, nil, !keep
	for len(r.executions) > 0 {
		mails := r.box.collect()
		for i := range mails {
			r.receive(&mails[i])
		}
		r.overdue()
		if len(r.executions) > 0 && len(mails) == 0 {
			r.await()
		}
	}
}

// isCut reports whether an answer shows that its effect was cut off.
func isCut(a nextstep.Answer) bool {
	switch a := a.(type) {
	case nextstep.ToolResult:
		return a.Output.Reason == messages.ReasonInterrupted
	case nextstep.Failure:
		return true
	default:
		return false
	}
}

// causes keeps the original errors of failures, so that the error of Run can wrap them.
type causes []cause

type cause struct {
	code delegation.Code
	text string
	err  error
}

// note stores an error. It keeps only the last few, because a late one ends the run.
func (c *causes) note(code delegation.Code, text string, err error) {
	const most = 16
	if len(*c) == most {
		*c = append((*c)[:0], (*c)[1:]...)
	}
	*c = append(*c, cause{code, text, err})
}

// find returns the original error for an error that is data; nil if this process has none.
func (c causes) find(err *delegation.Error) error {
	for _, known := range slices.Backward(c) {
		if known.code == err.Code && strings.Contains(err.Message, known.text) {
			return known.err
		}
	}
	return nil
}

// outcome returns the error of a run: the error of its output, with the original error if this
// process has one.
func (c causes) outcome(err *delegation.Error) error {
	if err == nil {
		return nil
	}
	if cause := c.find(err); cause != nil {
		return &outcomeError{err: err, cause: cause}
	}
	return err
}

// outcomeError is the error of a run with its original error.
type outcomeError struct {
	err   *delegation.Error
	cause error
}

func (e *outcomeError) Error() string   { return e.err.Error() }
func (e *outcomeError) Unwrap() []error { return []error{e.err, e.cause} }

// notesAtOnce is how many notes of a channel are read before the run goes on.
const notesAtOnce = machine.MaxNotes

// noteProblem returns why a text cannot be a note; "" if it can.
func noteProblem(text string) string {
	if strings.TrimSpace(text) == "" {
		return "the note is empty"
	}
	return tooLong("note", text)
}

// tooLong returns that a text of a message is too long; "" if it is not.
func tooLong(what, text string) string {
	size := len(string([]rune(text))) // as it is stored: each byte that is not UTF-8 takes three
	if size <= machine.MaxNote {
		return ""
	}
	return fmt.Sprintf("the %s has %d bytes, and %d are allowed", what, size, machine.MaxNote)
}

// noteRead keeps a note of the channel for applyNotes. A channel that was closed is not read again.
func (r *run) noteRead(text string, ok bool) {
	if !ok {
		r.notes = nil
		return
	}
	r.unapplied = append(r.unapplied, text)
}

// applyNotes applies the notes that came on the channel of the task.
func (r *run) applyNotes() {
	for range notesAtOnce {
		if r.notes == nil {
			break
		}
		select {
		case text, ok := <-r.notes:
			r.noteRead(text, ok)
			continue
		default:
		}
		break
	}
	if r.unapplied == nil || r.m.Done() {
		return
	}
	notes := r.unapplied
	r.unapplied, r.now = nil, time.Now()
	for _, text := range notes {
		err := r.note(text, false)
		if err != nil && r.unkept() == nil {
			r.o.log(r.ctx, slog.LevelWarn, "note refused", slog.String("run", r.id), slog.String("problem", err.Error()))
		}
	}
}

// note applies a note, or a remark.
func (r *run) note(text string, remark bool) error {
	if problem := noteProblem(text); problem != "" {
		return &machine.ReplyError{Run: r.id, Problem: problem}
	}
	return r.apply(machine.Noted{At: r.now, Text: text, Remark: remark})
}

// Note adds a text to a run, from any process: to its journal and, as an [machine.EventNoted], to
// its events. Strategies that are a [strategy.Listener], as nearly all built-in ones are, hear it
// right before the answer to the step in progress, and give it to their models as a message of the
// user; others go on as if there were none. An [machine.EventNoteHeard] tells that a frame has
// heard it, an [machine.EventNoteUnheard] before the last event that none has.
//
// The process that works on the run takes the note within [Config].InboxEvery. If no process does,
// the note stays in the inbox until the run is resumed. The errors are those of
// [Orchestrator.Answer]; an empty text, and one of more than [machine.MaxNote] bytes, is a
// [*machine.ReplyError].
func (o *Orchestrator) Note(ctx context.Context, key checkpoint.Key, text string) error {
	return o.postNote(ctx, key, posting{Type: postedNote, Text: text})
}

// Remark adds a text to a run as [Orchestrator.Note] does, for people who read the run: it is in
// the journal and the events, and no strategy hears it.
func (o *Orchestrator) Remark(ctx context.Context, key checkpoint.Key, text string) error {
	return o.postNote(ctx, key, posting{Type: postedNote, Text: text, Remark: true})
}

func (o *Orchestrator) postNote(ctx context.Context, key checkpoint.Key, p posting) error {
	if problem := noteProblem(p.Text); problem != "" {
		return &machine.ReplyError{Run: key.Run, Problem: problem}
	}
	head, err := o.head(ctx, key)
	if err != nil {
		return err
	}
	if head.Header.Status.Ended() {
		return &machine.ReplyError{Run: key.Run, Problem: "the run has ended"}
	}
	return o.post(ctx, key, p)
}
