package delegation

import (
	"slices"

	"github.com/segue-go/segue/messages"
)

// Conversation returns the first messages of a strategy's conversation. They are the system prompt,
// then Messages, repaired where they break the laws of a history, then the Goal as a user message
// if it is not empty.
//
// The system prompt is that of the current agent. It replaces the system messages at the beginning
// of Messages, which belong to another agent or to an earlier run of this one. If system is "",
// these messages stay. Repaired describes the repairs in words. The caller owns the slice, which
// has spare capacity.
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

// Question returns the Goal or, if that is empty, the text of the last user message. It returns ""
// if there is neither.
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
