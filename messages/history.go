package messages

import (
	"bytes"
	"slices"
)

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

// Common returns how many messages at the beginning of h also begin other: they are the same, byte
// for byte in their JSON form. For histories that share their messages it does not write that form.
func (h History) Common(other History) int {
	n := min(len(h), len(other))
	for i := range n {
		if !equal(h[i], other[i]) {
			return i
		}
	}
	return n
}

// equal reports whether two messages have the same JSON form. A message without one equals none
// other.
func equal(a, b Message) bool {
	if same(a, b) && !hasExtras(a) && !hasExtras(b) {
		return true
	}
	one, err := AppendMessage(nil, a)
	if err != nil {
		return false
	}
	two, err := AppendMessage(nil, b)
	return err == nil && bytes.Equal(one, two)
}

// hasExtras reports whether a message has extras, which same does not compare.
func hasExtras(m Message) bool {
	switch m := m.(type) {
	case System:
		return len(m.Extras) > 0
	case User:
		return len(m.Extras) > 0
	case Assistant:
		return len(m.Extras) > 0
	case Tool:
		return len(m.Extras) > 0
	default:
		return true
	}
}
