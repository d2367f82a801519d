package strategytest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// store is a store that keeps the order of what is appended, over all runs.
type store struct {
	checkpoint.Memory
	mu  sync.Mutex
	log []appended
}

type appended struct {
	run     string
	records []checkpoint.Record
}

// Append implements checkpoint.Store.
func (s *store) Append(ctx context.Context, run string, records ...checkpoint.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Memory.Append(ctx, run, records...)
	if err == nil {
		s.log = append(s.log, appended{run, slices.Clone(records)})
	}
	return err
}

// entry is what is read here of a record.
type entry struct {
	Type, Frame string
	Seq         int
	Answer      struct{ Kind string }
}

// journal returns what is stored of a run; nothing if it has not begun.
func (s *store) journal(t *testing.T, run string) []entry {
	t.Helper()
	var list []entry
	for rec, err := range s.Read(t.Context(), run, 1) {
		if errors.Is(err, checkpoint.ErrNotFound) {
			break
		}
		require.NoError(t, err)
		var e entry
		require.NoError(t, json.Unmarshal(rec.Data, &e))
		list = append(list, e)
	}
	return list
}

// holds reports whether the step is answered in which the run is to be stopped.
func (s *store) holds(t *testing.T, at stop) bool {
	t.Helper()
	return slices.ContainsFunc(s.journal(t, storyID), func(e entry) bool { return e.Type == "answer" && at.in(storyID, e.Seq, e.Frame) })
}

// among reports whether a step is that of an agent, or one that runs agents.
func (s *store) among(step string) bool {
	return step != "" && slices.ContainsFunc(s.Runs(), func(run string) bool {
		return strings.HasPrefix(run, step+"/") || run != storyID && strings.HasPrefix(step, run+"/")
	})
}

// stopped reports whether an agent has been stopped.
func (s *store) stopped(t *testing.T) bool {
	t.Helper()
	for _, run := range s.Runs() {
		for _, e := range s.journal(t, run) {
			if run != storyID && e.Answer.Kind == "stop" {
				return true
			}
		}
	}
	return false
}
