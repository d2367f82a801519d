package sealed

import "github.com/segue-go/segue/checkpoint"

// withAbilities returns the store with those abilities of inner that keep what has to be sealed,
// and with no other: what a method does not hide, [checkpoint.As] finds behind it.
func (s *store) withAbilities() checkpoint.Store {
	in, hasInbox := checkpoint.As[checkpoint.Inbox](s.inner)
	kept, hasSnapshots := checkpoint.As[checkpoint.SnapshotStore](s.inner)
	large, hasValues := checkpoint.As[checkpoint.ValueStore](s.inner)
	type (
		inbox     = *sealedInbox
		snapshots = *sealedSnapshots
		values    = *sealedValues
	)
	i, n, v := &sealedInbox{s: s, inner: in}, &sealedSnapshots{s: s, inner: kept}, &sealedValues{s: s, inner: large}
	switch [3]bool{hasInbox, hasSnapshots, hasValues} {
	case [3]bool{true, true, true}:
		return struct {
			*store
			inbox
			snapshots
			values
		}{s, i, n, v}
	case [3]bool{true, true, false}:
		return struct {
			*store
			inbox
			snapshots
		}{s, i, n}
	case [3]bool{true, false, true}:
		return struct {
			*store
			inbox
			values
		}{s, i, v}
	case [3]bool{false, true, true}:
		return struct {
			*store
			snapshots
			values
		}{s, n, v}
	case [3]bool{true, false, false}:
		return struct {
			*store
			inbox
		}{s, i}
	case [3]bool{false, true, false}:
		return struct {
			*store
			snapshots
		}{s, n}
	case [3]bool{false, false, true}:
		return struct {
			*store
			values
		}{s, v}
	default:
		return s
	}
}
