package machine

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// sounder makes values sound where they stand. It is true once it had to change one.
type sounder bool

// valid returns s as UTF-8: what is not becomes U+FFFD, byte by byte.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func (s *sounder) text(p *string) {
	if !utf8.ValidString(*p) {
		*p, *s = valid(*p), true
	}
}

func (s *sounder) time(p *time.Time) {
	if t := p.UTC(); t != *p {
		*p, *s = t, true
	}
}

// raw makes JSON sound that is left out where it is empty.
func (s *sounder) raw(p *json.RawMessage) {
	if len(*p) > 0 {
		soundField(s, p, soundRaw)
	} else if *p != nil {
		*p, *s = nil, true
	}
}

// err drops the cause of an error.
func (s *sounder) err(p **delegation.Error) {
	e := *p
	if e != nil && (e.Unwrap() != nil || !utf8.ValidString(string(e.Code)) || !utf8.ValidString(e.Message)) {
		*p, *s = &delegation.Error{Code: delegation.Code(valid(string(e.Code))), Message: valid(e.Message)}, true
	}
}

func soundField[T any](s *sounder, p *T, sound func(T) (T, bool)) {
	if v, changed := sound(*p); changed {
		*p, *s = v, true
	}
}

// soundPointer makes what *p points to sound, in a copy. *p may be nil.
func soundPointer[T any](s *sounder, p **T, sound func(T) (T, bool)) {
	if *p == nil {
		return
	}
	if v, changed := sound(**p); changed {
		*p, *s = new(v), true
	}
}

// soundList makes the elements of a list sound, in a copy. An empty list becomes nil.
func soundList[S ~[]T, T any](s *sounder, p *S, sound func(T) (T, bool)) {
	if len(*p) == 0 {
		*s = *s || *p != nil
		*p = nil
		return
	}
	copied := false
	for i, v := range *p {
		v, changed := sound(v)
		if !changed {
			continue
		}
		if !copied {
			*p, copied, *s = slices.Clone(*p), true, true
		}
		(*p)[i] = v
	}
}

// soundMap makes the keys and values of a map sound, in a copy. An empty map becomes nil. Of two
// keys that become one the value of the greater stays, as in the JSON form.
func soundMap[M ~map[string]T, T any](s *sounder, p *M, sound func(T) (T, bool)) {
	if len(*p) == 0 {
		*s = *s || *p != nil
		*p = nil
		return
	}
	same := true
	for k, v := range *p {
		_, changed := sound(v)
		same = same && !changed && utf8.ValidString(k)
	}
	if same {
		return
	}
	made := make(M, len(*p))
	for _, k := range slices.Sorted(maps.Keys(*p)) {
		made[valid(k)], _ = sound((*p)[k])
	}
	*p, *s = made, true
}

func soundText(text string) (string, bool) { return valid(text), !utf8.ValidString(text) }

// soundRaw returns JSON as UTF-8 and without blanks. Nil is null; what is no JSON stays as it is.
func soundRaw(raw json.RawMessage) (json.RawMessage, bool) {
	if raw == nil {
		return json.RawMessage("null"), true
	}
	if !json.Valid(raw) || utf8.Valid(raw) && !blank(raw) {
		return raw, false
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it is valid
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")), true
}

// blank reports whether there are blanks in JSON, outside its strings.
func blank(raw []byte) bool {
	for i, text := 0, false; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && c <= ' ':
			return true
		}
	}
	return false
}

func soundMessage(m messages.Message) (messages.Message, bool) {
	var s sounder
	switch v := m.(type) {
	case messages.System:
		s.text(&v.Text)
		soundMap(&s, &v.Extras, soundRaw)
		if s {
			return v, true
		}
	case messages.User:
		soundList(&s, &v.Content, soundUserPart)
		soundMap(&s, &v.Extras, soundRaw)
		if s {
			return v, true
		}
	case messages.Assistant:
		if v, changed := soundAssistant(v); changed {
			return v, true
		}
	case messages.Tool:
		soundField(&s, &v.ToolOutput, soundOutput)
		soundMap(&s, &v.Extras, soundRaw)
		if s {
			return v, true
		}
	default: // it has no JSON form
	}
	return m, false
}

func soundAssistant(a messages.Assistant) (messages.Assistant, bool) {
	var s sounder
	soundList(&s, &a.Content, soundPart)
	soundMap(&s, &a.Extras, soundRaw)
	return a, bool(s)
}

func soundPart(c messages.AssistantContent) (messages.AssistantContent, bool) {
	switch v := c.(type) {
	case messages.Text:
		if !utf8.ValidString(v.Text) {
			return messages.Text{Text: valid(v.Text)}, true
		}
	case messages.Thought:
		if !utf8.ValidString(v.Text) {
			return messages.Thought{Text: valid(v.Text)}, true
		}
	case messages.ToolCall:
		if v, changed := soundCall(v); changed {
			return v, true
		}
	default: // it has no JSON form
	}
	return c, false
}

func soundUserPart(c messages.UserContent) (messages.UserContent, bool) {
	switch v := c.(type) {
	case messages.Text:
		if !utf8.ValidString(v.Text) {
			return messages.Text{Text: valid(v.Text)}, true
		}
	case messages.Image:
		if !utf8.ValidString(v.URL) || !utf8.ValidString(v.Detail) {
			return messages.Image{URL: valid(v.URL), Detail: valid(v.Detail)}, true
		}
	default: // it has no JSON form
	}
	return c, false
}

func soundCall(c messages.ToolCall) (messages.ToolCall, bool) {
	var s sounder
	s.text(&c.ID)
	s.text(&c.Name)
	s.text(&c.Arguments)
	soundMap(&s, &c.Extras, soundRaw)
	return c, bool(s)
}

func soundOutput(o messages.ToolOutput) (messages.ToolOutput, bool) {
	var s sounder
	s.text(&o.CallID)
	s.text(&o.ToolName)
	s.text(&o.Output)
	s.text((*string)(&o.Status))
	s.text(&o.Reason)
	soundList(&s, &o.Attachments, soundAttachment)
	return o, bool(s)
}

func soundAttachment(a messages.Attachment) (messages.Attachment, bool) {
	var s sounder
	s.text(&a.Name)
	s.text(&a.MediaType)
	s.text(&a.URL)
	return a, bool(s)
}
