package markdownpolicy

import "strings"

// objectScan follows what may be a JSON object in prose, and stops at the first byte that JSON has no place for. What it
// finds the end of may still be no JSON, but never goes beyond the line of a fence.
type objectScan struct {
	pos      int // looked at so far
	depth    int
	inString bool
	escaped  bool
	keyed    bool // the first key has begun
}

type scanState uint8

const (
	scanMore scanState = iota
	scanDone           // the object ends before pos
	scanNone           // it is none
)

// scan looks on, from where it stopped. pos must stand at the opening brace before the first scan.
func (s *objectScan) scan(text string) scanState {
	for ; s.pos < len(text); s.pos++ {
		b := text[s.pos]
		switch {
		case s.escaped:
			s.escaped = false
		case b < ' ' && (s.inString || b != '\n' && b != '\t' && b != '\r'):
			return scanNone
		case s.inString:
			s.inString, s.escaped = b != '"', b == '\\'
		case !s.keyed && s.depth == 1 && b != '"' && b > ' ':
			return scanNone
		case b == '"':
			s.inString, s.keyed = true, true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			if s.depth--; s.depth == 0 {
				s.pos++
				return scanDone
			}
		case !outsideStrings[b]:
			return scanNone
		}
	}
	return scanMore
}

// outsideStrings are the bytes that JSON has outside of strings, brackets and quotes aside.
var outsideStrings = func() (set [256]bool) {
	for _, b := range []byte(" \t\r\n,:+-.0123456789eEtrufalsn") {
		set[b] = true
	}
	return set
}()

// prose follows the lines of a text, to tell what is shown as code or as a quotation.
type prose struct {
	pos  int // looked at so far
	line int // where the line begins
	run  int // the length of the run of backquotes that a span of code began with; 0: there is none
}

// shows reports whether a place stands behind an open backquote on its line, or in a line that is quoted or indented as
// code. Places must not go back.
func (p *prose) shows(text string, at int) bool {
	if i := strings.LastIndexByte(text[p.pos:at], '\n'); i >= 0 {
		p.line, p.run = p.pos+i+1, 0
		p.pos = p.line
	}
	for p.pos < at {
		i := strings.IndexAny(text[p.pos:at], "`\\")
		if i < 0 {
			p.pos = at
			break
		}
		p.pos += i
		if text[p.pos] == '\\' {
			p.pos++
			if p.run == 0 {
				p.pos++
			}
			continue
		}
		from := p.pos
		p.pos = skipRun(text, p.pos, '`')
		switch p.run {
		case 0:
			p.run = p.pos - from
		case p.pos - from:
			p.run = 0
		}
	}
	indent := strings.TrimLeft(text[p.line:min(at, p.line+4)], " ")
	return p.run > 0 || len(text[p.line:at]) >= 4 && indent == "" || strings.HasPrefix(indent, ">") || strings.HasPrefix(indent, "\t")
}
