package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The types of parts in the JSON form.
const (
	typeText    = "text"
	typeThought = "thought"
	typeImage   = "image"
	typeCall    = "tool_call"
)

// The fields of the JSON form beside which extras stand.
var (
	systemFields  = []string{"role", "text"}
	contentFields = []string{"role", "content"}
	toolFields    = []string{"role", "call_id", "tool_name", "output", "status", "reason", "untrusted", "elapsed", "attachments"}
	callFields    = []string{"type", "id", "name", "arguments"}
)

// AppendMessage appends what [MarshalMessage] returns to dst. It is for those who write many
// messages.
func AppendMessage(dst []byte, m Message) ([]byte, error) {
	switch m := m.(type) {
	case System:
		dst = appendString(append(dst, `{"role":"system","text":`...), m.Text)
		return closeObject(dst, m.Extras, systemFields)
	case User:
		dst = append(dst, `{"role":"user","content":`...)
		dst, err := appendParts(dst, m.Content, appendUserPart)
		if err != nil {
			return nil, err
		}
		return closeObject(dst, m.Extras, contentFields)
	case Assistant:
		dst = append(dst, `{"role":"assistant","content":`...)
		dst, err := appendParts(dst, m.Content, appendAssistantPart)
		if err != nil {
			return nil, err
		}
		return closeObject(dst, m.Extras, contentFields)
	case Tool:
		dst = appendOutput(append(dst, `{"role":"tool",`...), m.ToolOutput)
		return closeObject(dst, m.Extras, toolFields)
	default:
		return nil, at("", fmt.Errorf("%T is not a message as a value", m))
	}
}

func appendParts[C any](dst []byte, content []C, appendPart func([]byte, C) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '[')
	for i, c := range content {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendPart(dst, c); err != nil {
			return nil, at(fmt.Sprintf("content[%d]", i), err)
		}
	}
	return append(dst, ']'), nil
}

func appendUserPart(dst []byte, c UserContent) ([]byte, error) {
	switch c := c.(type) {
	case Text:
		return appendText(dst, typeText, c.Text), nil
	case Image:
		dst = appendString(append(dst, `{"type":"`+typeImage+`","url":`...), c.URL)
		if c.Detail != "" {
			dst = appendString(append(dst, `,"detail":`...), c.Detail)
		}
		return append(dst, '}'), nil
	default:
		return nil, fmt.Errorf("%T is not a part of a user message as a value", c)
	}
}

func appendAssistantPart(dst []byte, c AssistantContent) ([]byte, error) {
	switch c := c.(type) {
	case Text:
		return appendText(dst, typeText, c.Text), nil
	case Thought:
		return appendText(dst, typeThought, c.Text), nil
	case ToolCall:
		return appendCall(dst, c)
	default:
		return nil, fmt.Errorf("%T is not a part of an assistant message as a value", c)
	}
}

func appendText(dst []byte, kind, text string) []byte {
	dst = append(append(dst, `{"type":"`...), kind...)
	dst = appendString(append(dst, `","text":`...), text)
	return append(dst, '}')
}

func appendCall(dst []byte, c ToolCall) ([]byte, error) {
	dst = appendString(append(dst, `{"type":"`+typeCall+`","id":`...), c.ID)
	dst = appendString(append(dst, `,"name":`...), c.Name)
	dst = appendString(append(dst, `,"arguments":`...), c.Arguments)
	return closeObject(dst, c.Extras, callFields)
}

// appendOutput appends the fields of o, without braces.
func appendOutput(dst []byte, o ToolOutput) []byte {
	dst = appendString(append(dst, `"call_id":`...), o.CallID)
	dst = appendString(append(dst, `,"tool_name":`...), o.ToolName)
	dst = appendString(append(dst, `,"output":`...), o.Output)
	if o.Status != "" {
		dst = appendString(append(dst, `,"status":`...), string(o.Status))
	}
	if o.Reason != "" {
		dst = appendString(append(dst, `,"reason":`...), o.Reason)
	}
	if o.Untrusted {
		dst = append(dst, `,"untrusted":true`...)
	}
	if o.Elapsed != 0 {
		dst = strconv.AppendInt(append(dst, `,"elapsed":`...), int64(o.Elapsed), 10)
	}
	if len(o.Attachments) > 0 {
		dst = appendAttachments(append(dst, `,"attachments":`...), o.Attachments)
	}
	return dst
}

func appendAttachments(dst []byte, list []Attachment) []byte {
	sep := byte('[')
	for _, a := range list {
		dst = appendString(append(append(dst, sep), `{"name":`...), a.Name)
		if a.MediaType != "" {
			dst = appendString(append(dst, `,"media_type":`...), a.MediaType)
		}
		if a.URL != "" {
			dst = appendString(append(dst, `,"url":`...), a.URL)
		}
		dst = append(dst, '}')
		sep = ','
	}
	return append(dst, ']')
}

// closeObject appends extras, none of which may be named like one of fields, and the closing brace.
func closeObject(dst []byte, extras Extras, fields []string) ([]byte, error) {
	if len(extras) == 0 {
		return append(dst, '}'), nil
	}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		if slices.Contains(fields, name) {
			return nil, at(name, errors.New("an extra has the name of a field"))
		}
		dst = append(appendString(append(dst, ','), name), ':')
		raw, err := compact(extras[name])
		if err != nil {
			return nil, at(name, fmt.Errorf("an extra is not JSON: %w", err))
		}
		dst = append(dst, raw...)
	}
	return append(dst, '}'), nil
}

// compact returns raw without blanks and as UTF-8. Nil is null.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return json.RawMessage("null"), nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	if !utf8.Valid(b.Bytes()) {
		return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")), nil
	}
	return b.Bytes(), nil
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, one each.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
