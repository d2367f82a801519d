package strategytest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// store is a store that keeps records that are appended together in one group.
type store struct {
	checkpoint.Memory
	mu   sync.Mutex
	log  [][]checkpoint.Record
	puts []put
}

// Append implements checkpoint.Store.
func (s *store) Append(ctx context.Context, b checkpoint.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Memory.Append(ctx, b)
	if err == nil && len(b.Records) > 0 {
		kept := slices.Clone(b.Records)
		for i := range kept {
			kept[i].Data = bytes.Clone(kept[i].Data)
		}
		s.log = append(s.log, kept)
	}
	return err
}

// journal returns the stored records of the run, or none if it has not begun.
func (s *store) journal(t *testing.T) []machine.Record {
	t.Helper()
	return s.records(t, checkpoint.Key{Run: storyID})
}

// records is journal for a run with another id.
func (s *store) records(t *testing.T, key checkpoint.Key) (list []machine.Record) {
	t.Helper()
	for stored, err := range s.Read(t.Context(), key, 1) {
		if errors.Is(err, checkpoint.ErrNotFound) {
			break
		}
		require.NoError(t, err)
		rec, err := machine.ReadRecord(stored.Data)
		require.NoError(t, err)
		list = append(list, rec)
	}
	return list
}

// text returns everything that is stored, in its stored form.
func (s *store) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, records := range s.log {
		for _, r := range records {
			b.Write(r.Data)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
