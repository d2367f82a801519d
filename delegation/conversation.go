package delegation

import (
	"slices"

	"github.com/segue-go/segue/messages"
)

// Conversation returns what a strategy begins its own with: the system prompt; Messages, restored
// where they break the laws of a history; and the Goal, if there is one, as a user message.
//
// The system prompt is that of the agent that works now: it takes the place of the system messages
// that Messages begin with, which were another agent's or this one's at an earlier time. With ""
// those stay. repaired says in words what was restored. The slice is the caller's, with room for
// more.
func (in Input) Conversation(system string) (h messages.History, repaired []string) {
	before, repairs := in.Messages.Repair()
	for _, r := range repairs {
		repaired = append(repaired, r.String())
	}
	h = make(messages.History, 0, len(before)+4)
	if system != "" {
		h = append(h, messages.System{Text: system})
		for len(before) > 0 && before[0].Role() == messages.RoleSystem {
			before = before[1:]
		}
	}
	h = append(h, before...)
	if in.Goal != "" {
		h = append(h, messages.UserText(in.Goal))
	}
	return h, repaired
}

// Question returns the Goal or, if that is empty, the text of the last user message; "" if there is
// neither.
func (in Input) Question() string {
	if in.Goal != "" {
		return in.Goal
	}
	for _, m := range slices.Backward(in.Messages) {
		if u, ok := m.(messages.User); ok {
			return u.Text()
		}
	}
	return ""
}
