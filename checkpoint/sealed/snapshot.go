package sealed

import (
	"context"

	"github.com/segue-go/segue/checkpoint"
)

// sealedSnapshots seals the snapshots of a store that has some.
type sealedSnapshots struct {
	s     *store
	inner checkpoint.SnapshotStore
}

var _ checkpoint.SnapshotStore = (*sealedSnapshots)(nil)

// SaveSnapshot implements [checkpoint.SnapshotStore].
func (s *sealedSnapshots) SaveSnapshot(ctx context.Context, key checkpoint.Key, snapshot checkpoint.Snapshot) (err error) {
	if snapshot.Data, err = s.s.seal(placeOfSnapshot(key, &snapshot), snapshot.Data); err != nil {
		return err
	}
	return s.inner.SaveSnapshot(ctx, key, snapshot)
}

// Snapshot implements [checkpoint.SnapshotStore]. What is not sealed is refused, whatever
// Keys.ReadPlain says: the records that it stands for are there.
func (s *sealedSnapshots) Snapshot(ctx context.Context, key checkpoint.Key) (checkpoint.Snapshot, error) {
	snapshot, err := s.inner.Snapshot(ctx, key)
	if err != nil {
		return checkpoint.Snapshot{}, err
	}
	o := opener{s: s.s}
	if snapshot.Data, err = o.open(placeOfSnapshot(key, &snapshot), snapshot.Data); err != nil {
		return checkpoint.Snapshot{}, err
	}
	return snapshot, nil
}

func placeOfSnapshot(key checkpoint.Key, s *checkpoint.Snapshot) place {
	return place{key: key, kind: aSnapshot, number: s.Records}
}
