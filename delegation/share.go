package delegation

import "github.com/segue-go/segue/messages"

// Share chooses what a child sees of its parent's conversation. It receives the parent's messages
// and returns the messages for the child. It must be pure and must not change its argument. A nil
// Share returns no messages: the child sees only its goal.
type Share func(messages.History) messages.History

// Of returns the messages that s chooses from h, repaired to obey the laws of a history.
func (s Share) Of(h messages.History) messages.History {
	if s == nil {
		return nil
	}
	chosen, _ := s(h.Clip()).Repair()
	return chosen.Clip()
}

// ShareAll returns the whole conversation.
func ShareAll(h messages.History) messages.History { return h }

// ShareLast returns a Share of the last n messages. Answers whose calls are not among them are left
// out.
func ShareLast(n int) Share {
	return func(h messages.History) messages.History { return h[max(0, len(h)-max(0, n)):] }
}
