package anthropic

import "github.com/segue-go/segue/llmclient/internal/wire"

// event is an event of a stream, or a whole message. It holds the fields that matter, in any order;
// unknown ones are skipped. Its bytes are valid until the next decode. A nil slice means that a
// field was missing, null or of another type.
type event struct {
	kind      []byte
	index     int64
	id, model []byte
	stop      []byte // why the model stopped
	details   []byte // of a refusal, raw
	content   []byte // a list of blocks, raw
	block     []byte // raw
	delta     []byte // raw
	err       []byte // raw; not null
	usage     usage
}

// piece is a delta, or a block.
type piece struct {
	kind      []byte
	text      []byte // of a text or a thought
	signature []byte
	data      []byte // of a redacted thought
	arguments []byte // partial_json
	citation  []byte // raw
	citations []byte // raw
	id, name  []byte
	input     []byte // raw
	caller    []byte // raw
	stop      []byte // as in event
	details   []byte // as in event
}

// decoder reads events and blocks.
type decoder struct {
	wire.Cursor
	event event
}

// decode reads an event or a whole message. It reports whether data is JSON. If not, Cut says
// whether data may be the beginning of JSON.
func (d *decoder) decode(data []byte) bool {
	d.Begin(data)
	d.event = event{}
	d.fields(true)
	return d.End()
}

// fields reads the fields of an event, and of the message in it.
func (d *decoder) fields(outer bool) {
	v := &d.event
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "type":
			if outer {
				v.kind = d.Text()
			}
		case "index":
			v.index, _ = d.Integer()
		case "message":
			if outer && d.Peek() == '{' {
				d.fields(false)
			}
		case "id":
			v.id = d.Text()
		case "model":
			v.model = d.Text()
		case "stop_reason":
			v.stop = d.Text()
		case "stop_details":
			v.details = d.Nested('{')
		case "content":
			v.content = d.Nested('[')
		case "content_block":
			v.block = d.Nested('{')
		case "delta":
			v.delta = d.Nested('{')
		case "usage":
			d.usage(&v.usage)
		case "error":
			if raw := d.Raw(); string(raw) != "null" {
				v.err = raw
			}
		}
	}
}

// readPiece reads a block or a delta, which is JSON.
func readPiece(c *wire.Cursor, raw []byte) (p piece) {
	c.Begin(raw)
	for more := c.Open('{'); more; more = c.More('}') {
		switch string(c.Name()) {
		case "type":
			p.kind = c.Text()
		case "text", "thinking":
			p.text = wire.OrElse(c.Text(), p.text)
		case "signature":
			p.signature = c.Text()
		case "data":
			p.data = c.Text()
		case "partial_json":
			p.arguments = c.Text()
		case "citation":
			p.citation = c.Raw()
		case "citations":
			p.citations = c.Raw()
		case "id":
			p.id = c.Text()
		case "name":
			p.name = c.Text()
		case "input":
			p.input = c.Arguments() // gateways: "", or the object as a text
		case "caller":
			p.caller = c.Raw()
		case "stop_reason":
			p.stop = c.Text()
		case "stop_details":
			p.details = c.Raw()
		}
	}
	return p
}

// elements returns the raw elements of a list that is JSON.
func elements(list []byte) (all [][]byte) {
	var c wire.Cursor
	c.Begin(list)
	for more := c.Open('['); more; more = c.More(']') {
		all = append(all, c.Raw())
	}
	return all
}
