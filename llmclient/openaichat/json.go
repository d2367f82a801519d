package openaichat

import "github.com/segue-go/segue/internal/jsonform"

// maxDepth is the greatest nesting depth of JSON. Arguments of calls are strings and do not count.
const maxDepth = 512

// validJSON reports whether b is one whole JSON value.
func validJSON(b []byte) bool { return jsonform.Valid(b, maxDepth) }

// appendKey appends the name of a member, after a comma unless it is the first of its object.
func appendKey(dst []byte, name string) []byte {
	return append(jsonform.AppendString(appendComma(dst), name), ':')
}

// appendName is appendKey for names that need no escapes.
func appendName(dst []byte, name string) []byte {
	dst = append(appendComma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendComma appends a comma unless an object, a list or a member begins here.
func appendComma(dst []byte) []byte {
	switch dst[len(dst)-1] {
	case '{', '[', ':':
		return dst
	default:
		return append(dst, ',')
	}
}
