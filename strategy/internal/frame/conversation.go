package frame

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// Conversation is [delegation.Input.Conversation] with the system prompt of a Config. With keep, a
// conversation that begins with a system message keeps this message.
func Conversation(in delegation.Input, system string, keep bool) (h messages.History, repaired []string) {
	if keep {
		h, repaired = in.Conversation("")
		if len(h) > 0 && h[0].Role() == messages.RoleSystem {
			return h, repaired
		}
	}
	return in.Conversation(system)
}
