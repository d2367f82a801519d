package checkpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// PutValue implements [ValueStore].
func (m *Memory) PutValue(ctx context.Context, key Key, id string, data []byte) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	if err := CheckValue(id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[key]
	if run == nil {
		return &Error{Kind: ErrNotFound, Key: key}
	}
	if _, has := run.values[id]; has {
		return nil
	}
	if run.values == nil {
		run.values = map[string]string{}
	}
	run.values[id] = string(data)
	return nil
}

// ReadValue implements [ValueStore].
func (m *Memory) ReadValue(ctx context.Context, key Key, id string, offset int64, length int) ([]byte, int64, error) {
	if err := ended(ctx, key); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	text, has := "", false
	if run := m.runs[key]; run != nil {
		text, has = run.values[id]
	}
	if !has {
		return nil, 0, &Error{Kind: ErrNotFound, Key: key, Problem: fmt.Sprintf("value %.64q", id)}
	}
	size := int64(len(text))
	first, end := Span(size, offset, length)
	return []byte(text[first:end]), size, nil
}

// Values implements [ValueStore].
func (m *Memory) Values(ctx context.Context, key Key) ([]Value, error) {
	if err := ended(ctx, key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []Value
	if run := m.runs[key]; run != nil {
		for _, id := range slices.Sorted(maps.Keys(run.values)) {
			list = append(list, Value{ID: id, Size: int64(len(run.values[id]))})
		}
	}
	return list, nil
}
