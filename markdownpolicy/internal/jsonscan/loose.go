package jsonscan

import "github.com/segue-go/segue/markdownpolicy/internal/textscan"

// Loose determines which positions of a text are within objects and lists that are JSON or nearly
// JSON: strings may have single quotes, keys and values may be words, and there may be comments and
// commas before closing brackets. Strings and comments end on their line. A list that begins with
// an object or a list, and is within nothing, does not count. Each byte is read once, and nothing
// but the kinds of open brackets is remembered. The zero value is ready to use.
type Loose struct {
	pos     int      // the text before it was read
	kinds   []uint64 // a bit for each open bracket: whether it is a brace
	depth   int      // the number of open brackets
	expects expectation
	lexeme  lexeme
	quote   byte // of the current string

	waiting bool // the value around the position asked for may still end
	level   int  // the depth at that position
	within  bool // if not waiting: that value has an end, and everything from there to pos is in it
	placed  bool // that position is in an object, where a value is expected
}

// expectFirst is what an outermost list expects first: a string, a word, or the end of the list.
const expectFirst = expectNext + 1

// lexeme is what the next byte may belong to.
type lexeme uint8

const (
	between lexeme = iota
	inWord
	inString
	inEscape // after a backslash in a string
	afterSlash
	inLine  // a comment up to the end of the line
	inBlock // a comment up to the mark of its end
	afterStar
)

// words are the bytes of keys and values without quotes.
var words = newWords()

func newWords() *textscan.ByteSet {
	set := textscan.NewByteSet("_$.+-")
	for i := range set {
		c := byte(i)
		if c >= 0x80 || textscan.IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' {
			set[i] = true
		}
	}
	return set
}

// Within reports whether the innermost bracket that is open at a position has its end after it.
// wait means that the end may still come. final means that no more text comes: then the text may
// have been cut off, and what is in the place of a value of an object is within that object.
// Positions must not decrease from call to call.
func (l *Loose) Within(text string, at int, final bool) (within, wait bool) {
	if !l.waiting {
		if at < l.pos {
			return l.within, false
		}
		for l.pos < at {
			l.step(text[l.pos])
		}
		if l.depth == 0 {
			return false, false
		}
		l.waiting, l.level, l.within = true, l.depth, false
		l.placed = l.kinds[0]&1 == 1 && (l.expects == expectValue || l.expects == expectElement)
	}
	for l.waiting && l.pos < len(text) {
		switch ok := l.step(text[l.pos]); {
		case !ok:
			l.waiting = false
		case l.depth < l.level:
			l.waiting, l.within = false, true
		}
	}
	if l.waiting && final {
		l.waiting, l.within = false, l.placed
	}
	return l.within, l.waiting
}

// TakesObject reports whether an object on a new line after a text would be within a value that has
// begun in the text.
func TakesObject(text string) bool {
	var l Loose
	for l.pos < len(text) {
		l.step(text[l.pos])
	}
	l.step('\n')
	return l.depth > 0 && (l.expects == expectValue || l.expects == expectElement)
}

// step reads a byte. It returns false if the byte cannot be part of the open values: then these are
// no values.
func (l *Loose) step(c byte) bool {
	l.pos++
	ok := true
	if l.depth > 0 {
		if l.take(c) {
			return true
		}
		l.depth, ok = 0, false
	}
	if c == '{' || c == '[' {
		l.enter(c)
	}
	return ok
}

// take reads a byte within a bracket.
func (l *Loose) take(c byte) bool {
	ends := c == '\n' || c == '\r'
	switch l.lexeme {
	case between:
	case inString:
		switch c {
		case '\\':
			l.lexeme = inEscape
		case l.quote:
			l.lexeme = between
		}
		return !ends
	case inEscape:
		l.lexeme = inString
		return !ends
	case inLine:
		if ends {
			l.lexeme = between
		}
		return true
	case afterSlash, inBlock, afterStar:
		return l.comment(c) && !ends
	case inWord:
		if words[c] {
			return true
		}
		l.lexeme = between
	}
	return l.token(c)
}

// comment reads a byte after the slash that begins a comment.
func (l *Loose) comment(c byte) bool {
	switch {
	case l.lexeme == afterSlash && c == '/':
		l.lexeme = inLine
	case l.lexeme == afterSlash && c != '*':
		return false
	case l.lexeme == afterStar && c == '/':
		l.lexeme = between
	case l.lexeme != afterSlash && c == '*':
		l.lexeme = afterStar
	default:
		l.lexeme = inBlock
	}
	return true
}

// token reads a byte outside of strings, words and comments.
func (l *Loose) token(c byte) bool {
	switch {
	case isBlank(c):
		return true
	case c == '/':
		l.lexeme = afterSlash
		return true
	case c == '#':
		l.lexeme = inLine
		return true
	case c == '"' || c == '\'':
		l.lexeme, l.quote = inString, c
		return l.scalar()
	case words[c]:
		l.lexeme = inWord
		return l.scalar()
	default:
		return l.mark(c)
	}
}

// scalar begins a key or a value that is a string or a word.
func (l *Loose) scalar() bool {
	switch l.expects {
	case expectMember:
		l.expects = expectColon
	case expectValue, expectElement, expectFirst:
		l.expects = expectNext
	default:
		return false
	}
	return true
}

// mark reads a bracket, a comma or a colon.
func (l *Loose) mark(c byte) bool {
	object := l.kinds[(l.depth-1)/64]>>((l.depth-1)%64)&1 == 1
	switch c {
	case '{', '[':
		if l.expects != expectValue && l.expects != expectElement {
			return false
		}
		l.enter(c)
	case '}', ']':
		if object != (c == '}') || l.expects == expectColon || l.expects == expectValue {
			return false
		}
		l.depth--
		l.expects = expectNext
	case ':':
		if l.expects != expectColon {
			return false
		}
		l.expects = expectValue
	case ',':
		if l.expects != expectNext {
			return false
		}
		if l.expects = expectElement; object {
			l.expects = expectMember
		}
	default:
		return false
	}
	return true
}

// enter enters a bracket.
func (l *Loose) enter(c byte) {
	if l.depth/64 == len(l.kinds) {
		l.kinds = append(l.kinds, 0)
	}
	bit := uint64(1) << (l.depth % 64)
	l.kinds[l.depth/64] &^= bit
	switch {
	case c == '{':
		l.kinds[l.depth/64] |= bit
		l.expects = expectMember
	case l.depth == 0:
		l.expects = expectFirst
	default:
		l.expects = expectElement
	}
	l.depth++
	l.lexeme = between
}
