package messages

import "fmt"

// Law names one of the laws of a [History].
type Law string

// The laws. LawVariant concerns the program; providers enforce the others.
const (
	LawVariant    Law = "variant"        // messages and parts are variants as values: not nil, not a pointer
	LawEmpty      Law = "empty"          // an assistant message is not empty: it has a text, a thought or a call; see Assistant.Empty
	LawCallID     Law = "call_id"        // a call has an id
	LawDuplicate  Law = "duplicate"      // the calls of one assistant message have different ids
	LawUnanswered Law = "unanswered"     // each call is answered directly after its assistant message
	LawOrphan     Law = "orphan"         // a tool message answers a call of the assistant message before it
	LawTwice      Law = "answered_twice" // a call has only one answer
)

// LawError reports which message breaks which law of a [History].
type LawError struct {
	Index  int // of the message; for LawUnanswered, of the assistant message
	Law    Law
	CallID string // of the call or answer; "" for LawVariant, LawEmpty and LawCallID
	Type   string // for LawVariant, the Go type found
}

// Error describes the message, the call and the broken law.
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
		return at + fmt.Sprintf("call %.64q is not answered directly after its message", e.CallID)
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
//   - no assistant message is empty: it has a call, a non-empty text, or a thought with text or
//     extras;
//   - each call has an id, different from the other ids of its message (later messages may use it
//     again);
//   - the messages directly after an assistant message with calls answer these calls, one each, in
//     any order;
//   - there are no other tool messages.
//
// The cost is linear in the length of the history. To check a growing history repeatedly, use a
// [Validator].
func (h History) Validate() error {
	if _, broken := h.check(0); broken != nil {
		return broken
	}
	return nil
}

// A Validator validates a growing history. The cost of Check depends only on what was added since
// the last Check.
//
// A Validator relies on histories being append-only. It recognizes the last checked history by a
// [Mark], and reads any other history from its beginning. It keeps the last checked history in
// memory. The zero value is ready to use. A Validator is not safe for concurrent use.
type Validator struct {
	sound Mark // covers the part that obeys the laws and leaves no call open
}

// Check returns what h.Validate() returns.
func (v *Validator) Check(h History) error {
	if len(h) == 0 {
		return nil
	}
	sound, broken := h.check(v.sound.Known(h))
	v.sound = h[:sound].Mark()
	if broken != nil {
		return h.Validate() // the full check, which names the broken law
	}
	return nil
}

// check checks h from a place where no call is open. It returns the length of the part that obeys
// the laws and leaves no call open, and the first error after that part.
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
		case Text, Image, File, Audio:
		default:
			return &LawError{Index: index, Law: LawVariant, Type: fmt.Sprintf("%T", c)}
		}
	}
	return nil
}

// turn is an assistant message and the answers after it. Up to 64 parts it allocates nothing.
type turn struct {
	index    int
	content  []AssistantContent
	open     int             // calls without an answer yet
	answered uint64          // bit i: the call content[i] is answered; for up to 64 parts
	ids      map[string]bool // id to answered; for more parts
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

// part returns the index of the call with that id among the first n parts, or -1.
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

// end ends the turn: the next message is not an answer.
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
