package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/internal/textcut"
)

// Limits of a JSON text written by a model. A text beyond them is refused before anything is built
// from it.
const (
	maxDepth  = 64      // lists and objects within each other
	maxValues = 100_000 // values in all
	maxNumber = 400     // bytes of a number, and its greatest exponent: arithmetic beyond that is slow
)

// parse reads a JSON text (RFC 8259) into nil, bool, json.Number, string, []any and map[string]any.
// It is stricter than encoding/json: the limits above apply, and no object may have a name twice.
// Bytes that are not UTF-8, and lone surrogates, become U+FFFD.
func parse(text []byte) (any, *Problem) {
	var p parser
	p.Begin(text, maxDepth)
	v := p.value()
	switch {
	case p.End():
		return v, nil
	case p.refused != "":
		return nil, &Problem{Message: p.refused}
	default:
		return nil, &Problem{Message: p.Err().Error()}
	}
}

// parser stops at the first problem.
type parser struct {
	jsonform.Cursor
	values  int
	refused string // why the text is refused, although it may be JSON
}

// refuse stops the parser, unless it has already stopped.
func (p *parser) refuse(format string, args ...any) {
	if p.Err() == nil {
		p.refused = fmt.Sprintf(format, args...)
		p.Stop()
	}
}

// begin counts a value and returns its first byte. It returns 0 if there is no value, or if there
// are too many.
func (p *parser) begin() byte {
	if p.values++; p.values > maxValues {
		p.refuse("more than %d values", maxValues)
	}
	return p.Peek()
}

func (p *parser) value() any {
	switch c := p.begin(); c {
	case '{':
		return p.object()
	case '[':
		list := []any{}
		for more := p.Open('['); more; more = p.More(']') {
			list = append(list, p.value())
		}
		return list
	case '"':
		return string(p.Text())
	case 't', 'f':
		p.Skip()
		return c == 't'
	case 'n':
		p.Skip()
		return nil
	default:
		return json.Number(p.number())
	}
}

func (p *parser) object() any {
	object := map[string]any{}
	for more := p.Open('{'); more; more = p.More('}') {
		name := string(bytes.Runes(p.Name())) // converts it to UTF-8
		if _, twice := object[name]; twice {
			p.refuse("%s stands twice in an object", brief(name))
		}
		object[name] = p.value()
	}
	return object
}

// number reads a number and returns its text.
func (p *parser) number() []byte {
	raw := p.Raw()
	exponent := 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 && len(raw) <= maxNumber {
		exponent, _ = strconv.Atoi(string(bytes.TrimLeft(raw[i+1:], "+-")))
	}
	if len(raw) > maxNumber || exponent > maxNumber {
		p.refuse("the number at byte %d is too long", p.At()-len(raw))
	}
	return raw
}

// brief quotes a piece of model text, shortened: it may be a secret in the wrong place.
func brief(s string) string {
	return fmt.Sprintf("%q", textcut.Short(s, 24))
}
