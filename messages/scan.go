package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// check returns an error if data is not JSON.
func check(data []byte) error {
	return at("", json.Unmarshal(data, new(json.RawMessage)))
}

// object is a JSON object whose members are read one by one. Of several members with one name the
// last is used. The first error is kept, and nothing is read after it.
type object struct {
	members map[string]json.RawMessage // members not read yet
	err     error
}

// readObject reads an object from valid JSON.
func readObject(data []byte) *object {
	o := &object{}
	if _ = json.Unmarshal(data, &o.members); o.members == nil {
		o.err = at("", errors.New("is not an object"))
	}
	return o
}

// get removes a member and returns it, or nil if it is missing.
func (o *object) get(name string) json.RawMessage {
	raw := o.members[name]
	delete(o.members, name)
	return raw
}

// take removes a member and decodes it into v. A missing or null member leaves v unchanged.
func (o *object) take(name string, v any) {
	if raw := o.get(name); o.err == nil && raw != nil {
		o.err = at(name, json.Unmarshal(raw, v))
	}
}

// takeList removes a list and calls read for each element. A missing or null list has no elements.
func (o *object) takeList(name string, read func(raw []byte) error) {
	raw := o.get(name)
	if o.err != nil || raw == nil {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		o.err = at(name, errors.New("is not a list"))
		return
	}
	for n, raw := range list {
		if err := read(raw); err != nil {
			o.err = at(name, at(fmt.Sprintf("[%d]", n), err))
			return
		}
	}
}

// extras returns the members that were not read.
func (o *object) extras() Extras {
	if o.err != nil || len(o.members) == 0 {
		return nil
	}
	extras := Extras{}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		raw, err := compact(o.members[name])
		if err != nil {
			o.err = at(name, err)
			return nil
		}
		extras[name] = raw
	}
	return extras
}
