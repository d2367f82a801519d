package temporal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/segue-go/segue/checkpoint"
)

// Store is a [checkpoint.Store] in Temporal itself, for small runs where there is no database. Each
// run has a second workflow, which holds its records with all their payloads: they are in its
// history. Records beyond [MaxRun] are refused by [checkpoint.ErrTooLarge], and the workflow of the
// run fails with this error.
//
// Its calls need a worker where an [Engine] is registered, [Engine.Start] too. It has a
// [checkpoint.Inbox] and no other ability: it does not list runs, so there is no [Engine.Forward],
// and it forgets them when Temporal does. A minute after a run has ended it can only be read. A
// Store is safe for concurrent use, by any number of processes.
type Store struct {
	Client client.Client
	Queue  string // the task queue of the workers
}

// MaxRun is how many bytes the records of a run in a [Store] may have, with the messages in its
// inbox.
const MaxRun = 1 << 20

// errNoRoom is what a Store says of a run that is too large for it.
var errNoRoom = fmt.Errorf("%w: in Temporal itself a run has at most %d bytes, and larger ones need a database, such as pgstore",
	checkpoint.ErrTooLarge, MaxRun)

// The names of what a worker registers for a Store.
const (
	recordsName   = "segue.records"
	appendUpdate  = "append"
	postUpdate    = "post"
	recordsQuery  = "records"
	standingQuery = "standing"
)

// refusals are the errors of the workflow that holds records, by their types. The first that fits
// counts.
var refusals = []struct {
	name string
	kind error
}{
	{noRoom, errNoRoom},
	{"fenced", checkpoint.ErrFenced},
	{"conflict", checkpoint.ErrConflict},
	{"not found", checkpoint.ErrNotFound},
}

// Append implements [checkpoint.Store].
func (s *Store) Append(ctx context.Context, b checkpoint.Batch) error {
	err := ready(ctx, b.Key)
	if err == nil {
		err = s.update(ctx, b.Key, len(b.Records) > 0 && b.Records[0].Seq == 1, appendUpdate, batchOf(&b))
	}
	if !errors.Is(err, checkpoint.ErrNotFound) || len(b.Records) == 0 {
		return err
	}
	// It has no workflow, or one that has ended.
	var at standing
	if err := s.query(ctx, b.Key, &at, standingQuery); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	last := b.Records[len(b.Records)-1].Seq
	switch {
	case b.Writer != "" && at.Writer == b.Writer && at.Head.Last == last:
		return nil
	case at.Head.Last > 0 && !at.Head.Header.Status.Ended():
		return &checkpoint.Error{Kind: checkpoint.ErrReadOnly, Key: b.Key, Problem: "its workflow was ended"}
	default:
		return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: b.Key, Record: last}
	}
}

// Read implements [checkpoint.Store]. It reads all records at once.
func (s *Store) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		var all journal
		err := done(ctx, key)
		if err == nil {
			err = s.query(ctx, key, &all, recordsQuery, from)
		}
		if err == nil && all.Last == 0 { // its first Append was cut off or refused
			err = &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		}
		for _, r := range all.Records {
			if err = done(ctx, key); err != nil || !yield(checkpoint.Record(r), nil) {
				break
			}
		}
		if err != nil {
			yield(checkpoint.Record{}, err)
		}
	}
}

// Head implements [checkpoint.Store].
func (s *Store) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	var at standing
	err := done(ctx, key)
	if err == nil {
		err = s.query(ctx, key, &at, standingQuery)
	}
	if err == nil && at.Head.Last == 0 {
		err = &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
	}
	if err != nil {
		return checkpoint.Head{}, err
	}
	return at.Head, nil
}

// Post implements [checkpoint.Inbox].
func (s *Store) Post(ctx context.Context, m checkpoint.Message) error {
	err := ready(ctx, m.Key)
	if err == nil && len(m.Data) > MaxRun {
		err = &checkpoint.Error{Kind: errNoRoom, Key: m.Key}
	}
	if err != nil {
		return err
	}
	return s.update(ctx, m.Key, false, postUpdate, message{ID: m.ID, Data: m.Data})
}

// Posted implements [checkpoint.Inbox].
func (s *Store) Posted(ctx context.Context, keys ...checkpoint.Key) (posted []checkpoint.Message, problems error) {
	for _, key := range keys {
		var at standing
		err := done(ctx, key)
		if err == nil {
			err = s.query(ctx, key, &at, standingQuery)
		}
		if !errors.Is(err, checkpoint.ErrNotFound) {
			problems = errors.Join(problems, err)
		}
		for _, m := range at.Inbox {
			posted = append(posted, checkpoint.Message{ID: m.ID, Key: key, Data: m.Data, At: m.At})
		}
	}
	return posted, problems
}

// update makes a change of the workflow that holds the records of a run, and starts it if it may
// not be there yet.
func (s *Store) update(ctx context.Context, key checkpoint.Key, begins bool, name string, argument any) error {
	o := client.UpdateWorkflowOptions{
		WorkflowID: recordsID(key), UpdateName: name, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	var update client.WorkflowUpdateHandle
	var err error
	if begins {
		start := s.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: o.WorkflowID, TaskQueue: s.Queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, recordsName, held{Version: storeVersion, Namespace: key.Namespace, Run: key.Run})
		update, err = s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start, UpdateOptions: o})
	} else {
		update, err = s.Client.UpdateWorkflow(ctx, o)
	}
	if err == nil {
		err = update.Get(ctx, nil)
	}
	return s.failed(ctx, key, err)
}

// query asks the workflow that holds the records of a run.
func (s *Store) query(ctx context.Context, key checkpoint.Key, into any, name string, arguments ...any) error {
	value, err := s.Client.QueryWorkflow(ctx, recordsID(key), "", name, arguments...)
	if err == nil {
		err = value.Get(into)
	}
	return s.failed(ctx, key, err)
}

// failed returns an error of Temporal as one of a store.
func (s *Store) failed(ctx context.Context, key checkpoint.Key, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*sdk.ApplicationError](err); ok {
		for _, r := range refusals {
			if r.name == refused.Type() {
				e := &checkpoint.Error{Kind: r.kind, Key: key}
				_ = refused.Details(&e.Record, &e.Problem) // without them it says less
				return e
			}
		}
	}
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, ended := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	if gone || ended {
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return &checkpoint.Error{Store: "temporal", Place: s.Queue, Key: key, Err: err}
}

// ready returns why a call that writes does nothing.
func ready(ctx context.Context, key checkpoint.Key) error {
	if err := done(ctx, key); err != nil {
		return err
	}
	return key.Check()
}

// done returns an error once a context is done.
func done(ctx context.Context, key checkpoint.Key) error {
	if err := ctx.Err(); err != nil {
		return &checkpoint.Error{Store: "temporal", Key: key, Err: err}
	}
	return nil
}

// recordsID returns the id of the workflow that holds the records of a run: no run has it.
func recordsID(key checkpoint.Key) string {
	id := workflowID(key)
	if len(id) > 900 {
		id = fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	}
	return "//records/" + id
}

// storeVersion is the version of the forms of what is stored.
const storeVersion = 1

// The forms of what is stored, in JSON.
type (
	record struct {
		Seq  int    `json:"seq"`
		Type string `json:"type"`
		Data []byte `json:"data"`
	}
	journal struct {
		Records []record `json:"records,omitempty"`
		Last    int      `json:"last,omitempty"` // the place of the last record of the run
	}
	message struct {
		ID   string    `json:"id"`
		Data []byte    `json:"data"`
		At   time.Time `json:"at,omitzero"`
	}
	batch struct {
		Version  int                `json:"v"` // storeVersion
		Records  []record           `json:"records,omitempty"`
		Bytes    int                `json:"bytes,omitempty"` // of the data of the records, which are left out if they are too many
		Header   *checkpoint.Header `json:"header,omitempty"`
		Writer   string             `json:"writer,omitempty"`
		Epoch    int64              `json:"epoch,omitempty"`
		Lease    time.Duration      `json:"lease,omitempty"`
		Taken    []string           `json:"taken,omitempty"`
		Progress bool               `json:"progress,omitempty"`
	}
)

func batchOf(b *checkpoint.Batch) batch {
	form := batch{Version: storeVersion, Header: b.Header, Writer: b.Writer, Epoch: b.Epoch, Lease: b.Lease, Taken: b.Taken, Progress: b.Progress}
	for _, r := range b.Records {
		form.Records = append(form.Records, record(r))
		form.Bytes += len(r.Data)
	}
	if form.Bytes > MaxRun {
		form.Records = nil
	}
	return form
}
