package messages

import "slices"

// History is a conversation, oldest message first.
//
// It is append-only: an element that once stood in a history that was handed over is never changed,
// moved or cut out. To trim or rewrite a conversation, make a new History. Hand a history over with
// [History.Clip], so that whoever appends to it copies instead of writing into your slice. See
// [Mark] for what is noticed where this is broken.
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
