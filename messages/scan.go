package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
)

// This file takes JSON apart without copying it. All of it but check relies on the text being
// valid.

// check returns an error if data is not JSON.
func check(data []byte) error {
	if json.Valid(data) {
		return nil
	}
	var raw json.RawMessage
	return at("", json.Unmarshal(data, &raw)) // for its error
}

// object is a JSON object whose members are taken out one by one. The first error stays, and
// nothing is taken after it.
type object struct {
	members []member
	err     error
}

type member struct {
	name  string
	raw   []byte
	taken bool
}

func readObject(data []byte) *object {
	i := jsonform.SkipBlank(data, 0)
	if data[i] != '{' {
		return &object{err: at("", errors.New("is not an object"))}
	}
	o := &object{members: make([]member, 0, 8)}
	for i = jsonform.SkipBlank(data, i+1); data[i] != '}'; {
		end := jsonform.SkipString(data, i)
		var name string
		if err := readString(data[i:end], &name); err != nil {
			return &object{err: at("", err)}
		}
		i = jsonform.SkipBlank(data, jsonform.SkipBlank(data, end)+1) // over the colon
		end = jsonform.SkipValue(data, i)
		o.members = append(o.members, member{name: name, raw: data[i:end]})
		if i = jsonform.SkipBlank(data, end); data[i] == ',' {
			i = jsonform.SkipBlank(data, i+1)
		}
	}
	return o
}

// readList calls read with each element of the list data; null is an empty list.
func readList(data []byte, read func(raw []byte) error) error {
	i := jsonform.SkipBlank(data, 0)
	if data[i] == 'n' {
		return nil
	}
	if data[i] != '[' {
		return errors.New("is not a list")
	}
	i = jsonform.SkipBlank(data, i+1)
	for n := 0; data[i] != ']'; n++ {
		end := jsonform.SkipValue(data, i)
		if err := read(data[i:end]); err != nil {
			return at(fmt.Sprintf("[%d]", n), err)
		}
		if i = jsonform.SkipBlank(data, end); data[i] == ',' {
			i = jsonform.SkipBlank(data, i+1)
		}
	}
	return nil
}

// readString reads a string into s. Null leaves s as it is.
func readString(raw []byte, s *string) error {
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		*s = string(raw[1 : len(raw)-1])
		return nil
	}
	return json.Unmarshal(raw, s)
}

// get takes a member and returns it; nil if it is missing. Of several members of one name the last
// counts.
func (o *object) get(name string) []byte {
	var raw []byte
	for i := range o.members {
		if m := &o.members[i]; m.name == name {
			raw, m.taken = m.raw, true
		}
	}
	return raw
}

// take takes a member into v. A member that is missing or null leaves v as it is.
func (o *object) take(name string, v any) {
	raw := o.get(name)
	if o.err != nil || raw == nil {
		return
	}
	if s, ok := v.(*string); ok {
		o.err = at(name, readString(raw, s))
	} else {
		o.err = at(name, json.Unmarshal(raw, v))
	}
}

// takeList calls read with each element of a list. A list that is missing or null has none.
func (o *object) takeList(name string, read func(raw []byte) error) {
	raw := o.get(name)
	if o.err != nil || raw == nil {
		return
	}
	o.err = at(name, readList(raw, read))
}

// extras returns what was not taken.
func (o *object) extras() Extras {
	var extras Extras
	for _, m := range o.members {
		if m.taken || o.err != nil {
			continue
		}
		raw, err := compact(m.raw)
		o.err = at(m.name, err)
		if extras == nil {
			extras = Extras{}
		}
		extras[m.name] = raw
	}
	return extras
}
