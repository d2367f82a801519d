package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// addition is a batch as it is stored.
type addition struct {
	s      *Store
	batch  *checkpoint.Batch
	next   bool     // the places of the records follow each other
	sums   []uint32 // of the records
	header []byte   // JSON; nil: none
}

// Append implements [checkpoint.Store]. If ctx is done while the batch waits for other writers,
// nothing is added. Once the transaction of the batch has begun, Append waits for its end.
func (s *Store) Append(ctx context.Context, b checkpoint.Batch) error {
	if err := s.enter(ctx, b.Key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := b.Key.Check(); err != nil {
		return err
	}
	a := &addition{s: s, batch: &b, next: true, sums: make([]uint32, len(b.Records))}
	bytes := 0
	for i, r := range b.Records {
		a.next = a.next && r.Seq == b.Records[0].Seq+i
		a.sums[i] = tables.Sum(b.Key, strconv.Itoa(r.Seq), r.Type, r.Data)
		bytes += len(r.Data)
	}
	if b.Header != nil {
		var err error
		if a.header, err = json.Marshal(b.Header); err != nil {
			return fmt.Errorf("sqlitestore: run %.64q: the header cannot be stored: %w", b.Key.String(), err)
		}
	}
	return s.write(ctx, &job{key: b.Key, bytes: bytes, do: a.do})
}

// do adds the batch. Most batches are the next record of a run that stands as its writer thinks:
// one change of the head, which checks this, and one new row are enough.
func (a *addition) do(w *writer) error {
	b, now := a.batch, a.s.now()
	if a.header == nil && a.next && len(b.Records) > 0 && len(b.Taken) == 0 {
		changed, err := w.change(stepHead, a.headArgs(now, b.Records[0].Seq-1)...)
		if err != nil {
			return err
		}
		if changed == 1 {
			return a.complete(w)
		}
	}
	var h held
	found, err := w.row(heldRun, []any{b.Key.Namespace, b.Key.Run}, h.into()...)
	if err != nil {
		return err
	}
	if found && !h.stands {
		return a.s.damaged(b.Key)
	}
	if err := a.check(&h, found); err != nil || a.repeats(&h) {
		return err
	}
	if !found {
		if h, err = a.begin(w, now); err != nil {
			return err
		}
	}
	return a.change(w, &h, now)
}

const stepHead = `UPDATE runs AS r SET last = ?4, epoch = ?5, updated = max(created, ?6),
	writer = iif(?4 > last, ?7, writer),
	lease_writer = CASE WHEN ?8 > 0 THEN ?7 WHEN epoch < ?5 OR ?8 < 0 AND lease_writer = ?7 THEN '' ELSE lease_writer END,
	lease_until = CASE WHEN ?8 > 0 THEN ?9 WHEN epoch < ?5 OR ?8 < 0 AND lease_writer = ?7 THEN 0 ELSE lease_until END,
	recoveries = iif(?10, 0, recoveries)
	WHERE namespace = ?1 AND run = ?2 AND last = ?3 AND epoch <= ?5 AND ` + stands

// headArgs returns the arguments of stepHead. The last record of the run has the place last.
func (a *addition) headArgs(now time.Time, last int) []any {
	b := a.batch
	sign, until := 0, int64(0)
	switch {
	case b.Lease > 0:
		sign, until = 1, tables.Nanos(now.Add(b.Lease))
	case b.Lease < 0:
		sign = -1
	}
	return []any{b.Key.Namespace, b.Key.Run, last, last + len(b.Records), b.Epoch, tables.Nanos(now), b.Writer, sign, until, b.Progress}
}

const addRecord = `INSERT INTO records (place, type, data, sum)
	SELECT id << 32 | ?3, ?4, ?5, ?6 FROM runs WHERE namespace = ?1 AND run = ?2`

// complete adds the records to a run whose head has changed.
func (a *addition) complete(w *writer) error {
	key := a.batch.Key
	if err := w.stand(key); err != nil {
		return err
	}
	for i, r := range a.batch.Records {
		if err := w.exec(addRecord, key.Namespace, key.Run, r.Seq, r.Type, tables.BytesOf(r.Data), int64(a.sums[i])); err != nil {
			return err
		}
	}
	return nil
}

// held is what a writer reads of a run before it changes the run.
type held struct {
	id, epoch, created, sum int64
	last                    int
	writer, header          string
	stands                  bool // its checksum matches
}

const heldRun = `SELECT id, last, epoch, created, writer, header, sum, ` + stands + ` FROM runs r WHERE namespace = ? AND run = ?`

func (h *held) into() []any {
	return []any{&h.id, &h.last, &h.epoch, &h.created, &h.writer, &h.header, &h.sum, &h.stands}
}

// repeats reports whether the same writer has appended this batch, as the last one.
func (a *addition) repeats(h *held) bool {
	n, w := len(a.batch.Records), a.batch.Writer
	return n > 0 && h.last > 0 && w != "" && w == h.writer && a.batch.Records[n-1].Seq == h.last
}

// check returns why the batch is refused; nil also if the batch was appended already.
func (a *addition) check(h *held, found bool) error {
	b := a.batch
	switch {
	case !found && len(b.Records) == 0:
		return refused{&checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: b.Key}}
	case a.repeats(h):
		return nil
	case found && b.Epoch < h.epoch:
		return refused{&checkpoint.Error{Kind: checkpoint.ErrFenced, Key: b.Key, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", h.epoch, b.Epoch)}}
	}
	for i, r := range b.Records {
		if want := h.last + i + 1; r.Seq != want {
			return refused{&checkpoint.Error{Kind: checkpoint.ErrConflict, Key: b.Key, Record: r.Seq, Problem: fmt.Sprintf("the next record is %d", want)}}
		}
	}
	return nil
}

const addRun = `INSERT INTO runs
	(namespace, run, last, epoch, created, updated, lease_until, recoveries, status, strategy, origin, due, writer, lease_writer, header, sum, stand)
	VALUES (?, ?, 0, ?, ?, ?, 0, 0, '', '', '', NULL, '', '', '{}', ?, 0)`

// begin creates a run without records, whose header is empty.
func (a *addition) begin(w *writer, now time.Time) (h held, err error) {
	key, at := a.batch.Key, tables.Nanos(now)
	h = held{epoch: a.batch.Epoch, created: at, header: "{}", sum: int64(tables.Sum(key, "head", "", []byte("{}")))}
	if err := w.exec(addRun, key.Namespace, key.Run, h.epoch, at, at, h.sum); err != nil {
		return h, err
	}
	if err := w.stand(key); err != nil {
		return h, err
	}
	if _, err := w.row(heldRun, []any{key.Namespace, key.Run}, h.into()...); err != nil {
		return h, err
	}
	return h, addMarks(w, key, &h, []mark{{class: everyRun}, {class: byStatus}})
}

const takeMessage = `DELETE FROM inbox WHERE run = ? AND message = ?`

// change adds the batch to a run that exists.
func (a *addition) change(w *writer, h *held, now time.Time) error {
	if err := w.exec(stepHead, a.headArgs(now, h.last)...); err != nil {
		return err
	}
	if a.header != nil && string(a.header) != h.header {
		if err := a.describe(w, h); err != nil {
			return err
		}
	}
	for _, id := range a.batch.Taken {
		if err := w.exec(takeMessage, h.id, id); err != nil {
			return err
		}
	}
	return a.complete(w)
}
