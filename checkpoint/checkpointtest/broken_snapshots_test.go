package checkpointtest_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// drawer keeps snapshots as a rule says, which is given that which is kept, and the new one.
type drawer struct {
	mu    sync.Mutex
	kept  map[key]checkpoint.Snapshot
	takes func(old, s checkpoint.Snapshot) bool
	of    func(k key) key
	pause time.Duration // between a look and a change
	own   bool          // the slices are kept, and given away
}

// flaws returns a store whose snapshots are in the drawer. What has to be refused is refused.
func (d *drawer) flaws() flaws {
	d.kept = map[key]checkpoint.Snapshot{}
	if d.of == nil {
		d.of = func(k key) key { return k }
	}
	return flaws{
		save: func(ctx context.Context, m *memory, k key, s checkpoint.Snapshot) error {
			if err := m.SaveSnapshot(ctx, k, s); err != nil {
				return err
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			old := d.kept[d.of(k)]
			if d.pause > 0 {
				d.mu.Unlock()
				time.Sleep(d.pause)
				d.mu.Lock()
			}
			if d.takes(old, s) {
				if !d.own {
					s.Data = bytes.Clone(s.Data)
				}
				d.kept[d.of(k)] = s
			}
			return nil
		},
		snapshot: func(ctx context.Context, m *memory, k key) (checkpoint.Snapshot, error) {
			if _, err := m.Head(ctx, k); err != nil {
				return checkpoint.Snapshot{}, err
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			s := d.kept[d.of(k)]
			if s.Records == 0 {
				return s, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: k}
			}
			if !d.own {
				s.Data = bytes.Clone(s.Data)
			}
			return s, nil
		},
		delete: func(ctx context.Context, m *memory, keys []key) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, k := range keys {
				delete(d.kept, k)
			}
			return m.Delete(ctx, keys...)
		},
	}
}

func newest(old, s checkpoint.Snapshot) bool { return s.Records >= old.Records }

// saves is a store that saves a snapshot in another way.
func saves(save func(ctx context.Context, m *memory, k key, s checkpoint.Snapshot) error) flaws {
	return flaws{save: save}
}

func brokenSnapshots() map[string]brokenStore {
	outlives := (&drawer{takes: newest}).flaws()
	outlives.delete = nil
	return map[string]brokenStore{
		"keeps the first": {
			(&drawer{takes: func(old, _ checkpoint.Snapshot) bool { return old.Records == 0 }}).flaws(),
			[]string{"snapshot", "data are kept", "seen whole"},
		},
		"keeps the last": {
			(&drawer{takes: func(checkpoint.Snapshot, checkpoint.Snapshot) bool { return true }}).flaws(),
			[]string{"snapshot"},
		},
		"keeps the earlier": {
			(&drawer{takes: func(old, s checkpoint.Snapshot) bool { return s.Records > old.Records }}).flaws(),
			[]string{"data are kept"},
		},
		"one drawer":         {(&drawer{takes: newest, of: func(key) key { return key{} }}).flaws(), []string{"snapshot"}},
		"one of a namespace": {(&drawer{takes: newest, of: func(k key) key { return key{Run: k.Run} }}).flaws(), []string{"snapshot"}},
		"keeps slices":       {(&drawer{takes: newest, own: true}).flaws(), []string{"data are kept"}},
		"looks at snapshots": {(&drawer{takes: newest, pause: time.Millisecond}).flaws(), []string{"seen whole"}},
		"snapshots outlive":  {outlives, []string{"begin anew"}},
		"appends a snapshot": {saves(func(ctx context.Context, m *memory, k key, s checkpoint.Snapshot) error {
			if h, err := m.Head(ctx, k); err == nil {
				time.Sleep(time.Millisecond)
				_ = m.Append(ctx, batch{Key: k, Epoch: h.Epoch})
			}
			return m.SaveSnapshot(ctx, k, s)
		}), []string{"snapshot"}},
		"saves of anybody": {saves(func(ctx context.Context, m *memory, k key, s checkpoint.Snapshot) error {
			if err := m.SaveSnapshot(ctx, k, s); !errors.Is(err, checkpoint.ErrNotFound) {
				return err
			}
			return nil
		}), []string{"snapshot of no run"}},
		"saves any number": {saves(func(ctx context.Context, m *memory, k key, s checkpoint.Snapshot) error {
			if err := m.SaveSnapshot(ctx, k, s); !errors.Is(err, checkpoint.ErrConflict) {
				return err
			}
			return nil
		}), []string{"snapshot of other records"}},
	}
}
