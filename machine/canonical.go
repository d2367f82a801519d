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

// This file makes each record what a journal would give back, before the record is applied, so that
// a replay decides alike: valid UTF-8, times in UTC, no raw bodies, no causes, nil where there is
// nothing. The codec of records says what that is: a record is written and read again. Plain
// records, which are those of nearly every step, would come back as they are, and are not written.

// timePrecision is how exact the expiry of a wait is.
const timePrecision = time.Millisecond

// canonical returns a record as its journal gives it back. A record that has no JSON form stays as
// it is, and the error says why.
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

// canonicalStarted is canonical but for the tools, which are the same in most runs.
func canonicalStarted(r *Started) {
	if r.isPlain() {
		r.At = r.At.UTC()
		return
	}
	defs := r.Tools
	r.Tools = nil
	*r, _ = canonical(*r) // what has no form no journal can keep either
	r.Tools = defs
}

// canonicalAnswered is canonical for the records that come with every step. The raw body of a reply
// is in most of them.
func canonicalAnswered(r *Answered) error {
	if a, ok := r.Answer.(nextstep.APIResponse); ok && a.Response != nil && a.Response.Raw != nil {
		resp := *a.Response
		resp.Raw = nil
		r.Answer = nextstep.APIResponse{Response: &resp}
	}
	if r.Ref == nil && isText(r.Frame, string(r.Kind), r.Tool, r.Digest) && isPlainAnswer(r.Answer) {
		r.At = r.At.UTC()
		return nil
	}
	read, err := canonical(*r)
	*r = read
	return err
}

// canonicalIntended is canonical for the record that stands before every unsafe call.
func canonicalIntended(r *Intended) {
	r.At = r.At.UTC()
	if !isText(r.Frame, r.Tool, r.Digest) {
		*r, _ = canonical(*r)
	}
}

// canonicalTools returns definitions of tools as a journal gives them back.
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

// canonicalCall returns a call as a journal gives it back.
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

// isPlain reports whether a journal gives the record back as it is, but for its time and its tools.
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
		isText(r.Run, r.Strategy, r.Input.Goal, r.StopNote, r.Model, r.Namespace, r.Library)
}

// isPlainAnswer reports whether a journal gives the answer back as it is.
func isPlainAnswer(a nextstep.Answer) bool {
	switch a := a.(type) {
	case nextstep.APIResponse:
		r := a.Response
		return r != nil && r.Attempts == nil && isText(string(r.Finish), r.Model, r.ID) && isPlainMessage(r.Message)
	case nextstep.ToolResult:
		return a.Call == nil && isPlainOutput(&a.Output)
	default:
		return false
	}
}

// isPlainMessage reports whether a journal gives the message back as it is.
func isPlainMessage(m messages.Message) bool {
	switch m := m.(type) {
	case messages.System:
		return m.Extras == nil && isText(m.Text)
	case messages.User:
		for _, part := range m.Content {
			if text, ok := part.(messages.Text); !ok || !isText(text.Text) {
				return false
			}
		}
		return m.Extras == nil && (m.Content == nil || len(m.Content) > 0)
	case messages.Assistant:
		for _, part := range m.Content {
			if !isPlainPart(part) {
				return false
			}
		}
		return m.Extras == nil && (m.Content == nil || len(m.Content) > 0)
	case messages.Tool:
		return m.Extras == nil && isPlainOutput(&m.ToolOutput)
	default:
		return false
	}
}

func isPlainDefinition(d *tools.Definition) bool {
	if d.Parameters == nil {
		return isText(d.Name, d.Description)
	}
	var compact bytes.Buffer
	return isText(d.Name, d.Description, string(d.Parameters)) && json.Compact(&compact, d.Parameters) == nil && compact.Len() == len(d.Parameters)
}

func isPlainPart(part messages.AssistantContent) bool {
	switch c := part.(type) {
	case messages.Text:
		return isText(c.Text)
	case messages.Thought:
		return isText(c.Text)
	case messages.ToolCall:
		return isPlainCall(&c)
	default:
		return false
	}
}

func isPlainCall(c *messages.ToolCall) bool {
	return c.Extras == nil && isText(c.ID, c.Name, c.Arguments)
}

func isPlainOutput(o *messages.ToolOutput) bool {
	return o.Attachments == nil && isText(o.CallID, o.ToolName, o.Output, string(o.Status), o.Reason)
}
