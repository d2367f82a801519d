package sealed

import (
	"context"
	"errors"
	"slices"

	"github.com/segue-go/segue/checkpoint"
)

// KeyIDs returns the ids of the keys that a run needs: those that its records, its messages, its
// snapshot and its values were sealed with, in order and each once. "" stands for what is not
// sealed. The store is one that New has returned, or the one behind it; no key is used. A key that
// no run needs may be dropped.
func KeyIDs(ctx context.Context, s checkpoint.Store, key checkpoint.Key) ([]string, error) {
	if ours, ok := checkpoint.As[*store](s); ok {
		s = ours.inner
	}
	var ids []string
	add := func(p *place, data []byte) error {
		e, err := readEnvelope(data)
		if err != nil && !errors.Is(err, ErrPlain) {
			return p.refused(e.keyID, err)
		}
		ids = append(ids, e.keyID)
		return nil
	}
	for r, err := range s.Read(ctx, key, 1) {
		if err == nil {
			err = add(&place{key: key, record: r.Seq}, r.Data)
		}
		if err != nil {
			return nil, err
		}
	}
	if in, ok := checkpoint.As[checkpoint.Inbox](s); ok {
		posted, err := in.Posted(ctx, key)
		for i := 0; i < len(posted) && err == nil; i++ {
			err = add(&place{key: key, name: posted[i].ID}, posted[i].Data)
		}
		if err != nil {
			return nil, err
		}
	}
	if kept, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
		snapshot, err := kept.Snapshot(ctx, key)
		if err == nil {
			err = add(placeOfSnapshot(key, &snapshot), snapshot.Data)
		}
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return nil, err
		}
	}
	if values, ok := checkpoint.As[checkpoint.ValueStore](s); ok {
		list, err := values.Values(ctx, key)
		for i := 0; i < len(list) && err == nil; i++ {
			var id string
			id, err = keyIDOfValue(ctx, values, key, list[i].ID)
			ids = append(ids, id)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
