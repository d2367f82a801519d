package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/segue-go/segue/internal/jsonform"
)

// MaxDepth is the greatest nesting depth of JSON in requests and answers. Arguments of calls are
// strings and do not count.
const MaxDepth = 512

// ValidJSON reports whether b is one whole JSON value.
func ValidJSON(b []byte) bool { return jsonform.Valid(b, MaxDepth) }

// RawJSON returns a copy of raw JSON of a server that can be sent back: in UTF-8, and without
// blanks between its tokens, which a store does not keep. It returns nil for nil.
func RawJSON(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// AppendKey appends the name of a member, after a comma unless it is the first of its object.
func AppendKey(dst []byte, name string) []byte {
	return append(jsonform.AppendString(AppendComma(dst), name), ':')
}

// AppendName is AppendKey for names that need no escapes.
func AppendName(dst []byte, name string) []byte {
	dst = append(AppendComma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendComma appends a comma unless an object, a list or a member begins here.
func AppendComma(dst []byte) []byte {
	switch dst[len(dst)-1] {
	case '{', '[', ':':
		return dst
	default:
		return append(dst, ',')
	}
}

// WithMembers returns an object in which members have other values. Those that it lacks are at its
// end. It empties the map.
func WithMembers(object []byte, values map[string][]byte) []byte {
	if len(values) == 0 {
		return object
	}
	var c jsonform.Cursor
	c.Begin(object, MaxDepth)
	dst := []byte{'{'}
	for more := c.Open('{'); more; more = c.More('}') {
		name, value := string(c.Name()), c.Raw()
		if other, ok := values[name]; ok {
			value = other
			delete(values, name)
		}
		dst = append(AppendKey(dst, name), value...)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		dst = append(AppendKey(dst, name), values[name]...)
	}
	return append(dst, '}')
}
