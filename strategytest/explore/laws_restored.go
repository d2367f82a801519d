package explore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// replaceAll replaces each live strategy by one that was restored from its snapshot.
func (w *walk) replaceAll() {
	for _, frame := range slices.Sorted(maps.Keys(w.stands)) {
		s := w.stands[frame]
		fresh := s.restoredCopy()
		if fresh == nil {
			continue
		}
		s.Strategy, w.live[frame] = fresh, fresh
	}
}

// snapshotOf returns a snapshot, and an error if the strategy panics.
func snapshotOf(s strategy.Snapshotter) (text []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return s.Snapshot()
}

// restoredCopy returns a new strategy that was restored from a snapshot; nil if there is none.
func (s *standIn) restoredCopy() (fresh strategy.Strategy) {
	defer func() {
		if v := recover(); v != nil {
			s.walk.complain(lawRestored, "Snapshot or Restore panicked: %v", v)
			fresh = nil
		}
	}()
	from, ok := s.Strategy.(strategy.Snapshotter)
	if !ok {
		return nil
	}
	snapshot, err := from.Snapshot()
	if err != nil {
		return nil // it says so
	}
	kept := bytes.Clone(snapshot)
	overwrite(snapshot)
	if again, err := from.Snapshot(); err != nil || !bytes.Equal(again, kept) {
		s.walk.complain(lawRestored, "its snapshot is not the same the second time (%v): %s, then %s", err, kept, again)
		return nil
	}
	fresh = s.factory()
	var own []tools.Tool
	if p, ok := fresh.(strategy.ToolProvider); ok {
		own = p.Tools()
	}
	if u, ok := fresh.(strategy.ToolUser); ok && s.uses {
		u.UseTools(s.given)
	}
	data := bytes.Clone(kept)
	if err := s.restore(fresh, data); err != nil {
		s.walk.complain(lawRestored, "it cannot be restored: %v", err)
		return nil
	}
	overwrite(data)
	if again, err := fresh.(strategy.Snapshotter).Snapshot(); err != nil || !bytes.Equal(again, kept) {
		s.walk.complain(lawRestored, "restored from its snapshot, it has another (%v): %s, then %s", err, kept, again)
	}
	s.walk.forgotten = append(s.walk.forgotten, differing(s.Strategy, fresh)...)
	s.own = own
	return fresh
}

// restore gives the memory and the position of the strategy to a new one.
func (s *standIn) restore(fresh strategy.Strategy, memory []byte) error {
	if err := fresh.(strategy.Snapshotter).Restore(memory); err != nil {
		return err
	}
	from, tabled := s.Strategy.(strategy.Tabler)
	if !tabled {
		return nil
	}
	if err := fresh.(strategy.Tabler).FSM().SetPosition(from.FSM().Position()); err != nil {
		return fmt.Errorf("its position: %w", err)
	}
	return nil
}

// overwrite overwrites a snapshot that nobody may need any more.
func overwrite(data []byte) {
	for i := range data {
		data[i] = '#'
	}
}
