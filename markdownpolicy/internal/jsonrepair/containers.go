package markdownpolicy

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// container reads an object or an array, from its opening bracket on.
func (m *mender) container(closing byte, item func() bool) bool {
	if m.depth++; m.depth > maxDepth {
		return false
	}
	names := m.names
	m.names = nil
	m.out = append(m.out, m.text[m.pos])
	m.pos++
	if !m.space() || !m.items(closing, item) {
		return false
	}
	m.out = append(m.out, closing)
	m.names = names
	m.depth--
	return true
}

// items reads what stands in a container, and its closing bracket.
func (m *mender) items(closing byte, item func() bool) bool {
	if m.atEnd() {
		return m.missing(closing)
	}
	commas := 0
	for m.next() != closing {
		if !item() {
			return false
		}
		end := m.pos
		switch {
		case !m.space():
			return false
		case m.atEnd():
			return m.missing(closing)
		case m.next() == closing:
		case m.next() == ',':
			commas++
			if !m.comma(closing) {
				return false
			}
		case !m.commaMissing(closing, end) || !m.note(end, "added a missing comma"):
			return false
		default:
			m.out = append(m.out, ',')
		}
	}
	m.pos++
	m.commas = commas
	return true
}

// tuple reads a tuple of Python. What stands alone in parentheses is none.
func (m *mender) tuple() bool {
	at, start := m.pos, len(m.out)
	if !m.note(at, "wrote a tuple as an array") || !m.container(')', m.value) {
		return false
	}
	m.out[start], m.out[len(m.out)-1] = '[', ']'
	return len(m.out) == start+len("[]") || m.commas > 0 && !m.ended
}

// missing closes a container at the end of the text. More items of an array may have been cut off,
// unless it is the outermost: that is a list of calls, each of which is whole.
func (m *mender) missing(closing byte) bool {
	m.ended = true
	return (closing != ']' || m.depth == 1) && !m.cut && m.note(len(m.text), "added the missing "+string(closing)+" at the end")
}

// comma reads a comma. Behind it there must be something.
func (m *mender) comma(closing byte) bool {
	at := m.pos
	m.pos++
	if !m.space() || m.atEnd() {
		return false
	}
	if m.next() == closing {
		return m.note(at, "removed the comma before "+string(closing))
	}
	m.out = append(m.out, ',')
	return true
}

// commaMissing reports whether between an item that ends at a place and what comes next there can
// only be a comma. In a tuple it cannot: Python makes one string of two.
func (m *mender) commaMissing(closing byte, end int) bool {
	before, after := m.text[end-1], m.next()
	gap := m.text[end:m.pos]
	switch {
	case closing == ']':
		return (before == '}' || before == ']') && (after == '{' || after == '[')
	case closing == ')' || after != '"' || gap == "":
		return false
	case m.out[len(m.out)-1] == '"':
		return strings.Contains(gap, "\n") && isComplete(string(m.out[m.string+1:len(m.out)-1]))
	default:
		return true
	}
}

// isComplete reports whether what stands in a string of JSON looks as if it ends there, rather than
// at a quote within it that lacks its backslash: it ends with a letter, a digit, or a sign that
// ends a sentence or closes a bracket, and has its brackets and quotes in pairs.
func isComplete(held string) bool {
	last, _ := utf8.DecodeLastRuneInString(held)
	if !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune(".!?)]}", last) {
		return false
	}
	if held[max(0, len(held)-2)] == '\\' { // it ends with an escape
		return false
	}
	for _, pair := range [...]string{"()", "[]", "{}", "<>"} {
		if strings.Count(held, pair[:1]) != strings.Count(held, pair[1:]) {
			return false
		}
	}
	return strings.Count(held, `\"`)%2 == 0 && strings.Count(held, "`")%2 == 0
}

// member reads a member of an object.
func (m *mender) member() bool {
	start := len(m.out)
	if !m.name() {
		return false
	}
	name := decodeString(string(m.out[start:]))
	if m.names[name] {
		return false
	}
	if m.names == nil {
		m.names = map[string]bool{}
	}
	m.names[name] = true
	if !m.space() || m.next() != ':' {
		return false
	}
	m.out = append(m.out, ':')
	m.pos++
	comments := m.comments
	return m.space() && m.comments == comments && m.value() // the value may be in a comment
}

// name reads the name of a member: a string, a word or an integer.
func (m *mender) name() bool {
	at := m.pos
	for !m.atEnd() && isNameByte(m.text[m.pos]) {
		m.pos++
	}
	name := m.text[at:m.pos]
	if name == "" {
		return m.quoted(true)
	}
	if !isLetter(name[0]) && strings.Trim(name, "0123456789") != "" {
		return false
	}
	m.out = appendString(m.out, name)
	return m.note(at, "put a name in quotes")
}

func isLetter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '$'
}

func isNameByte(b byte) bool { return isLetter(b) || b >= '0' && b <= '9' || b == '-' }

// constant reads true, false and null in their several spellings.
func (m *mender) constant() bool {
	at := m.pos
	for !m.atEnd() && isNameByte(m.text[m.pos]) {
		m.pos++
	}
	word := m.text[at:m.pos]
	value := strings.ToLower(word)
	if value == "none" {
		value = "null"
	}
	if value != "true" && value != "false" && value != "null" {
		return false
	}
	m.out = append(m.out, value...)
	return word == value || m.note(at, "wrote "+value+" for "+word)
}

// number reads a number. One that ends with the text may have been cut off.
func (m *mender) number() bool {
	at := m.pos
	for !m.atEnd() && (isNameByte(m.text[m.pos]) || m.text[m.pos] == '.' || m.text[m.pos] == '+') {
		m.pos++
	}
	value, ok := jsonNumber(m.text[at:m.pos])
	if !ok || m.text[at] == '+' || m.atEnd() {
		return false
	}
	m.out = append(m.out, value...)
	return value == m.text[at:m.pos] || m.note(at, "wrote a number as JSON has it")
}

// jsonNumber writes a decimal number as JSON: without a plus and underscores between its digits, with digits on both sides
// of the point.
func jsonNumber(literal string) (string, bool) {
	number, negative := strings.CutPrefix(strings.TrimPrefix(literal, "+"), "-")
	if strings.HasPrefix(number, ".") {
		number = "0" + number
	}
	whole, rest, found := strings.Cut(number, ".")
	if found && (rest == "" || rest[0] == 'e' || rest[0] == 'E') {
		number = whole + ".0" + rest
	}
	if strings.IndexByte(number, '_') >= 0 {
		number = joinDigits(number)
	}
	if number == "" || !isDigit(number[0]) || !json.Valid([]byte(number)) {
		return "", false
	}
	if negative {
		number = "-" + number
	}
	return number, true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// joinDigits removes the underscores between digits.
func joinDigits(number string) string {
	var b strings.Builder
	for i := range len(number) {
		if number[i] != '_' || i == 0 || i == len(number)-1 || !isDigit(number[i-1]) || !isDigit(number[i+1]) {
			b.WriteByte(number[i])
		}
	}
	return b.String()
}
