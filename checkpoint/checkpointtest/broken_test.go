package checkpointtest_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	key     = checkpoint.Key
	batch   = checkpoint.Batch
	record  = checkpoint.Record
	records = iter.Seq2[checkpoint.Record, error]
	memory  = checkpoint.Memory
)

// flaws are methods to be used instead of those of a Memory, where they are given.
type flaws struct {
	append   func(ctx context.Context, m *memory, b batch) error
	read     func(ctx context.Context, m *memory, key key, from int) records
	head     func(ctx context.Context, m *memory, key key) (checkpoint.Head, error)
	list     func(ctx context.Context, m *memory, q checkpoint.Query) (checkpoint.Page, error)
	post     func(ctx context.Context, m *memory, msg checkpoint.Message) error
	posted   func(ctx context.Context, m *memory, keys []key) ([]checkpoint.Message, error)
	lease    func(ctx context.Context, m *memory, key key, writer string, d time.Duration) (checkpoint.Head, error)
	delete   func(ctx context.Context, m *memory, keys []key) error
	save     func(ctx context.Context, m *memory, key key, s checkpoint.Snapshot) error
	snapshot func(ctx context.Context, m *memory, key key) (checkpoint.Snapshot, error)
	vacuum   func(ctx context.Context, m *memory) error
	put      func(ctx context.Context, m *memory, key key, id string, data []byte) error
	part     func(ctx context.Context, m *memory, key key, id string, offset int64, length int) ([]byte, int64, error)
	values   func(ctx context.Context, m *memory, key key) ([]checkpoint.Value, error)
}

type store struct {
	memory
	flaws
}

func (s *store) Append(ctx context.Context, b batch) error {
	if s.append != nil {
		return s.append(ctx, &s.memory, b)
	}
	return s.memory.Append(ctx, b)
}

func (s *store) Read(ctx context.Context, key key, from int) records {
	if s.read != nil {
		return s.read(ctx, &s.memory, key, from)
	}
	return s.memory.Read(ctx, key, from)
}

func (s *store) Head(ctx context.Context, key key) (checkpoint.Head, error) {
	if s.head != nil {
		return s.head(ctx, &s.memory, key)
	}
	return s.memory.Head(ctx, key)
}

func (s *store) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	if s.list != nil {
		return s.list(ctx, &s.memory, q)
	}
	return s.memory.List(ctx, q)
}

func (s *store) Post(ctx context.Context, msg checkpoint.Message) error {
	if s.post != nil {
		return s.post(ctx, &s.memory, msg)
	}
	return s.memory.Post(ctx, msg)
}

func (s *store) Posted(ctx context.Context, keys ...key) ([]checkpoint.Message, error) {
	if s.posted != nil {
		return s.posted(ctx, &s.memory, keys)
	}
	return s.memory.Posted(ctx, keys...)
}

func (s *store) Lease(ctx context.Context, key key, writer string, d time.Duration) (checkpoint.Head, error) {
	if s.lease != nil {
		return s.lease(ctx, &s.memory, key, writer, d)
	}
	return s.memory.Lease(ctx, key, writer, d)
}

func (s *store) Delete(ctx context.Context, keys ...key) error {
	if s.delete != nil {
		return s.delete(ctx, &s.memory, keys)
	}
	return s.memory.Delete(ctx, keys...)
}

func (s *store) SaveSnapshot(ctx context.Context, key key, snapshot checkpoint.Snapshot) error {
	if s.save != nil {
		return s.save(ctx, &s.memory, key, snapshot)
	}
	return s.memory.SaveSnapshot(ctx, key, snapshot)
}

func (s *store) Snapshot(ctx context.Context, key key) (checkpoint.Snapshot, error) {
	if s.snapshot != nil {
		return s.snapshot(ctx, &s.memory, key)
	}
	return s.memory.Snapshot(ctx, key)
}

func (s *store) Vacuum(ctx context.Context) error {
	if s.vacuum != nil {
		return s.vacuum(ctx, &s.memory)
	}
	return s.memory.Vacuum(ctx)
}

func (s *store) PutValue(ctx context.Context, key key, id string, data []byte) error {
	if s.put != nil {
		return s.put(ctx, &s.memory, key, id, data)
	}
	return s.memory.PutValue(ctx, key, id, data)
}

func (s *store) ReadValue(ctx context.Context, key key, id string, offset int64, length int) ([]byte, int64, error) {
	if s.part != nil {
		return s.part(ctx, &s.memory, key, id, offset, length)
	}
	return s.memory.ReadValue(ctx, key, id, offset, length)
}

func (s *store) Values(ctx context.Context, key key) ([]checkpoint.Value, error) {
	if s.values != nil {
		return s.values(ctx, &s.memory, key)
	}
	return s.memory.Values(ctx, key)
}

// brokenStore is what is wrong with a store, and which checks find it out.
type brokenStore struct {
	flaws flaws
	want  []string
}

func brokenStores() map[string]brokenStore {
	all := brokenJournals()
	for _, more := range []map[string]brokenStore{brokenHeads(), brokenWriters(), brokenLeases(), brokenInboxes(), brokenLists(), brokenSnapshots(), brokenValues(), brokenPruners()} {
		maps.Copy(all, more)
	}
	return all
}

// A store that breaks a promise is found out by the checks that look for it.
func TestBrokenStores(t *testing.T) {
	for name := range brokenStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := brokenStores()[name]
				found := checkpointtest.Broken(t.Context(), broken.want, func() checkpoint.Store { return &store{flaws: broken.flaws} })
				require.Equal(t, slices.Sorted(slices.Values(broken.want)), slices.Sorted(maps.Keys(found)))
				for name, err := range found {
					t.Log(name, "says:", err)
				}
			})
		})
	}
}

// Each check finds out a store.
func TestEachCheckIsNeeded(t *testing.T) {
	var used []string
	for _, broken := range brokenStores() {
		used = append(used, broken.want...)
	}
	require.Subset(t, used, checkpointtest.Checks())
}

// What a store lacks is not checked, and said so.
func TestAbilitiesThatLack(t *testing.T) {
	lacking := checkpointtest.Lacking(t.Context(), func() checkpoint.Store { return struct{ checkpoint.Store }{new(memory)} })
	kinds := map[string]int{}
	for _, text := range lacking {
		kinds[text]++
	}
	require.Equal(t, map[string]int{"no Lister": 5, "no Inbox": 5, "no Leaser": 11, "no Pruner": 5, "no SnapshotStore": 3, "no ValueStore": 4}, kinds)
}
