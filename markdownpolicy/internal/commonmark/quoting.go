package commonmark

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Quoting reads the lines of a text to determine what is shown as code or as a quotation.
type Quoting struct {
	pos  int // the text before it was read
	line int // where the line begins
	run  int // the length of the run of backquotes that begins the current code span; 0 if there is none
}

// At reports whether a position follows an open backquote on its line, or is on a line that is
// quoted or indented as code. Positions must not decrease from call to call.
func (q *Quoting) At(text string, at int) bool {
	if i := strings.LastIndexByte(text[q.pos:at], '\n'); i >= 0 {
		q.line, q.run = q.pos+i+1, 0
		q.pos = q.line
	}
	for q.pos < at {
		i := strings.IndexAny(text[q.pos:at], "`\\")
		if i < 0 {
			q.pos = at
			break
		}
		q.pos += i
		if text[q.pos] == '\\' {
			q.pos++
			if q.run == 0 {
				q.pos++
			}
			continue
		}
		from := q.pos
		q.pos = textscan.SkipRun(text, q.pos, '`')
		switch q.run {
		case 0:
			q.run = q.pos - from
		case q.pos - from:
			q.run = 0
		}
	}
	indent := strings.TrimLeft(text[q.line:min(at, q.line+4)], " ")
	return q.run > 0 || len(text[q.line:at]) >= 4 && indent == "" || strings.HasPrefix(indent, ">") || strings.HasPrefix(indent, "\t")
}

// Skip passes over the text of a call, up to a position: marks in it begin and end no code.
func (q *Quoting) Skip(to int) { q.pos = max(q.pos, to) }

// Shown reads a text to determine what is shown as code, in a line or a block, or as a quotation.
type Shown struct {
	quoting Quoting
	fences  Fences
}

// At reports whether a position is in what Quoting and Fences find, or directly after a quotation
// mark. Positions must not decrease from call to call.
func (s *Shown) At(text string, at int) bool {
	code, quoted := s.fences.At(text, at), s.quoting.At(text, at)
	return code || quoted || at > 0 && strings.IndexByte(`"'`, text[at-1]) >= 0
}

// Skip passes over the text of a call, up to a position: marks in it begin and end no code.
func (s *Shown) Skip(to int) {
	s.quoting.Skip(to)
	s.fences.seen = max(s.fences.seen, to)
}

// Fences reads the lines of a text to determine what is in a block of code between fences.
type Fences struct {
	pos  int    // the lines before it were read
	seen int    // no line ends from pos to here
	open string // the fence that began the current block; "" if there is none
}

// At reports whether a block of code is open at a position. Positions must not decrease from call
// to call.
func (f *Fences) At(text string, at int) bool {
	for {
		i := strings.IndexByte(text[f.seen:at], '\n')
		if i < 0 {
			f.seen = at
			return f.open != ""
		}
		line := strings.TrimLeft(text[f.pos:f.seen+i], " ")
		f.pos = f.seen + i + 1
		f.seen = f.pos
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if run == "" {
			run = line[:len(line)-len(strings.TrimLeft(line, "~"))]
		}
		switch {
		case f.open != "" && strings.HasPrefix(run, f.open) && textscan.Trim(line[len(run):]) == "":
			f.open = ""
		case f.open == "" && len(run) >= 3 && (run[0] == '~' || strings.IndexByte(line[len(run):], '`') < 0):
			f.open = run
		}
	}
}
