package machine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// This file converts each record to the form that a journal would return, before the record is
// applied, so that a replay decides in the same way: valid UTF-8, times in UTC, no raw bodies, no
// causes of errors, nil for empty values. The codec defines this form: a record is encoded and
// decoded again. Nearly every step has a plain record, which would come back unchanged; plain
// records are not encoded.

// timePrecision is the precision of the expiry of a wait.
const timePrecision = time.Millisecond

// canonical returns a record in the form that its journal would return. A record without a JSON
// form is returned unchanged, with an error that says why.
func canonical[R Record](r R) (R, error) {
	text, err := AppendRecord(nil, r)
	if err != nil {
		return r, err
	}
	read, err := ReadRecord(text)
	if err != nil {
		return r, err
	}
	return read.(R), nil
}

// canonicalStarted is canonical without the tools, which are the same in most runs.
func canonicalStarted(r *Started) {
	if r.isPlain() {
		r.At = r.At.UTC()
		return
	}
	defs := r.Tools
	r.Tools = nil
	*r, _ = canonical(*r) // without a JSON form it cannot be stored either
	r.Tools = defs
}

// canonicalAnswered is canonical for the records of every step. Most of them hold the raw body of a
// reply.
func canonicalAnswered(r *Answered) error {
	if a, ok := r.Answer.(nextstep.APIResponse); ok && a.Response != nil && a.Response.Raw != nil {
		resp := *a.Response
		resp.Raw = nil
		r.Answer = nextstep.APIResponse{Response: &resp}
	}
	if isText(r.Frame, string(r.Kind), r.Tool, r.Digest) && isPlainAnswer(r.Answer) {
		r.At = r.At.UTC()
		return nil
	}
	read, err := canonical(*r)
	*r = read
	return err
}

// canonicalIntended is canonical for the record before every unsafe call.
func canonicalIntended(r *Intended) {
	r.At = r.At.UTC()
	if !isText(r.Frame, string(r.Kind), r.Tool, r.Digest) {
		*r, _ = canonical(*r)
	}
}

// canonicalAsked is canonical for the record of a question.
func canonicalAsked(r *Asked) {
	r.At = r.At.UTC()
	if !r.Wait.plain() {
		*r, _ = canonical(*r)
	}
}

// canonicalSuspended is canonical for the record of an effect that waits.
func canonicalSuspended(r *Suspended) {
	r.At = r.At.UTC()
	if len(r.Waits) == 0 || (r.State != nil && (!isCompact(r.State) || r.State[0] == 'n')) {
		*r, _ = canonical(*r)
		return
	}
	waits := slices.Clone(r.Waits) // the caller's stay as they are
	for i := range waits {
		if !waits[i].plain() {
			*r, _ = canonical(*r)
			return
		}
	}
	r.Waits, r.State = waits, slices.Clone(r.State)
}

// canonicalReplied is canonical for the record of a reply.
func canonicalReplied(r *Replied) {
	r.At = r.At.UTC()
	p := &r.Reply
	if r.Err != nil || !isText(p.WaitID, p.Text, p.Reason, p.Arguments) {
		*r, _ = canonical(*r)
	}
}

// canonicalStopped is canonical for the record of a stop.
func canonicalStopped(r *Stopped) {
	r.At = r.At.UTC()
	if !isText(r.Reason, r.Frame) {
		*r, _ = canonical(*r)
	}
}

// canonicalResumed is canonical for the record of a resume.
func canonicalResumed(r *Resumed) {
	r.At = r.At.UTC()
	if !isText(string(r.Unknown)) {
		*r, _ = canonical(*r)
	}
}

// plain puts the wait into the form that a journal would return. It reports false, and changes
// nothing that matters, for one that has to go through the codec.
func (w *Wait) plain() bool {
	w.Expires = w.Expires.UTC()
	return (w.Options == nil || len(w.Options) > 0) && isText(w.Options...) &&
		isText(w.ID, w.Run, w.Frame, w.Kind, w.CallID, w.Tool, w.Arguments, w.Text)
}

// canonicalTools returns definitions of tools in the form that a journal would return.
func canonicalTools(defs []tools.Definition) []tools.Definition {
	if !slices.ContainsFunc(defs, func(d tools.Definition) bool { return !isPlainDefinition(&d) }) {
		return defs
	}
	r, err := canonical(Started{Tools: defs})
	if err != nil {
		return defs
	}
	return r.Tools
}

// canonicalCall returns a call in the form that a journal would return.
func canonicalCall(c messages.ToolCall) messages.ToolCall {
	if isPlainCall(&c) {
		return c
	}
	if r, err := canonical(Answered{Answer: nextstep.ToolResult{Call: new(c)}}); err == nil {
		return *r.Answer.(nextstep.ToolResult).Call
	}
	return c
}

// isText reports whether all texts are UTF-8.
func isText(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// isPlain reports whether a journal would return the record unchanged, apart from its time and its
// tools.
func (r *Started) isPlain() bool {
	if r.Input.Messages != nil && len(r.Input.Messages) == 0 {
		return false
	}
	for _, m := range r.Input.Messages {
		if !isPlainMessage(m) {
			return false
		}
	}
	return r.Input.Data == nil && r.Temperature == nil && r.Metadata == nil && r.Labels == nil && r.Origin == nil && r.Fingerprints == nil &&
		isText(r.Run, r.Strategy, r.Input.Goal, r.StopNote, r.Model, r.Namespace, r.Nonce, r.Library)
}

// isPlainAnswer reports whether a journal would return the answer unchanged.
func isPlainAnswer(a nextstep.Answer) bool {
	switch a := a.(type) {
	case nextstep.APIResponse:
		r := a.Response
		return r != nil && r.Attempts == nil && isText(string(r.Finish), r.Model, r.Asked, r.ID) && isPlainMessage(r.Message)
	case nextstep.ToolResult:
		return a.Call == nil && isPlainOutput(&a.Output)
	case nextstep.Failure:
		return a.Partial.Content == nil && isPlainMessage(a.Partial) && a.Attempts == nil &&
			isText(string(a.Source), string(a.Code), a.Message, a.Model)
	default:
		return false
	}
}

// isPlainMessage reports whether a journal would return the message unchanged.
func isPlainMessage(m messages.Message) bool {
	switch m := m.(type) {
	case messages.System:
		return m.Extras == nil && isText(m.Text, m.Name, string(m.Cache))
	case messages.User:
		for _, part := range m.Content {
			if text, ok := part.(messages.Text); !ok || !isPlainText(&text) {
				return false
			}
		}
		return m.Extras == nil && isText(m.Name, string(m.Cache)) && (m.Content == nil || len(m.Content) > 0)
	case messages.Assistant:
		for _, part := range m.Content {
			if !isPlainPart(part) {
				return false
			}
		}
		return m.Extras == nil && isText(m.Name, string(m.Cache)) && (m.Content == nil || len(m.Content) > 0)
	case messages.Tool:
		return m.Extras == nil && isText(string(m.Cache)) && isPlainOutput(&m.ToolOutput)
	default:
		return false
	}
}

func isPlainDefinition(d *tools.Definition) bool {
	return isText(d.Name, d.Description, d.ApprovalNote, string(d.Cache)) && (d.Parameters == nil || isCompact(d.Parameters))
}

// isCompact reports whether a text is JSON that a journal would return unchanged.
func isCompact(text json.RawMessage) bool {
	var compact bytes.Buffer
	return utf8.Valid(text) && json.Compact(&compact, text) == nil && compact.Len() == len(text)
}

func isPlainPart(part messages.AssistantContent) bool {
	switch c := part.(type) {
	case messages.Text:
		return isPlainText(&c)
	case messages.Thought:
		return c.Extras == nil && isText(c.Text)
	case messages.ToolCall:
		return isPlainCall(&c)
	default:
		return false
	}
}

func isPlainText(t *messages.Text) bool {
	return t.Citations == nil && isText(t.Text, string(t.Cache))
}

func isPlainCall(c *messages.ToolCall) bool {
	return c.Extras == nil && isText(c.ID, c.Name, c.Arguments)
}

func isPlainOutput(o *messages.ToolOutput) bool {
	return o.Attachments == nil && o.Images == nil && isText(o.CallID, o.ToolName, o.Output, string(o.Status), o.Reason, o.Kept.ID)
}
