package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// entry is a record of a journal: what a run was started with, then each answer, and what it waits
// for. It is the whole truth about a run: folded through a [Machine] it gives the run again.
type entry struct {
	Version int       `json:"v"`
	Type    entryType `json:"type"`
	At      time.Time `json:"at"`

	Start *start `json:"start,omitempty"` // entryStart

	// Of the pending step, but for entryStart:
	Seq    int    `json:"seq,omitempty"`
	Frame  string `json:"frame,omitempty"`
	Kind   string `json:"kind,omitempty"`   // entryAnswer
	Digest string `json:"digest,omitempty"` // entryAnswer

	Answer   json.RawMessage           `json:"answer,omitempty"`   // entryAnswer; the form of nextstep.MarshalAnswer
	Waits    []Wait                    `json:"waits,omitempty"`    // entryWait: all that the run waits for
	Results  []messages.ToolOutput     `json:"results,omitempty"`  // entryWait: of the calls that do not wait, new ones
	Calls    []messages.ToolCall       `json:"calls,omitempty"`    // entryWait: as in nextstep.ToolResults
	Spent    nextstep.Spent            `json:"spent,omitzero"`     // entryWait: by runs whose results stand here
	Held     map[string]nextstep.Spent `json:"held,omitempty"`     // entryWait: by runs that wait, by call
	Answered []Wait                    `json:"answered,omitempty"` // entryWait: those that were answered in this process, by Replies
	Replies  []Reply                   `json:"replies,omitempty"`  // entryWait: given in this process; entryReply
}

type entryType string

const (
	entryStart  entryType = "start"
	entryAnswer entryType = "answer"
	entryWait   entryType = "wait"  // the run was suspended
	entryReply  entryType = "reply" // and goes on
)

// start is what a run was started with.
type start struct {
	Strategy string            `json:"strategy"`
	Input    delegation.Input  `json:"input"`
	Limits   delegation.Limits `json:"limits"`
	Parent   string            `json:"parent,omitempty"` // the run of which a tool made this one

	Untrusted bool `json:"untrusted,omitempty"` // which had read text from outside
}

const journalVersion = 1

// JournalError says what is wrong with the journal of a run, or that it could not be written. What
// could not be written did not happen: the run can be resumed from what stands there.
type JournalError struct {
	Run    string
	Record int // its place in the journal; 0 if it is not about one
	Err    error
}

// Error names the run and the record.
func (e *JournalError) Error() string {
	if e.Record == 0 {
		return fmt.Sprintf("orchestrator: the journal of run %.64q: %v", e.Run, e.Err)
	}
	return fmt.Sprintf("orchestrator: the journal of run %.64q, record %d: %v", e.Run, e.Record, e.Err)
}

// Unwrap returns the cause, such as checkpoint.ErrConflict.
func (e *JournalError) Unwrap() error { return e.Err }

// journal writes the journal of one run.
type journal struct {
	store checkpoint.Store
	run   string
	last  int // the place of the last record
}

// patienceOfStore bounds how long a store may take for a record once the context of the run has
// ended.
const patienceOfStore = 10 * time.Second

// append writes an entry. The end of ctx does not keep it from being written, nor cut off what the
// store has begun.
func (j *journal) append(ctx context.Context, e *entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			err = &JournalError{Run: j.run, Record: j.last + 1, Err: err}
		}
	}()
	e.Version = journalVersion
	data, err := nextstep.Encode(e)
	if err != nil {
		return err
	}
	ctx, done := patient(ctx, patienceOfStore)
	defer done()
	if err := j.store.Append(ctx, j.run, checkpoint.Record{Seq: j.last + 1, Data: data}); err != nil {
		_, sound := foreign(err)
		return sound
	}
	j.last++
	return nil
}

// patient returns a context for what is finished although ctx ends: its own end comes so long after
// that of ctx, or after now, if ctx is done already.
func patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Done() == nil {
		return ctx, func() {}
	}
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(patience, func() { cancel(context.DeadlineExceeded) })
		context.AfterFunc(lasting, func() { timer.Stop() })
	})
	return lasting, func() {
		stop()
		cancel(nil)
	}
}

// append writes an entry to the journal of the run, if there is one. What is wrong with the store
// is told.
func (r *run) append(ctx context.Context, e *entry) error {
	if r.journal == nil {
		return nil
	}
	err := r.journal.append(ctx, e)
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		r.panicked("the store in Append", p.Value, p.Stack)
	}
	r.logStoreFault(ctx, "a record could not be stored", err)
	return err
}

// answered writes the answer to the pending step, whose JSON form is text.
func (r *run) answered(ctx context.Context, text []byte) error {
	m := r.m
	frame, _ := m.Frame()
	return r.append(ctx, &entry{
		Type: entryAnswer, At: r.now, Seq: m.Seq(), Frame: frame, Kind: m.pending.Kind().String(), Digest: m.stepSum, Answer: text,
	})
}

// unraw leaves out the body that a client was asked to keep: it says nothing that the rest does
// not.
func unraw(a nextstep.Answer) nextstep.Answer {
	r, ok := a.(nextstep.APIResponse)
	if !ok || r.Response.Raw == nil {
		return a
	}
	resp := *r.Response
	resp.Raw = nil
	r.Response = &resp
	return r
}

// readEntry reads a record.
func readEntry(data []byte) (e entry, err error) {
	if err := json.Unmarshal(data, &e); err != nil {
		return e, err
	}
	if e.Version != journalVersion {
		return e, fmt.Errorf("it has version %d, and this library reads version %d", e.Version, journalVersion)
	}
	switch e.Type {
	case entryStart:
		if e.Start == nil {
			return e, errors.New("it starts nothing")
		}
	case entryAnswer, entryWait, entryReply:
	default:
		return e, fmt.Errorf("it has the unknown type %.64q", e.Type)
	}
	return e, nil
}
