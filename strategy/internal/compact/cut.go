package compact

import (
	"slices"

	"github.com/segue-go/segue/messages"
)

// cut says where a conversation is cut: the messages from At on stay, and those before become old,
// except the ones that always stay.
type cut struct {
	At   int  `json:"at"`
	Task bool `json:"task,omitempty"` // the message of the task is before At, and stays
}

// stays reports whether a message before a cut stays, word for word.
func stays(m messages.Message) bool {
	switch m := m.(type) {
	case messages.System:
		return true
	case messages.User:
		return m.Pinned
	default:
		return false
	}
}

// isSummary reports whether a message stands for earlier ones.
func isSummary(m messages.Message) bool {
	u, ok := m.(messages.User)
	return ok && u.Summary && !u.Pinned
}

// cuts returns the places where a conversation may be cut, the last turns of which are to stay: the
// ones that keep most come first. A turn begins with a message of the user; the last turn begins
// with the task. Behind the task a cut is before a reply, so that calls keep their results.
func cuts(h messages.History, task, keep int) []cut {
	var turns []int // the beginnings of turns, the last one first
	for i := min(task, len(h)-1); i >= 0 && len(turns) < keep; i-- {
		if begins(h, i) {
			turns = append(turns, i)
		}
	}
	slices.Reverse(turns)
	list := make([]cut, 0, 2*keep)
	for _, at := range turns {
		list = append(list, cut{At: at})
	}
	var rounds []int
	for i := len(h) - 1; i > task+1 && len(rounds) < keep; i-- {
		if h[i].Role() == messages.RoleAssistant {
			rounds = append(rounds, i)
		}
	}
	for _, at := range slices.Backward(rounds) {
		list = append(list, cut{At: at, Task: task >= 0})
	}
	return list
}

// begins reports whether a turn begins with message i: it is the first of the user's messages in a
// row.
func begins(h messages.History, i int) bool {
	if h[i].Role() != messages.RoleUser || isSummary(h[i]) {
		return false
	}
	return i == 0 || h[i-1].Role() != messages.RoleUser || isSummary(h[i-1])
}

// parts are a conversation that was cut.
type parts struct {
	kept []messages.Message // of those before the cut, in order
	old  []messages.Message
	tail []messages.Message
	task int // index of the task in what stays; -1 if there is none. The message that stands for old comes before the tail
}

// split cuts a conversation.
func (c cut) split(h messages.History, task int) parts {
	p := parts{tail: h[c.At:], task: -1}
	for i, m := range h[:c.At] {
		if stays(m) || c.Task && i == task {
			if i == task {
				p.task = len(p.kept)
			}
			p.kept = append(p.kept, m)
			continue
		}
		p.old = append(p.old, m)
	}
	if task >= c.At {
		p.task = len(p.kept) + 1 + task - c.At
	}
	return p
}

// fresh returns the size of what is old and has no summary that stands for it yet, in bytes.
func (p *parts) fresh() (size int) {
	for i, m := range p.old {
		if !isSummary(m) {
			size += sizeOf(p.old[i : i+1])
		}
	}
	return size
}

// untrusted reports whether what is old holds text from outside.
func (p *parts) untrusted() bool {
	return slices.ContainsFunc(p.old, func(m messages.Message) bool {
		switch m := m.(type) {
		case messages.Tool:
			return m.Untrusted
		case messages.User:
			return m.Untrusted
		default:
			return false
		}
	})
}

// with returns the conversation with a message in place of what is old.
func (p *parts) with(m messages.User) messages.History {
	h := make(messages.History, 0, len(p.kept)+1+len(p.tail)+8)
	return append(append(append(h, p.kept...), m), p.tail...)
}
