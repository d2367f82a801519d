package openairesponses

import (
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// event is one event of a stream. It holds the fields that matter, in any order; unknown ones are
// skipped. Its bytes are valid until the next decode. A nil slice means that a field was missing,
// null or of another type.
type event struct {
	kind     []byte // "type"
	itemID   []byte
	index    int64 // output_index; wire.NoIndex if missing
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

// decoder reads answers: events, and a whole one.
type decoder struct {
	wire.Cursor
	event event
	whole answer
}

// decode reads one event. It reports whether data is JSON. If not, Cut says whether data may be the
// beginning of JSON.
func (d *decoder) decode(data []byte) bool {
	d.Begin(data)
	d.event = event{index: wire.NoIndex}
	e := &d.event
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "type":
			e.kind = d.Text()
		case "item_id":
			e.itemID = d.Text()
		case "output_index":
			e.index = d.Index()
		case "content_index", "summary_index":
			e.part = d.Index()
		case "delta":
			e.delta = d.Text()
		case "text", "refusal":
			e.whole = d.Text()
		case "arguments":
			e.whole = d.Arguments()
		case "name":
			e.name = d.Text()
		case "item":
			e.item = d.Nested('{')
		case "part":
			e.piece = d.Nested('{')
		case "response":
			e.response = d.Nested('{')
		case "error":
			e.err = d.Present()
		}
	}
	return d.End()
}

// readAnswer reads a response, and reports whether it is JSON and, if not, whether it may be the
// beginning of JSON.
func readAnswer(raw []byte) (a answer, ok, cut bool) {
	var c wire.Cursor
	c.Begin(raw)
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "id":
			a.id = c.Text()
		case "model":
			a.model = c.Text()
		case "status":
			a.status = c.Text()
		case "error":
			a.err = c.Present()
		case "incomplete_details":
			for more := c.Open('{'); more; more = c.More('}') {
				if string(c.Name()) == "reason" {
					a.reason = c.Text()
				}
			}
		case "output":
			a.hasOutput = c.Peek() == '['
			for more := c.Open('['); more; more = c.More(']') {
				if raw := c.Nested('{'); raw != nil {
					a.items = append(a.items, raw)
				}
			}
		case "usage":
			a.usage = readUsage(&c)
		}
	}
	return a, c.End(), c.Cut()
}

// readItem reads an item, which is JSON.
func readItem(raw []byte) (it item) {
	var c wire.Cursor
	c.Begin(raw)
	for more := c.Open('{'); more; more = c.More('}') {
		switch name := c.Name(); string(name) {
		case "type":
			it.kind = c.Text()
		case "id":
			it.id = c.Text()
		case "status":
			it.status = c.Text()
		case "phase":
			it.phase = c.Present()
		case "call_id":
			it.callID = c.Text()
		case "name":
			it.name = c.Text()
		case "arguments":
			it.arguments = c.Arguments()
		case "summary":
			it.summary = parts(&c)
		case "content":
			it.content = parts(&c)
		default:
			if raw := c.Present(); raw != nil {
				it.others = append(it.others, member{name, raw})
			}
		}
	}
	return it
}

// parts reads a list of texts, or a single string.
func parts(c *wire.Cursor) (list []part) {
	if c.Peek() == '"' {
		return []part{{text: c.Text()}}
	}
	for more := c.Open('['); more; more = c.More(']') {
		if raw := c.Nested('{'); raw != nil {
			list = append(list, readPart(raw))
		}
	}
	return list
}

// readPart reads a part, which is JSON. A part that is neither a text nor a refusal is unknown.
func readPart(raw []byte) part {
	var c wire.Cursor
	c.Begin(raw)
	p := part{kind: partUnknown, raw: raw}
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "text":
			p.take(&c, partText)
		case "refusal":
			p.take(&c, partRefusal)
		case "annotations":
			p.annotations = c.Nested('[')
		}
	}
	return p
}

// take reads a string as the text of the part.
func (p *part) take(c *wire.Cursor, kind partKind) {
	if c.Peek() == '"' {
		p.kind, p.text = kind, c.Text()
	}
}

// readUsage reads a usage object; any other value counts nothing.
func readUsage(c *wire.Cursor) (u messages.Usage) {
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "input_tokens":
			u.Input = c.Count()
		case "output_tokens":
			u.Output = c.Count()
		case "total_tokens":
			u.Total = c.Count()
		case "input_tokens_details":
			for more := c.Open('{'); more; more = c.More('}') {
				switch string(c.Name()) {
				case "cached_tokens":
					u.Cached = c.Count()
				case "cache_write_tokens":
					u.CacheWrites = c.Count()
				}
			}
		case "output_tokens_details":
			u.Reasoning = c.CountIn("reasoning_tokens")
		}
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}
