package checkpointtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// shelf keeps values as a rule says.
type shelf struct {
	mu      sync.Mutex
	kept    map[string][]byte
	of      func(k key, id string) string
	last    bool // the last value of an id stays, not the first
	own     bool // the slices are kept, and given away
	growing bool // a value can be read before all of it is there
	stays   bool // values outlive their runs
}

// flaws returns a store whose values are on the shelf. What has to be refused is refused.
func (d *shelf) flaws() flaws {
	d.kept = map[string][]byte{}
	if d.of == nil {
		d.of = func(k key, id string) string { return fmt.Sprintf("%q %q", k.Namespace, k.Run) + id }
	}
	f := flaws{put: d.put, part: d.part, values: func(ctx context.Context, m *memory, k key) ([]checkpoint.Value, error) {
		list, err := m.Values(ctx, k)
		for i, v := range list {
			list[i].Size = int64(len(d.get(k, v.ID)))
		}
		return list, err
	}}
	if !d.stays {
		f.delete = func(ctx context.Context, m *memory, keys []key) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.kept = map[string][]byte{}
			return m.Delete(ctx, keys...)
		}
	}
	return f
}

func (d *shelf) get(k key, id string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[d.of(k, id)]
}

func (d *shelf) set(k key, id string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[d.of(k, id)] = data
}

func (d *shelf) put(ctx context.Context, m *memory, k key, id string, data []byte) error {
	if err := m.PutValue(ctx, k, id, data); err != nil {
		return err
	}
	if d.get(k, id) != nil && !d.last {
		return nil
	}
	if !d.own {
		data = bytes.Clone(data)
	}
	if d.growing {
		d.set(k, id, data[:len(data)/2])
		time.Sleep(time.Millisecond)
	}
	d.set(k, id, data)
	return nil
}

func (d *shelf) part(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
	if _, _, err := m.ReadValue(ctx, k, id, 0, 0); err != nil && !d.stays {
		return nil, 0, err
	}
	data := d.get(k, id)
	if data == nil && d.stays {
		return nil, 0, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: k, Problem: fmt.Sprintf("value %.64q", id)}
	}
	size := int64(len(data))
	first, end := checkpoint.Span(size, offset, length)
	if data = data[first:end]; !d.own {
		data = bytes.Clone(data)
	}
	return data, size, nil
}

type parts = func(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error)

func brokenValues() map[string]brokenStore {
	broken := map[string]brokenStore{
		"the last value":     {(&shelf{last: true}).flaws(), []string{"values"}},
		"one shelf":          {(&shelf{of: func(_ key, id string) string { return id }}).flaws(), []string{"values"}},
		"any case":           {(&shelf{of: func(k key, id string) string { return fmt.Sprintf("%q %q", k, bytes.ToLower([]byte(id))) }}).flaws(), []string{"ids of values"}},
		"keeps their slices": {(&shelf{own: true}).flaws(), []string{"data are kept"}},
		"values grow":        {(&shelf{growing: true}).flaws(), []string{"seen whole"}},
		"values outlive":     {(&shelf{stays: true}).flaws(), []string{"begin anew"}},
		"lists them backward": {flaws{values: func(ctx context.Context, m *memory, k key) ([]checkpoint.Value, error) {
			list, err := m.Values(ctx, k)
			slices.Reverse(list)
			return list, err
		}}, []string{"values"}},
		"appends a value": {flaws{put: func(ctx context.Context, m *memory, k key, id string, data []byte) error {
			if h, err := m.Head(ctx, k); err == nil {
				time.Sleep(time.Millisecond)
				_ = m.Append(ctx, batch{Key: k, Epoch: h.Epoch})
			}
			return m.PutValue(ctx, k, id, data)
		}}, []string{"values"}},
		"values of anybody": {flaws{put: func(ctx context.Context, m *memory, k key, id string, data []byte) error {
			if err := m.PutValue(ctx, k, id, data); !errors.Is(err, checkpoint.ErrNotFound) {
				return err
			}
			return nil
		}}, []string{"value of no run"}},
		"takes any id": {flaws{put: func(ctx context.Context, m *memory, k key, id string, data []byte) error {
			if err := m.PutValue(ctx, k, id, data); !errors.Is(err, checkpoint.ErrID) {
				return err
			}
			return nil
		}}, []string{"ids of values"}},
	}
	for name, part := range map[string]parts{
		"one part": func(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
			return m.ReadValue(ctx, k, id, offset, min(length, 64<<10-int(max(0, offset))%(64<<10)))
		},
		"whole parts": func(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
			return m.ReadValue(ctx, k, id, offset&^(64<<10-1), length)
		},
		"size of the part": func(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
			data, _, err := m.ReadValue(ctx, k, id, offset, length)
			return data, int64(len(data)), err
		},
		"the end is an error": func(ctx context.Context, m *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
			data, size, err := m.ReadValue(ctx, k, id, offset, length)
			if err == nil && offset >= size {
				err = errors.New("it ends before that")
			}
			return data, size, err
		},
	} {
		want := []string{"ranges of values"}
		if name == "one part" {
			want = append(want, "data are kept", "seen whole")
		}
		maps.Copy(broken, map[string]brokenStore{name: {flaws{part: part}, want}})
	}
	return broken
}
