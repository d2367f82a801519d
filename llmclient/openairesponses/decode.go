package openairesponses

import (
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// event is one event of a stream. It holds the fields that matter, in any order; unknown ones are
// skipped. Its bytes are valid until the next decode. A nil slice means that a field was missing,
// null or of another type.
type event struct {
	kind     []byte // "type"
	itemID   []byte
	index    int64 // output_index; noIndex if missing
	part     int64 // content_index or summary_index
	delta    []byte
	whole    []byte // of a text, or of arguments
	name     []byte // of a call
	item     []byte // raw, like the next two
	piece    []byte // "part"
	response []byte
	err      []byte // raw; not null
}

// answer is a response as it stands in a whole answer, or in the last event of a stream.
type answer struct {
	id, model, status []byte
	reason            []byte   // incomplete_details.reason
	err               []byte   // raw; not null
	items             [][]byte // of the output, raw
	hasOutput         bool
	usage             messages.Usage
}

// item is an item of the output.
type item struct {
	kind, id, status []byte
	phase            []byte // raw
	callID, name     []byte
	arguments        []byte
	summary, content []part
	others           []member // of a call: fields that stand for themselves
}

// part is a text within an item.
type part struct {
	kind        partKind
	text        []byte
	annotations []byte // raw, a list
	raw         []byte
}

type partKind uint8

const (
	partText partKind = iota
	partRefusal
	partUnknown
)

// member is a field of an object.
type member struct{ name, raw []byte }

// noIndex stands for an index that is missing.
const noIndex = -1

// decoder reads answers.
type decoder struct {
	jsonform.Cursor
	event event
}

// decode reads one event. It reports whether data is JSON. If not, Cut says whether data may be the
// beginning of JSON.
func (d *decoder) decode(data []byte) bool {
	d.Begin(data, wire.MaxDepth)
	d.event = event{index: noIndex}
	e := &d.event
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "type":
			e.kind = d.Text()
		case "item_id":
			e.itemID = d.Text()
		case "output_index":
			e.index = index(&d.Cursor)
		case "content_index", "summary_index":
			e.part = index(&d.Cursor)
		case "delta":
			e.delta = d.Text()
		case "text", "refusal":
			e.whole = d.Text()
		case "arguments":
			e.whole = arguments(&d.Cursor)
		case "name":
			e.name = d.Text()
		case "item":
			e.item = object(&d.Cursor)
		case "part":
			e.piece = object(&d.Cursor)
		case "response":
			e.response = object(&d.Cursor)
		case "error":
			e.err = present(&d.Cursor)
		default:
			d.Skip()
		}
	}
	return d.End()
}

func index(c *jsonform.Cursor) int64 {
	if n, ok := c.Integer(); ok && n >= 0 {
		return n
	}
	return noIndex
}

// object returns a raw object, or nil for another value.
func object(c *jsonform.Cursor) []byte {
	is := c.Peek() == '{'
	if raw := c.Raw(); is {
		return raw
	}
	return nil
}

// present returns a raw value, or nil if it is null, false, "", {} or [].
func present(c *jsonform.Cursor) []byte {
	switch raw := c.Raw(); string(raw) {
	case "null", "false", `""`, "{}", "[]":
		return nil
	default:
		return raw
	}
}

// readAnswer reads a response, and reports whether it is JSON and, if not, whether it may be the
// beginning of JSON.
func readAnswer(raw []byte) (a answer, ok, cut bool) {
	var c jsonform.Cursor
	c.Begin(raw, wire.MaxDepth)
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "id":
			a.id = c.Text()
		case "model":
			a.model = c.Text()
		case "status":
			a.status = c.Text()
		case "error":
			a.err = present(&c)
		case "incomplete_details":
			for more := c.Open('{'); more; more = c.More('}') {
				if string(c.Name()) == "reason" {
					a.reason = c.Text()
					continue
				}
				c.Skip()
			}
		case "output":
			a.hasOutput = c.Peek() == '['
			for more := c.Open('['); more; more = c.More(']') {
				if raw := object(&c); raw != nil {
					a.items = append(a.items, raw)
				}
			}
		case "usage":
			a.usage = readUsage(&c)
		default:
			c.Skip()
		}
	}
	return a, c.End(), c.Cut()
}

// readItem reads an item, which is JSON.
func readItem(raw []byte) (it item) {
	var c jsonform.Cursor
	c.Begin(raw, wire.MaxDepth)
	for more := c.Open('{'); more; more = c.More('}') {
		switch name := c.Name(); string(name) {
		case "type":
			it.kind = c.Text()
		case "id":
			it.id = c.Text()
		case "status":
			it.status = c.Text()
		case "phase":
			it.phase = present(&c)
		case "call_id":
			it.callID = c.Text()
		case "name":
			it.name = c.Text()
		case "arguments":
			it.arguments = arguments(&c)
		case "summary":
			it.summary = parts(&c)
		case "content":
			it.content = parts(&c)
		default:
			if raw := present(&c); raw != nil {
				it.others = append(it.others, member{name, raw})
			}
		}
	}
	return it
}

// arguments reads arguments as a string of JSON, the correct form, or as JSON itself.
func arguments(c *jsonform.Cursor) []byte {
	switch c.Peek() {
	case '"':
		return c.Text()
	case 'n':
		c.Skip()
		return nil
	default:
		return c.Raw()
	}
}

// parts reads a list of texts, or a single string.
func parts(c *jsonform.Cursor) (list []part) {
	if c.Peek() == '"' {
		return []part{{text: c.Text()}}
	}
	for more := c.Open('['); more; more = c.More(']') {
		if raw := object(c); raw != nil {
			list = append(list, readPart(raw))
		}
	}
	return list
}

// readPart reads a part, which is JSON. A part that is neither a text nor a refusal is unknown.
func readPart(raw []byte) part {
	var c jsonform.Cursor
	c.Begin(raw, wire.MaxDepth)
	p := part{kind: partUnknown, raw: raw}
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "text":
			p.take(&c, partText)
		case "refusal":
			p.take(&c, partRefusal)
		case "annotations":
			if c.Peek() == '[' {
				p.annotations = c.Raw()
				continue
			}
			c.Skip()
		default:
			c.Skip()
		}
	}
	return p
}

// take reads a string as the text of the part.
func (p *part) take(c *jsonform.Cursor, kind partKind) {
	if c.Peek() != '"' {
		c.Skip()
		return
	}
	p.kind, p.text = kind, c.Text()
}

// readUsage reads a usage object; any other value counts nothing.
func readUsage(c *jsonform.Cursor) (u messages.Usage) {
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "input_tokens":
			u.Input = count(c)
		case "output_tokens":
			u.Output = count(c)
		case "total_tokens":
			u.Total = count(c)
		case "input_tokens_details":
			for more := c.Open('{'); more; more = c.More('}') {
				switch string(c.Name()) {
				case "cached_tokens":
					u.Cached = count(c)
				case "cache_write_tokens":
					u.CacheWrites = count(c)
				default:
					c.Skip()
				}
			}
		case "output_tokens_details":
			for more := c.Open('{'); more; more = c.More('}') {
				if string(c.Name()) == "reasoning_tokens" {
					u.Reasoning = count(c)
					continue
				}
				c.Skip()
			}
		default:
			c.Skip()
		}
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}

// count reads a number of tokens, or 0 if the value is not a number.
func count(c *jsonform.Cursor) int64 {
	n, _ := c.Integer()
	return min(max(n, 0), 1<<53) // small enough that sums do not overflow
}
