package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
)

// holder is the workflow that holds the records of a run in a [Store].
type holder struct {
	key    checkpoint.Key
	memory checkpoint.Memory // of this run; its times and leases are not told
	at     standing
	size   int
}

// standing is what the workflow tells of a run, without its records.
type standing struct {
	Head   checkpoint.Head `json:"head"`
	Writer string          `json:"writer,omitempty"` // of the last records
	Inbox  []message       `json:"inbox,omitempty"`
}

// held is the input of the workflow: what it holds at its beginning.
type held struct {
	Version   int       `json:"v"` // storeVersion
	Namespace string    `json:"namespace,omitempty"`
	Run       string    `json:"run"`
	Journal   journal   `json:"journal,omitzero"`
	Standing  *standing `json:"standing,omitempty"` // nil: nothing
}

// lingers is how long the workflow takes changes after the run has ended.
const lingers = time.Minute

// records is the workflow that holds the records of a run, until the run has ended.
func records(ctx workflow.Context, from held) error {
	checkVersion(from.Version)
	h, err := holderOf(from)
	if err != nil {
		return err
	}
	long := func() bool {
		return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx)
	}
	ended := func() bool { return h.at.Head.Header.Status.Ended() }
	err = errors.Join(
		workflow.SetQueryHandler(ctx, standingQuery, func() (standing, error) { return h.at, nil }),
		workflow.SetQueryHandler(ctx, recordsQuery, h.read),
		workflow.SetUpdateHandler(ctx, postUpdate, h.post),
		workflow.SetUpdateHandler(ctx, appendUpdate, h.append),
		workflow.Await(ctx, func() bool { return ended() || long() }),
	)
	switch {
	case err != nil:
		return err
	case ended():
		return workflow.Sleep(ctx, lingers)
	}
	if from.Journal, err = h.read(1); err != nil {
		return err
	}
	from.Standing = &h.at
	return workflow.NewContinueAsNewError(ctx, recordsName, from)
}

// checkVersion has Temporal try again until a worker comes that knows a version.
func checkVersion(version int) {
	if version > storeVersion {
		panic(fmt.Sprintf("temporal: records have version %d, and this worker reads up to %d", version, storeVersion))
	}
}

// holderOf returns the holder of what is held.
func holderOf(from held) (*holder, error) {
	h := &holder{key: checkpoint.Key{Namespace: from.Namespace, Run: from.Run}}
	if from.Standing == nil || from.Standing.Head.Last == 0 {
		return h, nil
	}
	h.at = *from.Standing
	b := checkpoint.Batch{Key: h.key, Header: &h.at.Head.Header, Writer: h.at.Writer, Epoch: h.at.Head.Epoch}
	for _, r := range from.Journal.Records {
		b.Records = append(b.Records, checkpoint.Record(r))
		h.size += len(r.Data)
	}
	for _, m := range h.at.Inbox {
		h.size += len(m.Data)
	}
	return h, h.memory.Append(context.Background(), b)
}

// append is the update that adds a batch.
func (h *holder) append(ctx workflow.Context, form batch) error {
	checkVersion(form.Version)
	b := checkpoint.Batch{Key: h.key, Header: form.Header, Writer: form.Writer, Epoch: form.Epoch, Lease: form.Lease, Progress: form.Progress}
	for _, r := range form.Records {
		b.Records = append(b.Records, checkpoint.Record(r))
	}
	if err := h.hasRoom(form.Bytes); err != nil {
		return err
	}
	if err := h.memory.Append(context.Background(), b); err != nil {
		return refusal(err)
	}
	head, err := h.memory.Head(context.Background(), h.key)
	if err != nil {
		return err
	}
	was, now := h.at.Head, workflow.Now(ctx)
	if len(b.Records) > 0 && head.Last == was.Last { // it was appended before
		return nil
	}
	head.Created, head.Updated, head.Lease = was.Created, now, was.Lease
	if was.Last == 0 {
		head.Created = now
	}
	if head.Epoch > was.Epoch || form.Lease < 0 && was.Lease.Writer == form.Writer {
		head.Lease = checkpoint.Lease{}
	}
	if form.Lease > 0 {
		head.Lease = checkpoint.Lease{Writer: form.Writer, Until: now.Add(form.Lease)}
	}
	if len(b.Records) > 0 {
		h.at.Writer = b.Writer
	}
	h.at.Head, h.size = head, h.size+form.Bytes
	h.at.Inbox = slices.DeleteFunc(h.at.Inbox, func(m message) bool { return slices.Contains(form.Taken, m.ID) })
	return nil
}

// post is the update that adds a message.
func (h *holder) post(ctx workflow.Context, m message) error {
	switch {
	case h.at.Head.Last == 0:
		return refusal(&checkpoint.Error{Kind: checkpoint.ErrNotFound})
	case slices.ContainsFunc(h.at.Inbox, func(had message) bool { return had.ID == m.ID }):
		return nil
	}
	if err := h.hasRoom(len(m.Data)); err != nil {
		return err
	}
	m.At = workflow.Now(ctx)
	h.at.Inbox, h.size = append(h.at.Inbox, m), h.size+len(m.Data)
	return nil
}

// hasRoom returns an error if there is no room for so many bytes.
func (h *holder) hasRoom(bytes int) error {
	if h.size+bytes > MaxRun {
		return refusal(&checkpoint.Error{Kind: errNoRoom})
	}
	return nil
}

// read is the query for the records from a place on.
func (h *holder) read(from int) (all journal, err error) {
	if all.Last = h.at.Head.Last; all.Last == 0 {
		return all, nil
	}
	for r, err := range h.memory.Read(context.Background(), h.key, from) {
		if err != nil {
			return all, err
		}
		all.Records = append(all.Records, record(r))
	}
	return all, nil
}

// refusal returns an error of a store as one that passes through Temporal.
func refusal(err error) error {
	e, ok := errors.AsType[*checkpoint.Error](err)
	for _, r := range refusals {
		if ok && errors.Is(err, r.kind) {
			return sdk.NewNonRetryableApplicationError(e.Error(), r.name, nil, e.Record, e.Problem)
		}
	}
	return err
}
