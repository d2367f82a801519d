package delegation

import "github.com/segue-go/segue/messages"

// Share chooses what a child sees of its parent's conversation: it is given the parent's messages
// and returns those to hand over. It must be pure and must not change what it is given. A nil Share
// hands over nothing: the child sees its goal.
type Share func(messages.History) messages.History

// Of returns the messages to hand over: those that s chooses of h, made to obey the laws of a
// history.
func (s Share) Of(h messages.History) messages.History {
	if s == nil {
		return nil
	}
	chosen, _ := s(h.Clip()).Repair()
	return chosen.Clip()
}

// ShareAll hands over the whole conversation.
func ShareAll(h messages.History) messages.History { return h }

// ShareLast returns a Share of the last n messages. Answers whose calls are not among them are left
// out.
func ShareLast(n int) Share {
	return func(h messages.History) messages.History { return h[max(0, len(h)-max(0, n)):] }
}
