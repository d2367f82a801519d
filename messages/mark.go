package messages

// A Mark remembers how far a [History] has been read, so that a longer version of the same history
// is recognized at a cost that does not depend on its length. [Validator] works by it, and so can
// whatever else is done once for each message.
//
// It relies on histories being append-only: one counts as the old one made longer when it is no
// shorter, begins at the same address, and the first and the last message of the part that was read
// are the same in memory. Any other has to be read anew. So what is cut out in place is noticed,
// with slices.Delete too, since that moves the last message; a message replaced in the middle is
// not. The conformance test of package strategytest looks for that.
//
// A Mark keeps the messages that it compares in memory. The zero Mark remembers nothing.
type Mark struct {
	at     *Message // where the history begins
	length int
	first  Message
	last   Message
	anchor Message // the last that has parts, by which it is told from its like
	back   int     // how many messages behind it were read
}

// Mark returns a Mark of all that stands in the history.
func (h History) Mark() Mark {
	if len(h) == 0 {
		return Mark{}
	}
	n := len(h)
	m := Mark{at: &h[0], length: n, first: h[0], last: h[n-1]}
	for m.back < min(n-1, maxBack) && !hasParts(h[n-1-m.back]) {
		m.back++
	}
	m.anchor = h[n-1-m.back]
	return m
}

// maxBack bounds how far an anchor lies behind the last message. Answers of tools may look alike,
// so it lies before them.
const maxBack = 64

// Known returns how many messages of h have been read: all those of the history that was marked, if
// h is that history or a longer version; else 0.
func (m *Mark) Known(h History) int {
	n := m.length
	if n == 0 || len(h) < n || m.at != &h[0] || !same(h[0], m.first) || !same(h[n-1], m.last) || !same(h[n-1-m.back], m.anchor) {
		return 0
	}
	return n
}

// hasParts reports whether same tells m from another message with the same words.
func hasParts(m Message) bool {
	switch m := m.(type) {
	case User:
		return len(m.Content) > 0
	case Assistant:
		return len(m.Content) > 0
	default:
		return false
	}
}

// same reports whether two messages are the same in memory, as far as that can be told: those with
// parts by where the parts lie, the others by their words. Words that lie in the same place are not
// compared.
func same(a, b Message) bool {
	switch a := a.(type) {
	case System:
		b, ok := b.(System)
		return ok && a.Text == b.Text
	case User:
		b, ok := b.(User)
		return ok && sameParts(a.Content, b.Content)
	case Assistant:
		b, ok := b.(Assistant)
		return ok && sameParts(a.Content, b.Content)
	case Tool:
		b, ok := b.(Tool)
		return ok && a.CallID == b.CallID && a.ToolName == b.ToolName && a.Status == b.Status && a.Reason == b.Reason &&
			a.Untrusted == b.Untrusted && a.Elapsed == b.Elapsed && sameParts(a.Attachments, b.Attachments) && a.Output == b.Output
	default:
		return false // no message as a value: it is found again each time
	}
}

func sameParts[P any](a, b []P) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
