package delegation

import "github.com/segue-go/segue/messages"

// Part is a piece of a child's work of which the parent's Messages show only the result, such as a
// step of a plan, or an attempt before the last one.
type Part struct {
	// Name identifies the child to its parent, such as the id of a step. "a/b" is the child b of
	// the child a.
	Name string `json:"name,omitempty"`

	After    int              `json:"after,omitempty"`    // the number of Messages of the Output before it
	Messages messages.History `json:"messages,omitempty"` // the child's messages, without those of its input; read-only
}

// PartsOf returns a child's work as Parts of its parent's Output: one Part, or several if the child
// has Parts of its own. After is the length of the parent's conversation when the child began.
func PartsOf(child Output, name string, after int) []Part {
	var parts []Part
	at := child.begin()
	upTo := func(end int) {
		if end = min(end, len(child.Messages)); at < end {
			parts = append(parts, Part{Name: name, After: after, Messages: child.Messages[at:end].Clip()})
			at = end
		}
	}
	for _, inner := range child.Parts {
		upTo(inner.After)
		parts = append(parts, Part{Name: name + "/" + inner.Name, After: after, Messages: inner.Messages})
	}
	upTo(len(child.Messages))
	return parts
}

// begin returns Begin, limited to the range of Messages.
func (o Output) begin() int { return max(0, min(o.Begin, len(o.Messages))) }

// turn yields the messages of this turn, with the messages of Parts at their places.
func (o Output) turn(yield func(messages.Message)) {
	begin, next := o.begin(), 0
	for i := begin; i <= len(o.Messages); i++ {
		for ; next < len(o.Parts) && (o.Parts[next].After <= i || i == len(o.Messages)); next++ {
			for _, m := range o.Parts[next].Messages {
				yield(m)
			}
		}
		if i < len(o.Messages) {
			yield(o.Messages[i])
		}
	}
}
