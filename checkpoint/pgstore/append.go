package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// mostBytes is how much one statement takes: PostgreSQL has room for twice as much, headers
// included.
const mostBytes = 1 << 29

// Append implements [checkpoint.Store]. Batches that come at once are added in one statement, and
// one transaction, and fail each for itself. If ctx ends while a batch is on its way, it may be
// added nevertheless. The data of a batch may have 512 MiB.
func (s *Store) Append(ctx context.Context, b checkpoint.Batch) error {
	a, err := s.addition(&b)
	if err != nil {
		return err
	}
	if err := s.enter(ctx, b.Key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := s.write(ctx, a); err != nil {
		return fault(ctx, s.place, b.Key, err)
	}
	return nil
}

// answer is what append_4 says of a batch: nil if it was added, or else why not.
func (a *addition) answer(refused *string) error {
	if refused == nil {
		return nil
	}
	text := *refused
	why, number, _ := strings.Cut(text, " ")
	now, err := strconv.ParseInt(number, 10, 64)
	switch {
	case why == "missing":
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: a.Key}
	case why == "damaged":
		return a.store.damaged(a.Key)
	case why == "fenced" && err == nil:
		return &checkpoint.Error{Kind: checkpoint.ErrFenced, Key: a.Key, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", now, a.Epoch)}
	case why == "conflict" && err == nil:
		return a.conflict(int(now))
	default:
		return fmt.Errorf("append_4 says %q", text)
	}
}

// addition is a batch as it is stored.
type addition struct {
	*checkpoint.Batch
	store  *Store
	bytes  int  // of the data
	next   bool // the places of the records follow each other
	crcs   []int32
	types  []string
	data   [][]byte
	header *described // nil: it stays as it is
}

func (s *Store) addition(b *checkpoint.Batch) (*addition, error) {
	n := len(b.Records)
	a := &addition{Batch: b, store: s, next: true, crcs: make([]int32, n), types: make([]string, n), data: make([][]byte, n)}
	for i, r := range b.Records {
		a.next = a.next && r.Seq == b.Records[0].Seq+i
		a.crcs[i], a.types[i], a.data[i] = sum(b.Key, strconv.Itoa(r.Seq), r.Type, r.Data), r.Type, tables.BytesOf(r.Data)
		if a.bytes += len(r.Data); a.bytes > mostBytes {
			return nil, failure(&checkpoint.Error{Place: s.place, Key: b.Key, Record: r.Seq, Kind: checkpoint.ErrTooLarge})
		}
	}
	if err := b.Key.Check(); err != nil {
		return nil, err
	}
	header := b.Header
	if header == nil && n > 0 && b.Records[0].Seq == 1 { // if it is added, the run begins
		header = &checkpoint.Header{}
	}
	var err error
	if header != nil {
		a.header, err = describe(b.Key, header)
	}
	return a, err
}

// args are those of append_4.
func (a *addition) args() []any {
	first, final := 0, 0
	if n := len(a.Records); n > 0 {
		first, final = a.Records[0].Seq, a.Records[n-1].Seq
	}
	args := []any{
		a.Key.Namespace, a.Key.Run, a.Writer, a.Epoch, micros(a.Lease), a.Progress,
		len(a.Records), a.next, first, final, a.crcs, a.types, a.data,
		a.Taken, nil, nil, nil, nil, nil,
	}
	if h := a.header; h != nil {
		copy(args[len(args)-5:], []any{h.text, h.crc, h.state, h.marks, h.due})
	}
	return args
}

// conflict says which record is not the next one of a run whose last has a place.
func (a *addition) conflict(last int) error {
	for i, r := range a.Records {
		if want := last + i + 1; r.Seq != want {
			return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: a.Key, Record: r.Seq, Problem: fmt.Sprintf("the next record is %d", want)}
		}
	}
	return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: a.Key, Problem: fmt.Sprintf("the next record is %d", last+1)}
}

// micros returns how long a lease is, as it is stored: at least one microsecond, or -1 for its end.
func micros(d time.Duration) int64 {
	switch {
	case d < 0:
		return -1
	case d == 0:
		return 0
	default:
		return max(1, d.Microseconds())
	}
}
