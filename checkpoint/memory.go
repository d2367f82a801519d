package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Memory is a [Store] for one process: what it holds is gone when the process ends. It keeps every
// run until it is deleted. The zero value is ready, and safe for concurrent use. It must not be
// copied once it is used.
//
// Its errors are [*ConflictError], [*NotFoundError], [*RunIDError], [ErrNoRun], and those of a
// context.
type Memory struct {
	mu   sync.RWMutex
	runs map[string][]string // the data of the records of a run: that of place i+1 at i. Only appended to
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, run string, records ...Record) error {
	if err := ended(ctx, run); err != nil {
		return err
	}
	if err := CheckRun(run); err != nil {
		return err
	}
	data := make([]string, len(records))
	for i, r := range records {
		data[i] = string(r.Data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.runs[run]
	for i, r := range records {
		if want := len(kept) + i + 1; r.Seq != want {
			return &ConflictError{Run: run, Seq: r.Seq, Want: want}
		}
	}
	if len(data) == 0 {
		return nil
	}
	if m.runs == nil {
		m.runs = map[string][]string{}
	}
	m.runs[run] = append(kept, data...)
	return nil
}

// Read implements [Store]. It yields the run as it was when ranging began, whatever happens to it
// meanwhile.
func (m *Memory) Read(ctx context.Context, run string, from int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := ended(ctx, run); err != nil {
			yield(Record{}, err)
			return
		}
		m.mu.RLock()
		kept := m.runs[run]
		m.mu.RUnlock()
		if len(kept) == 0 {
			yield(Record{}, &NotFoundError{Run: run})
			return
		}
		for i := max(from, 1) - 1; i < len(kept); i++ {
			if err := ended(ctx, run); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(Record{Seq: i + 1, Data: []byte(kept[i])}, nil) {
				return
			}
		}
	}
}

// Delete forgets a run, and does nothing if there is none.
func (m *Memory) Delete(ctx context.Context, run string) error {
	if err := ended(ctx, run); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, run)
	return nil
}

// Runs returns the ids of all runs, sorted.
func (m *Memory) Runs() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.runs))
}

// ended returns an error if ctx is done.
func ended(ctx context.Context, run string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: run %.64q: %w", run, err)
	}
	return nil
}
