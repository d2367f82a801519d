package sealed

import (
	"context"
	"errors"

	"github.com/segue-go/segue/checkpoint"
)

// storeWithInbox is a store in front of one that has an Inbox.
type storeWithInbox struct {
	*store
	inbox checkpoint.Inbox
}

var _ checkpoint.Inbox = (*storeWithInbox)(nil)

// Post implements [checkpoint.Inbox].
func (s *storeWithInbox) Post(ctx context.Context, m checkpoint.Message) error {
	aead, err := s.keys.Current.cipher(m.Key)
	if err != nil {
		return err
	}
	m.Data = seal(aead, s.keys.Current.id, &place{key: m.Key, name: m.ID}, m.Data)
	return s.inbox.Post(ctx, m)
}

// Posted implements [checkpoint.Inbox].
func (s *storeWithInbox) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	posted, err := s.inbox.Posted(ctx, keys...)
	var problems []error
	if err != nil { // it is about others than those that were posted
		problems = append(problems, err)
	}
	opened := posted[:0]
	for _, m := range posted {
		o := opener{s: s.store, key: m.Key, plain: s.keys.ReadPlain}
		if m.Data, err = o.open(&place{key: m.Key, name: m.ID}, m.Data); err != nil {
			problems = append(problems, err)
			continue
		}
		opened = append(opened, m)
	}
	return opened, errors.Join(problems...)
}
