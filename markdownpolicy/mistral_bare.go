package markdownpolicy

import (
	"github.com/segue-go/segue/messages"
)

// mistralSyntax is the syntax of [Mistral]. Beside marks, it knows replies that begin with an
// array.
type mistralSyntax struct {
	Options
	tagSyntax
	begun bool // the beginning has been looked at
	bare  bool // what has been found is an array, or backslashes before one
	pos   int  // of the beginning, looked at so far
}

func (s *mistralSyntax) find(text string, from int, final bool) (int, bool) {
	if s.begun {
		return s.tagSyntax.find(text, from, final)
	}
	at := skipBlanks(text, from)
	for s.pos = max(s.pos, at); s.pos < len(text) && text[s.pos] == '\\'; s.pos++ {
	}
	yes, wait := beginsObjects(text, s.pos)
	if wait && !final {
		return at, false
	}
	if s.begun, s.bare = true, yes; yes {
		return at, true
	}
	return s.tagSyntax.find(text, at, final)
}

// beginsObjects reports whether an array of objects begins at a place, or may, once more of the
// text has come.
func beginsObjects(text string, at int) (yes, wait bool) {
	const most = 64 // blanks
	if at == len(text) || text[at] != '[' {
		return false, at == len(text)
	}
	window := text[:min(len(text), at+1+most)]
	object := skipBlanks(window, at+1)
	if object == len(window) {
		return false, len(window) == len(text)
	}
	return window[object] == '{', false
}

func (s *mistralSyntax) begin(text string, at int) block {
	if !s.bare {
		return s.tagSyntax.begin(text, at)
	}
	s.bare = false
	if text[at] == '\\' {
		return fixedBlock{kind: isParts, end: at + 1}
	}
	return &bareBlock{callBlock: callBlock{Options: s.Options, start: at, after: at + 1, scan: jsonScan{pos: at}}}
}

// bareBlock reads an array that may be one of calls.
type bareBlock struct {
	callBlock
	end int  // of the array; 0 while that is not known
	cut bool // it ends with the text only
}

func (b *bareBlock) read(text string, final bool) verdict {
	if b.end == 0 {
		end, ok := b.scan.scan(text)
		if !ok && !final {
			return verdict{}
		}
		if b.end, b.cut = end, !ok; !ok {
			b.end = len(text)
		}
	}
	end := b.end
	if b.Mode == ModeRepair {
		excess, wait := excessBrackets(text, end, final)
		if wait {
			return verdict{}
		}
		if trimBlanks(text[end:excess]) != "" {
			b.repairs = append(b.repairs, Repair{Offset: end, What: "left out brackets that nothing opened"})
		}
		end = excess
	}
	if b.add(text, b.start, b.end) != nil || !b.known() {
		return verdict{kind: isText, end: b.after, seen: b.end}
	}
	if b.cut {
		return b.unended(end)
	}
	return b.done(end)
}

// known reports whether there are calls, and all are of tools that there are.
func (b *bareBlock) known() bool {
	for _, p := range b.calls {
		if !b.knows(p.Content.(messages.ToolCall).Name) {
			return false
		}
	}
	return len(b.calls) > 0
}
