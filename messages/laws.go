package messages

import "fmt"

// Law names one of the laws of a [History].
type Law string

// The laws. LawVariant is about the program; the others are about what providers accept.
const (
	LawVariant    Law = "variant"        // messages and parts are value variants of the sums: no nil, no pointer
	LawEmpty      Law = "empty"          // an assistant message says something: a text, a thought or a call
	LawCallID     Law = "call_id"        // a call has an id
	LawDuplicate  Law = "duplicate"      // the ids of one assistant message differ
	LawUnanswered Law = "unanswered"     // each call is answered directly behind its assistant message
	LawOrphan     Law = "orphan"         // a tool message answers a call of the assistant message before it
	LawTwice      Law = "answered_twice" // and is the only one that does
)

// LawError says which message breaks which law of a [History].
type LawError struct {
	Index  int // of the message; for LawUnanswered, of the assistant message
	Law    Law
	CallID string // of the call or answer; "" for LawVariant, LawEmpty and LawCallID
	Type   string // for LawVariant, the Go type found
}

// Error names the message, the call and what is wrong with it.
func (e *LawError) Error() string {
	at := fmt.Sprintf("messages: message %d: ", e.Index)
	switch e.Law {
	case LawVariant:
		return at + e.Type + " is not a message or part as a value"
	case LawEmpty:
		return at + "the assistant message is empty; leave it out"
	case LawCallID:
		return at + "a call has no id"
	case LawDuplicate:
		return at + fmt.Sprintf("two calls have the id %.64q", e.CallID)
	case LawUnanswered:
		return at + fmt.Sprintf("call %.64q is not answered directly behind its message", e.CallID)
	case LawOrphan:
		return at + fmt.Sprintf("the answer to %.64q follows no such call", e.CallID)
	case LawTwice:
		return at + fmt.Sprintf("call %.64q is answered a second time", e.CallID)
	default:
		return at + fmt.Sprintf("law %q is broken", e.Law)
	}
}

// Validate checks the laws and returns a [*LawError] for the first message that breaks one:
//
//   - messages and their parts are variants as values;
//   - no assistant message is empty: it has a call, or a text or thought that is not "";
//   - each call has an id, unlike the others of its message (later messages may use it again);
//   - the messages directly behind an assistant message with calls are the answers to them, one each, in any order;
//   - there are no other tool messages.
//
// The cost is linear in the length. To check a history again and again while it grows, use a
// [Validator].
func (h History) Validate() error {
	if _, broken := h.check(0); broken != nil {
		return broken
	}
	return nil
}

// A Validator is [History.Validate] for a history that grows: Check costs only what is new since
// the last Check.
//
// It relies on histories being append-only, and recognizes the history that it checked last by a
// [Mark]. Any other is read anew. The zero value is ready. It holds the history it checked last in
// memory, and is not safe for concurrent use.
type Validator struct {
	sound Mark // of the part that obeys the laws and leaves no call open
}

// Check returns what h.Validate() returns.
func (v *Validator) Check(h History) error {
	if len(h) == 0 {
		return nil
	}
	sound, broken := h.check(v.sound.Known(h))
	v.sound = h[:sound].Mark()
	if broken != nil {
		return h.Validate() // which names the law with all that stands before
	}
	return nil
}

// check checks h from a place at which no call is open. It returns how far the history obeys the
// laws and leaves no call open, and what breaks them behind that.
func (h History) check(from int) (sound int, broken *LawError) {
	var t turn
	sound = from
	for i := from; i < len(h); i++ {
		switch m := h[i].(type) {
		case Tool:
			broken = t.answer(i, m.CallID)
		case Assistant:
			if broken = t.end(); broken == nil {
				broken = t.begin(i, m)
			}
		case User:
			if broken = t.end(); broken == nil {
				broken = checkUser(i, m.Content)
			}
		case System:
			broken = t.end()
		default:
			broken = &LawError{Index: i, Law: LawVariant, Type: fmt.Sprintf("%T", m)}
		}
		if broken != nil {
			return sound, broken
		}
		if t.open == 0 {
			sound = i + 1
		}
	}
	return sound, t.end()
}

func checkUser(index int, content []UserContent) *LawError {
	for _, c := range content {
		switch c.(type) {
		case Text, Image:
		default:
			return &LawError{Index: index, Law: LawVariant, Type: fmt.Sprintf("%T", c)}
		}
	}
	return nil
}

// turn is an assistant message with the answers behind it. Up to 64 parts it allocates nothing.
type turn struct {
	index    int
	content  []AssistantContent
	open     int             // calls without an answer
	answered uint64          // bit i: the call content[i] is answered; for up to 64 parts
	ids      map[string]bool // id to answered; for more
}

func (t *turn) begin(index int, m Assistant) *LawError {
	*t = turn{index: index, content: m.Content}
	if len(m.Content) > 64 {
		t.ids = make(map[string]bool, len(m.Content))
	}
	for i, c := range m.Content {
		switch c := c.(type) {
		case Text, Thought:
		case ToolCall:
			if broken := t.add(i, c.ID); broken != nil {
				return broken
			}
		default:
			return &LawError{Index: index, Law: LawVariant, Type: fmt.Sprintf("%T", c)}
		}
	}
	if t.open == 0 && m.Empty() {
		return &LawError{Index: index, Law: LawEmpty}
	}
	return nil
}

func (t *turn) add(part int, id string) *LawError {
	if id == "" {
		return &LawError{Index: t.index, Law: LawCallID}
	}
	known := false
	if t.ids != nil {
		_, known = t.ids[id]
		t.ids[id] = false
	} else {
		known = t.part(id, part) >= 0
	}
	if known {
		return &LawError{Index: t.index, Law: LawDuplicate, CallID: id}
	}
	t.open++
	return nil
}

// part returns where the call with that id stands among the first n parts, or -1.
func (t *turn) part(id string, n int) int {
	for i, c := range t.content[:n] {
		if call, ok := c.(ToolCall); ok && call.ID == id {
			return i
		}
	}
	return -1
}

func (t *turn) answer(index int, id string) *LawError {
	var known, twice bool
	if t.ids != nil {
		twice, known = t.ids[id]
		if known {
			t.ids[id] = true
		}
	} else if part := t.part(id, len(t.content)); part >= 0 {
		known, twice = true, t.answered&(1<<part) != 0
		t.answered |= 1 << part
	}
	switch {
	case !known:
		return &LawError{Index: index, Law: LawOrphan, CallID: id}
	case twice:
		return &LawError{Index: index, Law: LawTwice, CallID: id}
	}
	t.open--
	return nil
}

// end ends the turn: what follows is no answer.
func (t *turn) end() *LawError {
	if t.open == 0 {
		*t = turn{}
		return nil
	}
	for i, c := range t.content {
		call, ok := c.(ToolCall)
		if ok && t.answered&(1<<i) == 0 && !t.ids[call.ID] {
			return &LawError{Index: t.index, Law: LawUnanswered, CallID: call.ID}
		}
	}
	return nil
}
