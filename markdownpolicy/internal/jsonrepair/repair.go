package markdownpolicy

import (
	"encoding/json"
	"errors"
	"strings"
)

// Bounds of a repair.
const (
	maxRepairs = 1000
	maxDepth   = 10000 // of encoding/json
)

var errAmbiguous = errors.New("there is no one way to mend it")

// readObject reads a JSON object that stands at an offset of the reply, and nothing else. What is
// none is an error, or in mode repair it is mended; the dict of Python is such an object too.
func readObject(text string, at int, mode Mode) (object string, repairs []Repair, err *ParseError) {
	start := skipBlanks(text, 0)
	object = trimBlanksRight(text[start:])
	if object != "" && object[0] == '{' && json.Valid([]byte(object)) {
		return object, nil, nil
	}
	if mode == ModeRepair {
		fixed, repairs, ok := repairJSON(text)
		if ok && fixed[0] == '{' {
			for i := range repairs {
				repairs[i].Offset += at
			}
			return fixed, repairs, nil
		}
	}
	return "", nil, notObject(text, at, mode)
}

// notObject says where a text stops being a JSON object.
func notObject(text string, at int, mode Mode) *ParseError {
	var raw json.RawMessage
	cause := json.Unmarshal([]byte(text), &raw)
	e := broken(at, "a JSON object", text, cause)
	if syntax, ok := errors.AsType[*json.SyntaxError](cause); ok {
		stop := min(max(0, int(syntax.Offset)-1), len(text))
		if strings.Contains(syntax.Error(), "end of JSON") {
			stop = len(text)
		}
		e.Offset, e.Found = at+stop, shorten(text[stop:])
	}
	if mode == ModeRepair {
		e.Err = errors.Join(cause, errAmbiguous)
	}
	return e
}

// repairJSON mends a JSON object or array, where there is one thing only that it can mean:
//
//   - closing braces that are missing or too many at the end, but not a string, a number, a member or an array within
//     that may have been cut off;
//   - commas before a closing bracket, and missing ones where a new line begins a member behind what ends as a text does, or two
//     brackets meet;
//   - names for keys, and strings in single or typographic quotes;
//   - True, None and other spellings of the constants; numbers such as .5 and 1_000;
//   - comments, but not between a name and its value, nor behind a number unless they begin with a letter;
//   - line breaks and tabs in strings; backslashes that only a regular expression can mean;
//   - tuples of Python; an object all of whose quotes are escaped.
//
// What may mean two things is refused: ok is false. So are two members of the same name, missing
// values, text around the JSON, quotes within strings, brackets that do not match. Time and space
// are linear in the length of the text. Offsets are relative to it.
func repairJSON(text string) (fixed string, repairs []Repair, ok bool) {
	whole := trimBlanks(text)
	if json.Valid([]byte(whole)) {
		return whole, nil, true
	}
	m := mender{text: text}
	if m.document() && json.Valid(m.out) {
		return string(m.out), m.repairs, true
	}
	if inner, ok := unescape(whole); ok {
		return inner, []Repair{{Offset: strings.Index(text, whole), What: "took away the backslashes before the quotes"}}, true
	}
	return "", nil, false
}

// unescape reads JSON that stands as in a JSON string, but without the quotes around it.
func unescape(text string) (string, bool) {
	if !strings.HasPrefix(text, `{\"`) {
		return "", false
	}
	inner := decodeString(`"` + text + `"`)
	return inner, inner != "" && json.Valid([]byte(inner))
}

// mender reads what is nearly JSON, and writes it as JSON. Its methods return false where it must
// be refused.
type mender struct {
	text     string
	pos      int
	out      []byte
	repairs  []Repair
	depth    int
	cut      bool            // a comment goes on to the end of the text: what else is missing there may stand in it
	commas   int             // in the container that was read last
	string   int             // the place in out of the string that was read last
	comments int             // removed so far
	ended    bool            // a closing bracket was missing at the end
	names    map[string]bool // of the members of the object that is read
}

// repeatsName reports whether in a valid JSON object, or in one within it, two members have the
// same name.
func repeatsName(object string) bool {
	m := mender{text: object}
	return !m.document()
}

// note lists a repair.
func (m *mender) note(at int, what string) bool {
	m.repairs = append(m.repairs, Repair{Offset: at, What: what})
	return len(m.repairs) <= maxRepairs
}

func (m *mender) atEnd() bool { return m.pos == len(m.text) }

// next is the next byte, 0 at the end.
func (m *mender) next() byte {
	if m.atEnd() {
		return 0
	}
	return m.text[m.pos]
}

func (m *mender) document() bool {
	if !m.space() || m.next() != '{' && m.next() != '[' || !m.value() || !m.space() {
		return false
	}
	for !m.ended && m.next() == '}' {
		if !m.note(m.pos, "removed a } too many at the end") {
			return false
		}
		m.pos++
		if !m.space() {
			return false
		}
	}
	return m.atEnd()
}

func (m *mender) value() bool {
	switch c := m.next(); {
	case c == '{':
		return m.container('}', m.member)
	case c == '[':
		return m.container(']', m.value)
	case c == '(':
		return m.tuple()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return m.number()
	case isLetter(c):
		return m.constant()
	default:
		return m.quoted(false)
	}
}
