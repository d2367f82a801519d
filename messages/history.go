package messages

import "slices"

// History is a conversation, oldest message first.
//
// A History is append-only. Once a history has been passed to other code, its elements must not be
// changed, moved or removed. To trim or rewrite a conversation, make a new History. Pass a history
// on with [History.Clip]: then an append by the receiver copies the slice and does not write into
// yours. [Mark] says which violations of this rule are detected.
type History []Message

// Clip returns the history with no spare capacity.
func (h History) Clip() History { return slices.Clip(h) }

// Last returns the last message, or nil.
func (h History) Last() Message {
	if len(h) == 0 {
		return nil
	}
	return h[len(h)-1]
}
