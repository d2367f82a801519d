package orchestrator

import (
	"context"
	"errors"
	"maps"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// standing returns the header of a run that was made from records. A run that could go on at once is
// parked with the reason, because no process works on it.
func (o *Orchestrator) standing(m *machine.Machine, reason string) *checkpoint.Header {
	h := o.header(m.Started())
	h.Labels = maps.Clone(h.Labels)
	h.Status = checkpoint.Status(m.Status())
	if h.Status == "" {
		h.Status, h.Reason, h.Version = checkpoint.StatusParked, reason, "" // no version of Recover starts it
	}
	setWaits(&h, m.Waits())
	return &h
}

// adoptRun stores the values and the records of a run that is new to the store, and returns its
// head. A value is stored before the records that name it.
func (o *Orchestrator) adoptRun(ctx context.Context, key checkpoint.Key, records []checkpoint.Record, h *checkpoint.Header, values []value) (checkpoint.Head, error) {
	writer, err := uuid.NewV7()
	if err != nil {
		return checkpoint.Head{}, &JournalError{Run: key.Run, Err: err}
	}
	j := journal{
		store: o.cfg.Store, key: key, run: key.Run, writer: writer.String(), epoch: 1, pending: records, patience: o.cfg.Timeouts.Store,
	}
	defer j.close()
	if len(values) > 0 {
		err = j.adoptValues(ctx, h, values)
	}
	if err == nil {
		b := j.batch()
		b.Header = h
		err = j.append(ctx, &b)
	}
	if e, ok := errors.AsType[*JournalError](err); ok && errors.Is(err, checkpoint.ErrConflict) {
		return checkpoint.Head{}, &RunExistsError{Run: key.Run, Err: e}
	}
	if err != nil {
		return checkpoint.Head{}, err
	}
	return o.headOf(ctx, key)
}
