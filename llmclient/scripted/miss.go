package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// miss says how a request for which the cassette holds no reply differs from those that it holds.
func (p *Replayer) miss(key string, request []byte) error {
	if n := len(p.byKey[key]); n > 0 {
		return fmt.Errorf("scripted: all %d recordings of this request (key %.12s) are used", n, key)
	}
	if len(p.tape) == 0 {
		return fmt.Errorf("scripted: this request (key %.12s) is not in the cassette, which is empty", key)
	}
	wanted := read(request)
	var nearest *recording
	var best likeness
	for _, rec := range p.tape {
		if l := wanted.compare(read(rec.request)); nearest == nil || l.exceeds(best) {
			nearest, best = rec, l
		}
	}
	return fmt.Errorf("scripted: this request (key %.12s) is not in the cassette; from the nearest, recording %d, it differs by:\n%s",
		key, nearest.number, diff(lines(nearest.request), lines(request)))
}

// outline is the part of a request that is compared.
type outline struct {
	fields   map[string]json.RawMessage // without the messages
	messages []json.RawMessage
}

func read(request []byte) outline {
	var o outline
	if json.Unmarshal(request, &o.fields) != nil || json.Unmarshal(o.fields["messages"], &o.messages) != nil {
		return outline{} // similar to none
	}
	delete(o.fields, "messages")
	return o
}

// likeness measures the similarity of two requests, the most important part first.
type likeness [3]int

func (l likeness) exceeds(m likeness) bool {
	for i := range l {
		if l[i] != m[i] {
			return l[i] > m[i]
		}
	}
	return false
}

// compare counts the messages that are equal from the beginning, the fields that are equal, and, as
// a negative number, the difference in length.
func (o outline) compare(p outline) likeness {
	var l likeness
	for l[0] < min(len(o.messages), len(p.messages)) && bytes.Equal(o.messages[l[0]], p.messages[l[0]]) {
		l[0]++
	}
	for name, value := range o.fields {
		if bytes.Equal(value, p.fields[name]) {
			l[1]++
		}
	}
	l[2] = min(len(o.messages)-len(p.messages), len(p.messages)-len(o.messages))
	return l
}

// lines returns JSON in a readable form.
func lines(data []byte) []string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return []string{string(data)}
	}
	return strings.Split(b.String(), "\n")
}
