package sealed

import (
	"context"
	"errors"

	"github.com/segue-go/segue/checkpoint"
)

// sealedInbox seals the messages of a store that has an Inbox.
type sealedInbox struct {
	s     *store
	inner checkpoint.Inbox
}

var _ checkpoint.Inbox = (*sealedInbox)(nil)

// Post implements [checkpoint.Inbox].
func (s *sealedInbox) Post(ctx context.Context, m checkpoint.Message) (err error) {
	if m.Data, err = s.s.seal(place{key: m.Key, kind: aMessage, name: m.ID}, m.Data); err != nil {
		return err
	}
	return s.inner.Post(ctx, m)
}

// Posted implements [checkpoint.Inbox].
func (s *sealedInbox) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	posted, err := s.inner.Posted(ctx, keys...)
	var damage, problems []error // what can never be read, and what may be
	add := func(err error) {
		if errors.Is(err, checkpoint.ErrCorrupt) {
			damage = append(damage, err)
		} else if err != nil {
			problems = append(problems, err)
		}
	}
	add(err)
	opened := posted[:0]
	for _, m := range posted {
		o := opener{s: s.s, plain: s.s.keys.ReadPlain}
		if m.Data, err = o.open(place{key: m.Key, kind: aMessage, name: m.ID}, m.Data); err != nil {
			add(err)
			continue
		}
		opened = append(opened, m)
	}
	if len(problems) > 0 { // what is damaged is said when all else was read
		return opened, errors.Join(problems...)
	}
	return opened, errors.Join(damage...)
}
