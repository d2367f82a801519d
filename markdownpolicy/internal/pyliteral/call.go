package markdownpolicy

import (
	"bytes"
	"strings"

	"github.com/segue-go/segue/messages"
)

// pyCalls reads the list of calls in Python that stands between a place and the end of the text. In
// mode repair, brackets that are missing at the end are added, and strings may go over lines.
func pyCalls(text string, at int, mode Mode) ([]Part, []Repair, *ParseError) {
	p := pyReader{text: text, pos: at, loose: mode == ModeRepair}
	p.enter()
	var parts []Part
	for more := p.next() != ']'; more; {
		start := p.pos
		call, ok := p.call()
		if !ok {
			return nil, nil, p.err
		}
		parts = append(parts, Part{Content: call, Start: start, End: p.pos})
		if more, ok = p.more(']'); !ok {
			return nil, nil, p.err
		}
	}
	if p.pos < len(text) {
		p.fail("the end of the list of calls")
		return nil, nil, p.err
	}
	return parts, p.repairs, nil
}

// call reads name(argument=value, …).
func (p *pyReader) call() (messages.ToolCall, bool) {
	h := pyHeader{text: p.text, pos: p.pos}
	name := h.name()
	if name == "" || !h.skip("(") {
		return messages.ToolCall{}, p.fail("a call, such as name(argument=value)")
	}
	p.pos = h.pos - 1
	p.out = nil
	if !p.enter() || !p.arguments() {
		return messages.ToolCall{}, false
	}
	return messages.ToolCall{Name: name, Arguments: string(p.out)}, true
}

// arguments reads what stands between the parentheses, and the closing one.
func (p *pyReader) arguments() bool {
	if p.next() == ')' {
		p.leave()
		p.out = append(p.out, "{}"...)
		return true
	}
	if strings.HasPrefix(p.text[p.pos:], "**") {
		p.pos += len("**")
		if p.space(); p.next() != '{' {
			return p.fail("a dict behind **")
		}
		more, ok := false, p.dict()
		if ok {
			more, ok = p.more(')')
		}
		return ok && (!more || p.fail(") behind **{…}"))
	}
	return p.members(')', func() bool { return p.argument() })
}

// argument reads a name and its equals sign.
func (p *pyReader) argument() bool {
	name := p.word()
	if !isPyName(name) {
		return p.fail("argument=value")
	}
	p.out = appendString(p.out, name)
	p.pos += len(name)
	if p.space(); p.next() != '=' {
		return p.fail("argument=value")
	}
	return true
}

// isPyName reports whether Python can have a name for an argument.
func isPyName(s string) bool {
	const most = 64
	if s == "" || len(s) > most || isDigit(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) || s[i] == '-' || s[i] == '$' {
			return false
		}
	}
	return true
}

// writePyCall writes a call on one line. Arguments that are no JSON object are written as a string.
func writePyCall(c messages.ToolCall) string {
	arguments := string(appendArguments(nil, c.Arguments))
	if arguments[0] != '{' {
		return c.Name + "(**" + quote(c.Arguments) + ")"
	}
	var pairs []string
	for key, value := range members(arguments) {
		if !isPyName(key) {
			return c.Name + "(**" + writePython(arguments) + ")"
		}
		pairs = append(pairs, key+"="+writePython(value))
	}
	return c.Name + "(" + strings.Join(pairs, ", ") + ")"
}

// writePython writes valid JSON as a literal of Python.
func writePython(text string) string {
	var b strings.Builder
	for pos := 0; pos < len(text); {
		end := pos + 1
		switch c := text[pos]; {
		case c == '"':
			end = valueEnd(text, pos)
			b.WriteString(unescapeSlashes(text[pos:end]))
		case strings.HasPrefix(text[pos:], "true"):
			end = pos + len("true")
			b.WriteString("True")
		case strings.HasPrefix(text[pos:], "false"):
			end = pos + len("false")
			b.WriteString("False")
		case strings.HasPrefix(text[pos:], "null"):
			end = pos + len("null")
			b.WriteString("None")
		default:
			b.WriteByte(c)
		}
		pos = end
	}
	return b.String()
}

// unescapeSlashes writes \/ as /, which is the one escape of JSON that Python has not.
func unescapeSlashes(literal string) string {
	if !strings.Contains(literal, `\/`) {
		return literal
	}
	var b bytes.Buffer
	for i := 0; i < len(literal); i++ {
		if literal[i] == '\\' {
			if i++; literal[i] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(literal[i])
	}
	return b.String()
}

// pyHeader looks at how a call in Python begins: at names and blanks of a bounded length.
type pyHeader struct {
	text   string
	pos    int
	partly bool // the text ended
}

// call reads "name(" and reports whether an argument with a name, or none at all, comes next.
func (h *pyHeader) call() bool {
	if h.name() == "" || !h.skip("(") {
		return false
	}
	if h.skip(")") {
		return h.skip("]") || h.skip(",")
	}
	if h.skip("**") {
		return true
	}
	return !h.partly && h.name() != "" && h.skip("=")
}

const pyHeaderMost = 128

func (h *pyHeader) blanks() {
	for end := min(len(h.text), h.pos+pyHeaderMost); h.pos < end && strings.IndexByte(blanks, h.text[h.pos]) >= 0; {
		h.pos++
	}
	h.partly = h.pos == len(h.text)
}

// name reads a name, which may have points.
func (h *pyHeader) name() string {
	h.blanks()
	start := h.pos
	for end := min(len(h.text), start+pyHeaderMost); h.pos < end && (isNameByte(h.text[h.pos]) || h.text[h.pos] == '.'); {
		h.pos++
	}
	h.partly = h.pos == len(h.text)
	return h.text[start:h.pos]
}

// skip reads blanks and what comes next, if it is that.
func (h *pyHeader) skip(mark string) bool {
	h.blanks()
	rest := h.text[h.pos:]
	if strings.HasPrefix(rest, mark) {
		h.pos += len(mark)
		return true
	}
	h.partly = h.partly || len(rest) < len(mark) && strings.HasPrefix(mark, rest)
	return false
}

// pyScan finds the end of a list of Python in a text that arrives in pieces. It looks at brackets
// and strings only.
type pyScan struct {
	pos   int // looked at so far
	depth int
	quote string // of the string that is not closed
}

// scan looks on, from where it stopped, and returns the place behind the list, or 0 if it is not
// there yet.
func (s *pyScan) scan(text string, final bool) int {
	for {
		if s.quote != "" {
			s.pos += plainRun(text[s.pos:])
		}
		if s.pos == len(text) {
			return 0
		}
		c := text[s.pos]
		switch {
		case c == '\'' || c == '"':
			if s.quote == "" && len(text)-s.pos < 3 && !final {
				return 0
			}
			if s.quote != "" && s.quote[0] == c && len(text)-s.pos < len(s.quote) && !final {
				return 0
			}
			s.pos += s.atQuote(text[s.pos:])
			continue
		case s.quote != "":
			if c == '\\' {
				if s.pos+1 == len(text) {
					return 0
				}
				s.pos++
			}
		case c == '[' || c == '(' || c == '{':
			s.depth++
		case c == ']' || c == ')' || c == '}':
			if s.depth--; s.depth <= 0 {
				s.pos++
				return s.pos
			}
		}
		s.pos++
	}
}

// atQuote opens or closes a string, and returns the length of what it looked at.
func (s *pyScan) atQuote(rest string) int {
	long := strings.Repeat(rest[:1], 3)
	switch {
	case s.quote == "" && strings.HasPrefix(rest, long):
		s.quote = long
		return len(long)
	case s.quote == "":
		s.quote = rest[:1]
		return 1
	case strings.HasPrefix(rest, s.quote):
		size := len(s.quote)
		s.quote = ""
		return size
	default:
		return 1
	}
}
