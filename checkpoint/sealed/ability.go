package sealed

import "github.com/segue-go/segue/checkpoint"

// As sets target, a pointer to an ability, if the inner store has the ability: sealed if it holds
// content, as it is if it holds none. An ability that it does not know might hold content, so the
// store does not have it.
func (s *store) As(target any) bool {
	switch target := target.(type) {
	case *checkpoint.Inbox:
		return set(s, target, func(in checkpoint.Inbox) checkpoint.Inbox { return &sealedInbox{s, in} })
	case *checkpoint.SnapshotStore:
		return set(s, target, func(in checkpoint.SnapshotStore) checkpoint.SnapshotStore { return &sealedSnapshots{s, in} })
	case *checkpoint.ValueStore:
		return set(s, target, func(in checkpoint.ValueStore) checkpoint.ValueStore { return &sealedValues{s, in} })
	case *checkpoint.Lister:
		return set(s, target, asItIs)
	case *checkpoint.Leaser:
		return set(s, target, asItIs)
	case *checkpoint.Pruner:
		return set(s, target, asItIs)
	default:
		return false
	}
}

// set sets target to an ability of the inner store, sealed.
func set[T any](s *store, target *T, seal func(T) T) bool {
	inner, ok := checkpoint.As[T](s.inner)
	if ok {
		*target = seal(inner)
	}
	return ok
}

func asItIs[T any](ability T) T { return ability }
