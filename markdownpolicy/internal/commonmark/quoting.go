package markdownpolicy

import "strings"

// prose follows the lines of a text, to tell what is shown as code or as a quotation.
type prose struct {
	pos  int // looked at so far
	line int // where the line begins
	run  int // the length of the run of backquotes that a span of code began with; 0: there is none
}

// shows reports whether a place stands behind an open backquote on its line, or in a line that is
// quoted or indented as code. Places must not go back.
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
