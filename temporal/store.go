package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/segue-go/segue/checkpoint"
)

// Store is a [checkpoint.Store] in Temporal itself, for small runs where there is no database. Each
// run has a second workflow, which holds its records with all their payloads: they are in its
// history. What is too large for [MaxBatch] or [MaxRun] is refused by [checkpoint.ErrTooLarge], and
// the workflow of the run fails with this error.
//
// Its calls need a worker where an [Engine] is registered, [Engine.Start] too; they wait 30 seconds
// for one. It has a [checkpoint.Inbox] and a [checkpoint.Leaser], and no other ability: it does not
// list runs, so there is no [Engine.Forward], and it forgets them when Temporal does. A run can
// only be read a minute after it has ended, and at once if somebody ends its workflow. A Store is
// safe for concurrent use, by any number of processes. It must not be copied once it is used.
type Store struct {
	Client client.Client
	Queue  string // the task queue of the workers

	begun sync.Once
	turns [64]chan struct{} // each is of some runs
}

// How many bytes a [Store] takes: in one batch of records, or message, and in all records of a run
// with the messages in its inbox. Each record and message counts some bytes besides its data.
// Temporal ends a workflow to which much more comes at once.
const (
	MaxBatch = 128 << 10
	MaxRun   = 1 << 20
)

// errNoRoom is what a Store says of a run that is too large for it.
var errNoRoom = fmt.Errorf("%w: in Temporal itself a run has at most %d bytes, and a batch %d; larger ones need a database, such as pgstore",
	checkpoint.ErrTooLarge, MaxRun, MaxBatch)

// errEnded is what a Store says of a run whose records can only be read.
var errEnded = fmt.Errorf("%w: the workflow of the records has ended", checkpoint.ErrReadOnly)

// The names of what a worker registers for a Store.
const (
	recordsName   = "segue.records"
	appendUpdate  = "append"
	postUpdate    = "post"
	leaseUpdate   = "lease"
	recordsQuery  = "records"
	standingQuery = "standing"
)

// patience is how long a call waits for a worker.
const patience = 30 * time.Second

// refusals are the errors of the workflow that holds records, by their types. The first that fits
// counts.
var refusals = []struct {
	name string
	kind error
}{
	{noRoom, errNoRoom},
	{"fenced", checkpoint.ErrFenced},
	{"conflict", checkpoint.ErrConflict},
	{"leased", checkpoint.ErrLeased},
	{"not found", checkpoint.ErrNotFound},
}

// Append implements [checkpoint.Store].
func (s *Store) Append(ctx context.Context, b checkpoint.Batch) error {
	form := batchOf(&b)
	n := len(form.Records)
	begins := n > 0 && form.Records[0].Seq == 1
	err := s.change(ctx, b.Key, begins, appendUpdate, form, form.size(), nil)
	switch {
	case n > 0 && errors.Is(err, errEnded):
		at, problem := s.standing(ctx, b.Key)
		if problem == nil && b.Writer != "" && at.Writer == b.Writer && at.Head.Last == form.Records[n-1].Seq {
			return nil // it was appended before
		}
	case n > 0 && errors.Is(err, checkpoint.ErrNotFound):
		return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: b.Key, Record: form.Records[0].Seq, Problem: "the next record is 1"}
	}
	return err
}

// Read implements [checkpoint.Store]. It reads all records at once.
func (s *Store) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		var all journal
		err := s.query(ctx, key, &all, recordsQuery, from)
		if err == nil && all.Last == 0 {
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
	at, err := s.standing(ctx, key)
	return at.Head, err
}

// Lease implements [checkpoint.Leaser].
func (s *Store) Lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (head checkpoint.Head, err error) {
	err = s.change(ctx, key, false, leaseUpdate, lease{Version: storeVersion, Writer: writer, Time: d}, 0, &head)
	if head.Key = key; err != nil {
		head = checkpoint.Head{}
	}
	return head, err
}

// Post implements [checkpoint.Inbox].
func (s *Store) Post(ctx context.Context, m checkpoint.Message) error {
	form := message{Version: storeVersion, ID: m.ID, Data: m.Data}
	return s.change(ctx, m.Key, false, postUpdate, form, form.size(), nil)
}

// Posted implements [checkpoint.Inbox].
func (s *Store) Posted(ctx context.Context, keys ...checkpoint.Key) (posted []checkpoint.Message, problems error) {
	for _, key := range keys {
		at, err := s.standing(ctx, key)
		if !errors.Is(err, checkpoint.ErrNotFound) {
			problems = errors.Join(problems, err)
		}
		for _, m := range at.Inbox {
			posted = append(posted, checkpoint.Message{ID: m.ID, Key: key, Data: m.Data, At: m.At})
		}
	}
	return posted, problems
}

// change makes an update of the workflow that holds the records of a run, whose argument has some
// bytes. It starts the workflow if the run begins.
func (s *Store) change(ctx context.Context, key checkpoint.Key, begins bool, name string, argument any, bytes int, result any) error {
	err := done(ctx, key)
	if err == nil {
		err = key.Check()
	}
	switch {
	case err != nil:
		return err
	case bytes > MaxBatch:
		return &checkpoint.Error{Kind: errNoRoom, Key: key}
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := recordsID(key)
	end, err := s.turn(soon, id)
	defer end()
	var update client.WorkflowUpdateHandle
	if err == nil {
		update, err = s.begin(soon, id, begins, name, argument)
	}
	if err == nil {
		err = update.Get(soon, result)
	}
	if err = s.failed(ctx, soon, key, err); errors.Is(err, checkpoint.ErrNotFound) {
		if _, err = s.standing(ctx, key); err == nil {
			err = &checkpoint.Error{Kind: errEnded, Key: key}
		}
	}
	return err
}

// turn waits until no other change of a workflow by this Store is in progress: Temporal is slow if
// there are more than a few.
func (s *Store) turn(ctx context.Context, id string) (end func(), err error) {
	s.begun.Do(func() {
		for i := range s.turns {
			s.turns[i] = make(chan struct{}, 1)
		}
	})
	turn := s.turns[crc32.ChecksumIEEE([]byte(id))%uint32(len(s.turns))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// begin begins an update.
func (s *Store) begin(ctx context.Context, id string, begins bool, name string, argument any) (client.WorkflowUpdateHandle, error) {
	o := client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted}
	if !begins {
		return s.Client.UpdateWorkflow(ctx, o)
	}
	start := s.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: s.Queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, recordsName, held{Version: storeVersion})
	return s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start, UpdateOptions: o})
}

// standing asks how a run stands.
func (s *Store) standing(ctx context.Context, key checkpoint.Key) (at standing, err error) {
	if err := s.query(ctx, key, &at, standingQuery); err != nil {
		return at, err
	}
	if at.Head.Last == 0 { // its first Append was cut off or refused
		return at, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
	}
	at.Head.Key = key
	return at, nil
}

// query asks the workflow that holds the records of a run.
func (s *Store) query(ctx context.Context, key checkpoint.Key, into any, name string, arguments ...any) error {
	if err := done(ctx, key); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	value, err := s.Client.QueryWorkflow(soon, recordsID(key), "", name, arguments...)
	if err == nil {
		err = value.Get(into)
	}
	return s.failed(ctx, soon, key, err)
}

// failed returns an error of Temporal as one of a store. soon is ctx, with the end of the patience.
func (s *Store) failed(ctx, soon context.Context, key checkpoint.Key, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*sdk.ApplicationError](err); ok {
		for _, r := range refusals {
			if r.name == refused.Type() {
				e := &checkpoint.Error{Kind: r.kind, Key: key}
				_ = refused.Details(&e.Record, &e.Problem, &e.Until) // without them it says less
				return e
			}
		}
	}
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, ended := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	if gone || ended {
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
	}
	e := &checkpoint.Error{Store: "temporal", Place: "queue " + s.Queue, Key: key, Err: err}
	switch {
	case ctx.Err() != nil:
		e.Err = fmt.Errorf("%w: %w", ctx.Err(), err)
	case soon.Err() != nil:
		e.Problem = "does a worker poll the queue?"
	}
	return e
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
		return fmt.Sprintf("//digest/%x", sha256.Sum256([]byte(id)))
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
		Version int       `json:"v"` // storeVersion
		ID      string    `json:"id"`
		Data    []byte    `json:"data"`
		At      time.Time `json:"at,omitzero"`
	}
	lease struct {
		Version int           `json:"v"` // storeVersion
		Writer  string        `json:"writer"`
		Time    time.Duration `json:"time,omitempty"`
	}
	batch struct {
		Version  int                `json:"v"` // storeVersion
		Records  []record           `json:"records,omitempty"`
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
	}
	return form
}

// besides is how many bytes a record or a message has besides its data, about.
const besides = 128

func (r *record) size() int  { return len(r.Data) + besides }
func (m *message) size() int { return len(m.Data) + besides }

// size returns how many bytes are sent, about.
func (b *batch) size() int {
	header, _ := json.Marshal(b.Header) // what cannot be written is refused as it is sent
	n := len(header)
	for i := range b.Records {
		n += b.Records[i].size()
	}
	return n
}
