package messages

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/segue-go/segue/internal/textcut"
)

// formVersion is the version of the JSON form that this package writes and reads.
const formVersion = 1

// codecError is an error in a JSON text, or in a value to be written, and its place.
type codecError struct {
	path string // such as "messages[2].content[0].text"; "" for the whole
	err  error
}

func (e *codecError) Error() string {
	if e.path == "" {
		return "messages: " + e.err.Error()
	}
	return "messages: " + e.path + ": " + e.err.Error()
}

func (e *codecError) Unwrap() error { return e.err }

// unknown is the error of a variant or version that this package does not know.
func unknown(what, name string) error {
	return fmt.Errorf("unknown %s %q", what, textcut.Short(name, maxName))
}

// at prepends place to the path of err.
func at(place string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := errors.AsType[*codecError](err)
	switch {
	case !ok:
		return &codecError{path: place, err: err}
	case inner.path == "" || inner.path[0] == '[':
		return &codecError{path: place + inner.path, err: inner.err}
	default:
		return &codecError{path: place + "." + inner.path, err: inner.err}
	}
}

// MarshalJSON writes the history in its versioned form:
//
//	{"v":1,"messages":[
//	  {"role":"system","text":"…"},
//	  {"role":"user","content":[
//	    {"type":"text","text":"…","cache":"5m"},
//	    {"type":"image","url":"…","detail":"low"},
//	    {"type":"file","name":"…","media_type":"…","url":"…","id":"…"},
//	    {"type":"audio","format":"wav","url":"…"}],
//	    "pinned":true,"summary":true,"untrusted":true,"name":"…","cache":"1h"},
//	  {"role":"assistant","content":[
//	    {"type":"thought","text":"…"},
//	    {"type":"text","text":"…","citations":[
//	      {"start":0,"end":1,"url":"…","title":"…","file_id":"…","quote":"…","raw":{}}]},
//	    {"type":"tool_call","id":"…","name":"…","arguments":"…"}]},
//	  {"role":"tool","call_id":"…","tool_name":"…","output":"…","status":"ok","reason":"…",
//	    "untrusted":true,"elapsed":1000,"images":[{"url":"…"}],
//	    "attachments":[{"name":"…","media_type":"…","url":"…"}],"kept":{"id":"…","size":1}}]}
//
// Arguments are a string, as the model wrote them. Elapsed is in nanoseconds. These are always
// written: role, type, text, content, call_id, tool_name, output, start and end, and the fields
// of a call; the url of an image, and the format and url of a sound. Other fields are left out
// when they are zero. Every role may have a cache, every role but tool a name, and every part of
// a user message a cache. [Extras] are written among the fields of their message, thought or call,
// sorted by name. Bytes of a string that are not UTF-8 become U+FFFD, because JSON cannot represent
// them.
//
// The same history always gives the same bytes. MarshalJSON returns an error with its place for a
// message or part that is not a value of its sum, for extras that are not JSON, and for extras with
// the name of a field. A nil history is written as an empty one. MarshalJSON does not check the
// laws of a history.
func (h History) MarshalJSON() ([]byte, error) {
	dst := fmt.Appendf(nil, `{"v":%d,"messages":[`, formVersion)
	for i, m := range h {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendMessage(dst, m); err != nil {
			return nil, at(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	return append(dst, "]}"...), nil
}

// UnmarshalJSON reads the form that MarshalJSON writes. Unknown fields of a message, thought or
// call become [Extras]; other unknown fields are dropped. An unknown version, role or type is an
// error, with its place. An empty list reads as nil. UnmarshalJSON does not check the laws of a
// history.
func (h *History) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	if err := check(data); err != nil {
		return err
	}
	o := readObject(data)
	if v := string(o.get("v")); o.err == nil && v != strconv.Itoa(formVersion) {
		return at("v", unknown("version", v))
	}
	var read History
	o.takeList("messages", func(raw []byte) error {
		m, err := readMessage(raw)
		read = append(read, m)
		return err
	})
	if o.err != nil {
		return o.err
	}
	*h = read.Clip()
	return nil
}

// isNull reports whether data is null. UnmarshalJSON ignores null, as encoding/json recommends.
func isNull(data []byte) bool { return string(data) == "null" }

// MarshalMessage writes one message in the form that [History.MarshalJSON] gives it, without a
// version.
func MarshalMessage(m Message) ([]byte, error) { return AppendMessage(nil, m) }

// UnmarshalMessage reads one message in the form that [History.MarshalJSON] gives it.
func UnmarshalMessage(data []byte) (Message, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	return readMessage(data)
}

// unmarshalAs reads a message of one role into v.
func unmarshalAs[M Message](data []byte, v *M) error {
	if isNull(data) {
		return nil
	}
	m, err := UnmarshalMessage(data)
	if err != nil {
		return err
	}
	typed, ok := m.(M)
	if !ok {
		return at("role", fmt.Errorf("is %q, want %q", m.Role(), typed.Role()))
	}
	*v = typed
	return nil
}

// MarshalJSON writes the message in the form that [History.MarshalJSON] gives it.
func (s System) MarshalJSON() ([]byte, error) { return AppendMessage(nil, s) }

// UnmarshalJSON reads a message of role system.
func (s *System) UnmarshalJSON(data []byte) error { return unmarshalAs(data, s) }

// MarshalJSON writes the message in the form that [History.MarshalJSON] gives it.
func (u User) MarshalJSON() ([]byte, error) { return AppendMessage(nil, u) }

// UnmarshalJSON reads a message of role user.
func (u *User) UnmarshalJSON(data []byte) error { return unmarshalAs(data, u) }

// MarshalJSON writes the message in the form that [History.MarshalJSON] gives it.
func (a Assistant) MarshalJSON() ([]byte, error) { return AppendMessage(nil, a) }

// UnmarshalJSON reads a message of role assistant.
func (a *Assistant) UnmarshalJSON(data []byte) error { return unmarshalAs(data, a) }

// MarshalJSON writes the message in the form that [History.MarshalJSON] gives it.
func (t Tool) MarshalJSON() ([]byte, error) { return AppendMessage(nil, t) }

// UnmarshalJSON reads a message of role tool.
func (t *Tool) UnmarshalJSON(data []byte) error { return unmarshalAs(data, t) }

// MarshalJSON writes the call in the form of a part of an assistant message.
func (c ToolCall) MarshalJSON() ([]byte, error) { return appendCall(nil, c) }

// UnmarshalJSON reads a part of type tool_call.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	if err := check(data); err != nil {
		return err
	}
	o := readObject(data)
	var kind string
	if o.take("type", &kind); kind != typeCall {
		o.unknownType(kind)
	}
	read := readCall(o)
	if o.err == nil {
		*c = read
	}
	return o.err
}

// MarshalJSON writes the fields of a tool message, without its role.
func (o ToolOutput) MarshalJSON() ([]byte, error) {
	return AppendOutput(nil, o), nil
}

// UnmarshalJSON reads the fields of a tool message. Unknown fields are dropped.
func (o *ToolOutput) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	if err := check(data); err != nil {
		return err
	}
	fields := readObject(data)
	read := readOutput(fields)
	if fields.err == nil {
		*o = read
	}
	return fields.err
}
