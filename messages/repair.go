package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RepairKind names a kind of change made by [History.Repair].
type RepairKind string

// The kinds.
const (
	repairDropped       RepairKind = "dropped"        // a message that is nil or of a type outside the sum was left out
	repairPartDropped   RepairKind = "part_dropped"   // the same, of a part of a message
	repairDereferenced  RepairKind = "dereferenced"   // a pointer to a message or part became the value
	repairEmptyDropped  RepairKind = "empty_dropped"  // an empty assistant message was left out
	repairCallDropped   RepairKind = "call_dropped"   // a repeated call of one message was left out
	repairRenamed       RepairKind = "renamed"        // a call got a new id: it had none, or the id of another call
	repairMoved         RepairKind = "moved"          // an answer was moved up to its assistant message
	repairAnswerDropped RepairKind = "answer_dropped" // an answer without a call, or to an answered call, was left out
	repairClosed        RepairKind = "closed"         // a call without an answer was answered as interrupted
)

// Repair is one change that [History.Repair] made.
type Repair struct {
	Index  int // of the message in the history that was repaired
	Kind   RepairKind
	CallID string // the original id, for a call or an answer
}

// repairTexts describes each kind of change; %s is the id of the call.
var repairTexts = map[RepairKind]string{
	repairDropped:       "no message: left out",
	repairPartDropped:   "a part that is none: left out",
	repairDereferenced:  "a pointer: replaced by its value",
	repairEmptyDropped:  "an empty assistant message: left out",
	repairCallDropped:   "call %s occurs twice: one was left out",
	repairRenamed:       "call %s has no id of its own: renamed",
	repairMoved:         "the answer to %s comes too late: moved up",
	repairAnswerDropped: "the answer to %s has no call: left out",
	repairClosed:        "call %s has no answer: answered as interrupted",
}

// String describes the change in words.
func (r Repair) String() string {
	text := cmp.Or(repairTexts[r.Kind], string(r.Kind))
	return fmt.Sprintf("message %d: ", r.Index) + strings.Replace(text, "%s", fmt.Sprintf("%.64q", r.CallID), 1)
}

// These reasons tell a strategy what it should do besides reading the result.
const (
	ReasonLimit      = "limit"      // the call was not made, because of a limit of tool calls: conclude, as further calls end the strategy
	ReasonRepetition = "repetition" // the call was not made, because it was made before with the same result and nothing is new: conclude
	ReasonRefused    = "refused"    // the call was not made, because it was not approved: do not make it again
	ReasonSame       = "same"       // the call was made, and the result is the same as before, as [ToolOutput.ForModel] tells the model
)

// [History.Repair] answers an open call with this text and reason, and with [StatusUnknown].
const (
	ReasonInterrupted = "interrupted"
	textInterrupted   = "No result: the run was interrupted before this call was answered. Whether it had an effect is unknown."
)

// Repair returns a history that obeys the laws of [History.Validate], and the changes that it made,
// in order of index. It returns a lawful history unchanged, with no repairs. It never modifies h;
// the result shares unchanged elements with h.
//
// Pointers are replaced by the values they point to. Invalid messages, invalid parts and empty
// assistant messages are left out. Then, for each assistant message with calls:
//
//   - A call that repeats another (same id, name and arguments) is left out; texts that it stood
//     between stay paragraphs. A call without an id, or with the id of a different call, gets a new
//     id.
//   - An answer belongs to the nearest earlier assistant message that has a call with its id. If
//     other messages stand between the two, the answer is moved up. If no call has its id, or the
//     call is already answered, the answer is left out. Where several calls had one id, an answer
//     belongs to the first unanswered call with its ToolName, or else to the first unanswered call.
//   - A call without an answer is answered with [StatusUnknown], [ReasonInterrupted] and a text
//     that says so.
func (h History) Repair() (History, []Repair) {
	if h.Validate() == nil {
		return h, nil
	}
	r := repairer{latest: map[string]int{}}
	for i, m := range h {
		r.add(i, m)
	}
	out := r.history()
	slices.SortStableFunc(r.repairs, func(a, b Repair) int { return a.Index - b.Index })
	return out, r.repairs
}

// repairer splits a history into entries and assigns each answer to its entry.
type repairer struct {
	entries []entry
	latest  map[string]int // id of a call, before renaming, to the latest entry with such a call
	repairs []Repair
}

// entry is a message other than an answer, with its calls.
type entry struct {
	index   int
	message Message
	calls   []repairedCall
	answers []Tool
}

type repairedCall struct {
	was      string // the id before renaming
	id       string
	name     string
	answered bool
}

func (r *repairer) note(index int, kind RepairKind, callID string) {
	r.repairs = append(r.repairs, Repair{Index: index, Kind: kind, CallID: callID})
}

func (r *repairer) add(index int, m Message) {
	m, kind := messageValue(m)
	if kind != "" {
		r.note(index, kind, "")
	}
	switch m := m.(type) {
	case System:
		r.entries = append(r.entries, entry{index: index, message: m})
	case User:
		m.Content = repairParts(r, index, m.Content, userPartValue)
		r.entries = append(r.entries, entry{index: index, message: m})
	case Assistant:
		r.addAssistant(index, m)
	case Tool:
		r.addAnswer(index, m)
	}
}

func (r *repairer) addAssistant(index int, m Assistant) {
	m.Content = repairParts(r, index, m.Content, assistantPartValue)
	e := entry{index: index}
	m.Content, e.calls = r.repairCalls(index, m.Content)
	e.message = m
	if m.Empty() {
		r.note(index, repairEmptyDropped, "")
		return
	}
	for _, c := range e.calls {
		r.latest[c.was] = len(r.entries)
	}
	r.entries = append(r.entries, e)
}

// repairCalls gives each call its own id and leaves out repeated calls.
func (r *repairer) repairCalls(index int, content []AssistantContent) ([]AssistantContent, []repairedCall) {
	type key struct{ id, name, arguments string }
	seen := map[key]bool{}
	first := map[string]bool{} // ids whose first call has been seen
	taken := map[string]bool{"": true}
	for _, c := range content {
		if call, ok := c.(ToolCall); ok {
			taken[call.ID] = true
		}
	}
	var calls []repairedCall
	before := len(r.repairs)
	kept := make([]AssistantContent, 0, len(content))
	for _, c := range content {
		call, ok := c.(ToolCall)
		if !ok {
			kept = append(kept, c)
			continue
		}
		was, k := call.ID, key{call.ID, call.Name, call.Arguments}
		if was != "" && seen[k] {
			r.note(index, repairCallDropped, was)
			kept = append(kept, nil)
			continue
		}
		if was == "" || first[was] {
			call.ID = newID(was, index, taken)
			taken[call.ID] = true
			r.note(index, repairRenamed, was)
		}
		seen[k], first[was] = true, true
		kept = append(kept, call)
		calls = append(calls, repairedCall{was: was, id: call.ID, name: call.Name})
	}
	if len(r.repairs) == before {
		return content, calls
	}
	return closeGaps(kept), calls
}

// closeGaps leaves out the parts that are nil, of calls. Texts that only such calls stood between
// stay paragraphs: see [Assistant.Text].
func closeGaps(content []AssistantContent) []AssistantContent {
	kept := make([]AssistantContent, 0, len(content))
	last, gap := -1, false // where the last text is in kept, if no call follows it; whether a call after it is left out
	for _, c := range content {
		switch c := c.(type) {
		case nil:
			gap = true
			continue
		case ToolCall:
			last = -1
		case Text:
			if c.Text == "" {
				break
			}
			if gap && last >= 0 {
				t := kept[last].(Text)
				t.Text += between(t.Text, c.Text)
				kept[last] = t
			}
			last, gap = len(kept), false
		}
		kept = append(kept, c)
	}
	return kept
}

// newID derives an unused id. The same history gives the same ids.
func newID(was string, index int, taken map[string]bool) string {
	if was == "" {
		was = "call_" + strconv.Itoa(index)
	}
	id := was
	for n := 2; taken[id]; n++ {
		id = was + "_" + strconv.Itoa(n)
	}
	return id
}

func (r *repairer) addAnswer(index int, m Tool) {
	at, ok := r.latest[m.CallID]
	if !ok {
		r.note(index, repairAnswerDropped, m.CallID)
		return
	}
	e := &r.entries[at]
	call := e.openCall(m.ToolOutput)
	if call == nil {
		r.note(index, repairAnswerDropped, m.CallID)
		return
	}
	if at != len(r.entries)-1 {
		r.note(index, repairMoved, m.CallID)
	}
	call.answered = true
	m.CallID = call.id
	e.answers = append(e.answers, m)
}

// openCall returns the call that o answers, or nil.
func (e *entry) openCall(o ToolOutput) *repairedCall {
	var open *repairedCall
	for i := range e.calls {
		c := &e.calls[i]
		if c.answered || c.was != o.CallID {
			continue
		}
		if c.name == o.ToolName {
			return c
		}
		if open == nil {
			open = c
		}
	}
	return open
}

// history joins the entries and answers the open calls.
func (r *repairer) history() History {
	var h History
	for _, e := range r.entries {
		h = append(h, e.message)
		for _, a := range e.answers {
			h = append(h, a)
		}
		for _, c := range e.calls {
			if c.answered {
				continue
			}
			r.note(e.index, repairClosed, c.was)
			h = append(h, Tool{ToolOutput: ToolOutput{
				CallID: c.id, ToolName: c.name, Output: textInterrupted, Status: StatusUnknown, Reason: ReasonInterrupted,
			}})
		}
	}
	return h.Clip()
}
