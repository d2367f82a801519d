package temporal

import (
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
	at      standing
	records []record
	size    int // of the records and the inbox
}

// standing is what the workflow tells of a run, without its records.
type standing struct {
	Head   checkpoint.Head `json:"head"`
	Writer string          `json:"writer,omitempty"` // of the last records
	Inbox  []message       `json:"inbox,omitempty"`
}

// held is the input of the workflow: what it holds at its beginning.
type held struct {
	Version  int      `json:"v"` // storeVersion
	Records  []record `json:"records,omitempty"`
	Standing standing `json:"standing,omitzero"`
}

// lingers is how long the workflow takes changes after the run has ended.
const lingers = time.Minute

// records is the workflow that holds the records of a run, until the run has ended.
func records(ctx workflow.Context, from held) error {
	checkVersion(from.Version)
	h := holderOf(&from)
	long := func() bool {
		return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx)
	}
	ended := func() bool { return h.at.Head.Header.Status.Ended() }
	err := errors.Join(
		workflow.SetQueryHandler(ctx, standingQuery, func() (standing, error) { return h.at, nil }),
		workflow.SetQueryHandler(ctx, recordsQuery, h.read),
		workflow.SetUpdateHandler(ctx, postUpdate, h.post),
		workflow.SetUpdateHandler(ctx, leaseUpdate, h.lease),
		workflow.SetUpdateHandler(ctx, appendUpdate, h.append),
		workflow.Await(ctx, func() bool { return ended() || long() }),
	)
	switch {
	case err != nil:
		return err
	case ended():
		return workflow.Sleep(ctx, lingers)
	}
	return workflow.NewContinueAsNewError(ctx, recordsName, held{storeVersion, h.records, h.at})
}

// checkVersion has Temporal try again until a worker comes that knows a version.
func checkVersion(version int) {
	if version > storeVersion {
		panic(fmt.Sprintf("temporal: records have version %d, and this worker reads up to %d", version, storeVersion))
	}
}

// holderOf returns the holder of what is held.
func holderOf(from *held) *holder {
	h := &holder{at: from.Standing, records: from.Records}
	for i := range h.records {
		h.size += h.records[i].size()
	}
	for i := range h.at.Inbox {
		h.size += h.at.Inbox[i].size()
	}
	return h
}

// append is the update that adds a batch. It decides as checkpoint.Memory does.
func (h *holder) append(ctx workflow.Context, b batch) error {
	checkVersion(b.Version)
	head, now, n := &h.at.Head, workflow.Now(ctx), len(b.Records)
	switch {
	case head.Last == 0 && n == 0:
		return refusal(&checkpoint.Error{Kind: checkpoint.ErrNotFound})
	case n > 0 && b.Writer != "" && b.Writer == h.at.Writer && b.Records[n-1].Seq == head.Last:
		return nil // it was appended before
	case b.Epoch < head.Epoch:
		return refusal(&checkpoint.Error{Kind: checkpoint.ErrFenced, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", head.Epoch, b.Epoch)})
	}
	size := h.size
	for i := range b.Records {
		if want := head.Last + i + 1; b.Records[i].Seq != want {
			return refusal(&checkpoint.Error{Kind: checkpoint.ErrConflict, Record: b.Records[i].Seq, Problem: fmt.Sprintf("the next record is %d", want)})
		}
		size += b.Records[i].size()
	}
	var left []message
	for _, m := range h.at.Inbox {
		if slices.Contains(b.Taken, m.ID) {
			size -= m.size()
		} else {
			left = append(left, m)
		}
	}
	if n > 0 && size > MaxRun {
		return refusal(&checkpoint.Error{Kind: errNoRoom})
	}
	if head.Last == 0 {
		head.Created = now
	}
	h.records, h.size, h.at.Inbox = append(h.records, b.Records...), size, left
	h.stand(&b, now)
	return nil
}

// stand changes the head by a batch.
func (h *holder) stand(b *batch, now time.Time) {
	head := &h.at.Head
	if b.Epoch > head.Epoch || b.Lease < 0 && head.Lease.Writer == b.Writer {
		head.Lease = checkpoint.Lease{}
	}
	if b.Lease > 0 {
		head.Lease = checkpoint.Lease{Writer: b.Writer, Until: now.Add(b.Lease)}
	}
	head.Last, head.Epoch, head.Updated = len(h.records), b.Epoch, now
	if b.Header != nil {
		head.Header = *b.Header
	}
	if len(b.Records) > 0 {
		h.at.Writer = b.Writer
	}
	if b.Progress {
		head.Recoveries = 0
	}
}

// lease is the update that gives, renews and ends a lease.
func (h *holder) lease(ctx workflow.Context, l lease) (checkpoint.Head, error) {
	checkVersion(l.Version)
	head, now := &h.at.Head, workflow.Now(ctx)
	switch mine := head.Lease.Writer == l.Writer; {
	case head.Last == 0:
		return *head, refusal(&checkpoint.Error{Kind: checkpoint.ErrNotFound})
	case l.Time <= 0 && mine:
		head.Lease = checkpoint.Lease{}
	case l.Time <= 0:
	case mine:
		head.Lease.Until = now.Add(l.Time)
	case head.Lease.Until.After(now):
		return *head, refusal(&checkpoint.Error{Kind: checkpoint.ErrLeased, Until: head.Lease.Until})
	default:
		if head.Lease.Writer != "" {
			head.Recoveries++
		}
		head.Epoch++
		head.Lease = checkpoint.Lease{Writer: l.Writer, Until: now.Add(l.Time)}
	}
	return *head, nil
}

// post is the update that adds a message.
func (h *holder) post(ctx workflow.Context, m message) error {
	checkVersion(m.Version)
	switch {
	case h.at.Head.Last == 0:
		return refusal(&checkpoint.Error{Kind: checkpoint.ErrNotFound})
	case slices.ContainsFunc(h.at.Inbox, func(had message) bool { return had.ID == m.ID }):
		return nil
	case h.size+m.size() > MaxRun:
		return refusal(&checkpoint.Error{Kind: errNoRoom})
	}
	m.At = workflow.Now(ctx)
	h.at.Inbox, h.size = append(h.at.Inbox, m), h.size+m.size()
	return nil
}

// read is the query for the records from a place on.
func (h *holder) read(from int) (journal, error) {
	return journal{h.records[min(max(from, 1)-1, len(h.records)):], len(h.records)}, nil
}

// refusal returns an error of a store as one that passes through Temporal.
func refusal(err error) error {
	e, ok := errors.AsType[*checkpoint.Error](err)
	for _, r := range refusals {
		if ok && errors.Is(err, r.kind) {
			return sdk.NewNonRetryableApplicationError(e.Error(), r.name, nil, e.Record, e.Problem, e.Until)
		}
	}
	return err
}
