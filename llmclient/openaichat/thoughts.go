package openaichat

import (
	"maps"
	"slices"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// The fields besides content that servers want back; see [Reasoning].
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
	fieldDetails          = "reasoning_details"
	fieldExtraContent     = "extra_content"
)

// thoughtFields keeps the fields with thoughts and signatures unchanged, to be sent back. An empty
// text counts: DeepSeek wants it back like any other.
type thoughtFields struct {
	reasoningContent []byte // nil if the field never came
	reasoning        []byte
	details          []*detail // of a stream
	wholeDetails     []byte    // of a whole reply, raw
	extraContent     []byte
	cursor           wire.Cursor
}

// detail is an element of reasoning_details. In a stream it arrives in pieces.
type detail struct {
	kind, index string
	text        []byte // of the field named textField; it grows
	textField   string
	others      messages.Extras // the other fields
}

// add adds the fields of a reply and returns its thought. Servers send the same text in several
// fields: only one counts.
func (t *thoughtFields) add(r *reply, whole bool) []byte {
	t.reasoningContent = grow(t.reasoningContent, r.reasoningContent)
	t.reasoning = grow(t.reasoning, r.reasoning)
	if r.extra != nil {
		t.extraContent = wire.RawJSON(r.extra)
	}
	var thought []byte
	if r.details != nil {
		thought = t.addDetails(r.details)
	}
	if whole && r.details != nil {
		t.details, t.wholeDetails = nil, wire.RawJSON(r.details)
	}
	return wire.OrElse(r.reasoningContent, wire.OrElse(r.reasoning, thought))
}

func grow(field, piece []byte) []byte {
	if field == nil && piece != nil {
		return append([]byte{}, piece...)
	}
	return append(field, piece...)
}

// addDetails adds a list of details, or of pieces of details, and returns its text.
func (t *thoughtFields) addDetails(raw []byte) []byte {
	c := &t.cursor
	c.Begin(raw)
	var thought []byte
	for more := c.Open('['); more; more = c.More(']') {
		if c.Peek() != '{' {
			continue
		}
		d := readDetail(c)
		thought = append(thought, d.text...)
		if n := len(t.details); n > 0 && t.details[n-1].continuedBy(d) {
			t.details[n-1].join(d)
			continue
		}
		t.details = append(t.details, d)
	}
	return thought
}

func readDetail(c *wire.Cursor) *detail {
	d := &detail{others: messages.Extras{}}
	for more := c.Open('{'); more; more = c.More('}') {
		name := string(c.Name())
		if (name == "text" || name == "summary") && c.Peek() == '"' {
			d.textField = name
			d.text = append(d.text, c.Text()...)
			continue
		}
		raw := c.Raw()
		switch name {
		case "type":
			d.kind = string(raw)
		case "index":
			d.index = string(raw)
		}
		d.others[name] = wire.RawJSON(raw)
	}
	return d
}

// continuedBy reports whether next is another piece of d. Details without an index or a text arrive
// whole.
func (d *detail) continuedBy(next *detail) bool {
	return d.index != "" && d.index == next.index && d.kind == next.kind &&
		d.textField != "" && (next.textField == d.textField || next.textField == "")
}

func (d *detail) join(next *detail) {
	d.text = append(d.text, next.text...)
	for name, raw := range next.others {
		if string(raw) != "null" {
			d.others[name] = raw
		}
	}
}

func (d *detail) append(dst []byte) []byte {
	dst = append(dst, '{')
	for _, name := range slices.Sorted(maps.Keys(d.others)) {
		dst = append(wire.AppendKey(dst, name), d.others[name]...)
	}
	if d.textField != "" {
		dst = jsonform.AppendString(wire.AppendName(dst, d.textField), d.text)
	}
	return append(dst, '}')
}

// extras returns the fields by name, or nil if none came.
func (t *thoughtFields) extras() messages.Extras {
	extras := messages.Extras{}
	if t.reasoningContent != nil {
		extras[fieldReasoningContent] = jsonform.AppendString(nil, t.reasoningContent)
	}
	if t.reasoning != nil {
		extras[fieldReasoning] = jsonform.AppendString(nil, t.reasoning)
	}
	if details := t.detailList(); details != nil {
		extras[fieldDetails] = details
	}
	if t.extraContent != nil {
		extras[fieldExtraContent] = t.extraContent
	}
	if len(extras) == 0 {
		return nil
	}
	return extras
}

func (t *thoughtFields) detailList() []byte {
	if len(t.details) == 0 {
		return t.wholeDetails
	}
	list := []byte{'['}
	for _, d := range t.details {
		list = d.append(wire.AppendComma(list))
	}
	return append(list, ']')
}
