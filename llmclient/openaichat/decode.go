package openaichat

import (
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// answer is a whole reply (object "chat.completion") or one chunk of a stream
// ("chat.completion.chunk"). It holds the fields that matter, in any order; unknown ones are
// skipped. Its bytes are valid until the next decode. A nil slice means that a field was missing,
// null or of another type.
type answer struct {
	id, model  []byte
	err        []byte // raw; not null
	usage      usage
	results    []byte // search_results, raw
	links      []byte // citations, raw
	hasChoice  bool
	index      int64 // of the choice
	finish     []byte
	delta      reply
	message    reply
	hasDelta   bool
	hasMessage bool
}

// reply is a message or a delta of a message.
type reply struct {
	content          []byte
	parts            []part // content given as a list
	refusal          []byte
	reasoningContent []byte
	reasoning        []byte
	details          []byte // reasoning_details, raw
	extra            []byte // extra_content, raw: Gemini's signatures
	annotations      []byte // raw
	context          []byte // context.citations, raw: Azure
	calls            []callPiece
	function         callPiece // function_call
}

// part is an element of a content list.
type part struct {
	kind partKind
	text []byte
}

type partKind uint8

const (
	partText partKind = iota
	partThought
	partRefusal
	partReference // of Mistral: the whole chunk, raw
)

// callPiece is a tool call or a delta of a tool call.
type callPiece struct {
	index  int64 // -1 if missing
	id     []byte
	name   []byte
	args   []byte
	extras []member
}

// member is an unknown field.
type member struct{ name, raw []byte }

type usage struct {
	messages.Usage
	known bool
}

// decoder reads answers. It does not allocate once its slices have grown.
type decoder struct {
	wire.Cursor
	data   []byte // that is being read
	answer answer
}

// noIndex selects the first choice, whatever its index.
const noIndex = wire.NoIndex

// decode reads one answer with the choice of that index, or with the first choice if want is
// noIndex. It reports whether data is JSON. If not, Cut says whether data may be the beginning of
// JSON.
func (d *decoder) decode(data []byte, want int64) bool {
	d.Begin(data)
	d.data = data
	d.reset()
	a := &d.answer
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "id":
			a.id = d.Text()
		case "model":
			a.model = d.Text()
		case "choices":
			d.choices(want)
		case "usage":
			d.usage(&a.usage)
		case "x_groq": // at first, Groq's streams had usage here
			for more := d.Open('{'); more; more = d.More('}') {
				if string(d.Name()) == "usage" && !a.usage.known {
					d.usage(&a.usage)
				}
			}
		case "search_results":
			a.results = d.list()
		case "citations":
			a.links = d.list()
		case "error":
			a.err = d.Present()
		}
	}
	return d.End()
}

func (d *decoder) reset() {
	a := &d.answer
	a.delta.reset()
	a.message.reset()
	d.answer = answer{delta: a.delta, message: a.message}
}

func (r *reply) reset() {
	*r = reply{parts: r.parts[:0], calls: r.calls[:0]}
}

// choices reads the wanted choice, the first if several match.
func (d *decoder) choices(want int64) {
	a := &d.answer
	for more := d.Open('['); more; more = d.More(']') {
		if a.hasChoice || d.Peek() != '{' {
			continue
		}
		d.choice()
		if want == noIndex || a.index == want {
			a.hasChoice = true
			continue
		}
		a.delta.reset()
		a.message.reset()
		a.index, a.finish, a.hasDelta, a.hasMessage = 0, nil, false, false
	}
}

func (d *decoder) choice() {
	a := &d.answer
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "index":
			a.index, _ = d.Integer()
		case "finish_reason":
			a.finish = d.Text()
		case "delta":
			a.hasDelta = d.Peek() == '{'
			d.reply(&a.delta)
		case "message":
			a.hasMessage = d.Peek() == '{'
			d.reply(&a.message)
		case "error": // OpenRouter
			if err := d.Present(); err != nil {
				a.err = err
			}
		case "usage": // Moonshot's streams
			if !a.usage.known {
				d.usage(&a.usage)
			}
		}
	}
}

func (d *decoder) reply(r *reply) {
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "content":
			switch d.Peek() {
			case '[':
				d.parts(r, partText)
			case '"', 'n':
				r.content = d.Text()
			default: // Cloudflare, with a json_schema: the answer itself
				r.content = d.Raw()
			}
		case "refusal":
			r.refusal = d.Text()
		case "reasoning_content":
			r.reasoningContent = d.Text()
		case "reasoning":
			r.reasoning = d.Text()
		case "reasoning_details":
			r.details = d.list()
		case "extra_content":
			r.extra = d.Present()
		case "annotations":
			r.annotations = d.list()
		case "context":
			for more := d.Open('{'); more; more = d.More('}') {
				if string(d.Name()) == "citations" {
					r.context = d.list()
				}
			}
		case "tool_calls":
			d.calls(r)
		case "function_call":
			d.function(&r.function)
		}
	}
}

// list returns a raw list, or nil if the value is not a list or is empty.
func (d *decoder) list() []byte {
	if d.Peek() == '[' {
		return d.Present()
	}
	return nil
}

// parts reads a content list: texts as strings or in "text", and thoughts in "thinking", which is a
// text or another list.
func (d *decoder) parts(r *reply, kind partKind) {
	for more := d.Open('['); more; more = d.More(']') {
		switch d.Peek() {
		case '"':
			r.add(kind, d.Text())
		case '{':
			d.part(r, kind)
		}
	}
}

func (d *decoder) part(r *reply, kind partKind) {
	from, refers := d.At(), false // at the mark, because of Peek
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "text":
			r.add(kind, d.Text())
		case "refusal":
			r.add(partRefusal, d.Text())
		case "thinking":
			if d.Peek() == '[' {
				d.parts(r, partThought)
			} else {
				r.add(partThought, d.Text())
			}
		case "reference_ids":
			refers = d.list() != nil
		}
	}
	if refers {
		r.add(partReference, d.data[from:d.At()])
	}
}

func (r *reply) add(kind partKind, text []byte) {
	if len(text) > 0 {
		r.parts = append(r.parts, part{kind, text})
	}
}

func (d *decoder) calls(r *reply) {
	for more := d.Open('['); more; more = d.More(']') {
		if d.Peek() == '{' {
			r.calls = append(r.calls, callPiece{index: noIndex})
			d.call(&r.calls[len(r.calls)-1])
		}
	}
}

func (d *decoder) call(p *callPiece) {
	for more := d.Open('{'); more; more = d.More('}') {
		switch name := d.Name(); string(name) {
		case "index":
			p.index = d.Index()
		case "id":
			p.id = d.Text()
		case "function", "custom": // Snowflake sends an empty custom beside the function
			d.function(p)
		case "type":
		default:
			if raw := d.Present(); raw != nil {
				p.extras = append(p.extras, member{name, raw})
			}
		}
	}
}

// function reads the called function. Empty strings do not overwrite known values.
func (d *decoder) function(p *callPiece) {
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "name":
			p.name = wire.OrElse(d.Text(), p.name)
		case "arguments", "input":
			p.args = wire.OrElse(d.Arguments(), p.args)
		}
	}
}
