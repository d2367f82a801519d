package orchestrator

import (
	"context"
	"errors"
	"maps"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

// standing returns the header of a run that was made from records.
func (o *Orchestrator) standing(run *journals.Run) *checkpoint.Header {
	h := o.header(run.Machine.Started())
	h.Labels = maps.Clone(h.Labels)
	h.Status = checkpoint.Status(run.Machine.Status())
	switch {
	case h.Status == "":
		h.Status, h.Reason, h.Version = checkpoint.StatusParked, run.Reason, "" // no version of Recover starts it
	case run.Version != nil:
		h.Version = *run.Version
	}
	setWaits(&h, run.Machine.Waits())
	return &h
}

// adoptRun stores the values and the records of a run that is new to the store, and returns its
// head. A value is stored before the records that name it.
func (o *Orchestrator) adoptRun(ctx context.Context, run *journals.Run) (checkpoint.Head, error) {
	writer, err := uuid.NewV7()
	if err != nil {
		return checkpoint.Head{}, &JournalError{Run: run.Key.Run, Err: err}
	}
	j := journal{
		store: o.cfg.Store, key: run.Key, run: run.Key.Run, writer: writer.String(), epoch: 1, pending: run.Records, patience: o.cfg.Timeouts.Store,
	}
	defer j.close()
	h := o.standing(run)
	if len(run.Values) > 0 {
		err = j.adoptValues(ctx, h, run.Values)
	}
	if err == nil {
		b := j.batch()
		b.Header = h
		err = j.append(ctx, &b)
	}
	if e, ok := errors.AsType[*JournalError](err); ok && errors.Is(err, checkpoint.ErrConflict) {
		return checkpoint.Head{}, &RunExistsError{Run: run.Key.Run, Err: e}
	}
	if err != nil {
		return checkpoint.Head{}, err
	}
	return o.headOf(ctx, run.Key)
}
