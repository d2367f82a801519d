// Package jsonrepair mends JSON that a model wrote with the usual mistakes, where there is one
// thing only that it can mean.
package jsonrepair

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Change is something that was mended in a text.
type Change struct {
	Offset int    // in bytes of the text
	What   string // such as "added a missing comma"
}

// MaxChanges is how many changes a text may need: one that needs more is refused.
const MaxChanges = 1000

// Repair mends a JSON object or array, where there is one thing only that it can mean:
//
//   - closing braces that are missing or too many at the end, but not a string, a number, a member
//     or an array within that may have been cut off;
//   - commas before a closing bracket, and missing ones where a new line begins a member behind
//     what ends as a text does, or two brackets meet;
//   - names for keys, and strings in single or typographic quotes;
//   - True, None and other spellings of the constants; numbers such as .5 and 1_000;
//   - comments, but not between a name and its value, nor behind a number unless they begin with a
//     letter;
//   - line breaks and tabs in strings; backslashes that only a regular expression can mean;
//   - tuples of Python; an object all of whose quotes are escaped.
//
// What may mean two things is refused: ok is false. So are two members of the same name, missing
// values, text around the JSON, quotes within strings, brackets that do not match. Time and space
// are linear in the length of the text. Offsets are relative to it.
func Repair(text string) (fixed string, changes []Change, ok bool) {
	whole := textscan.Trim(text)
	if json.Valid([]byte(whole)) {
		return whole, nil, true
	}
	r := repairer{text: text}
	if r.document() && json.Valid(r.out) {
		return string(r.out), r.changes, true
	}
	if inner, ok := unescape(whole); ok {
		return inner, []Change{{Offset: strings.Index(text, whole), What: "took away the backslashes before the quotes"}}, true
	}
	return "", nil, false
}

// unescape reads JSON that stands as in a JSON string, but without the quotes around it.
func unescape(text string) (string, bool) {
	if !strings.HasPrefix(text, `{\"`) {
		return "", false
	}
	inner := jsonscan.Unquote(`"` + text + `"`)
	return inner, inner != "" && json.Valid([]byte(inner))
}

// repairer reads what is nearly JSON, and writes it as JSON. Its methods return false where it must
// be refused.
type repairer struct {
	text    string
	pos     int
	out     []byte
	changes []Change
	depth   int

	openComment bool            // a comment goes on to the end of the text: what is missing there may stand in it
	commas      int             // in the container that was read last
	lastString  int             // the place in out of the string that was read last
	comments    int             // removed so far
	ended       bool            // a closing bracket was missing at the end
	names       map[string]bool // of the members of the object that is read
}

// RepeatsName reports whether in a valid JSON object, or in one within it, two members have the
// same name.
func RepeatsName(object string) bool {
	r := repairer{text: object}
	return !r.document()
}

// note lists a change.
func (r *repairer) note(at int, what string) bool {
	r.changes = append(r.changes, Change{Offset: at, What: what})
	return len(r.changes) <= MaxChanges
}

func (r *repairer) atEnd() bool { return r.pos == len(r.text) }

// next is the next byte, 0 at the end.
func (r *repairer) next() byte {
	if r.atEnd() {
		return 0
	}
	return r.text[r.pos]
}

func (r *repairer) document() bool {
	if !r.space() || r.next() != '{' && r.next() != '[' || !r.value() || !r.space() {
		return false
	}
	for !r.ended && r.next() == '}' {
		if !r.note(r.pos, "removed a } too many at the end") {
			return false
		}
		r.pos++
		if !r.space() {
			return false
		}
	}
	return r.atEnd()
}

func (r *repairer) value() bool {
	switch c := r.next(); {
	case c == '{':
		return r.container('}', r.member)
	case c == '[':
		return r.container(']', r.value)
	case c == '(':
		return r.tuple()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	case isLetter(c):
		return r.constant()
	default:
		return r.quoted(false)
	}
}
