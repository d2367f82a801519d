package jsonform

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Cursor reads JSON (RFC 8259) in one pass, without a tree. Every method checks what it reads. A
// value of another type than the requested one is skipped, and so is one that nobody reads. After
// the first error every method returns at once; End and Err report it. The zero Cursor is at the
// end of an empty text: call Begin.
//
//	for more := c.Open('{'); more; more = c.More('}') {
//		switch string(c.Name()) { … }
//	}
type Cursor struct {
	b      []byte
	i      int
	depth  int
	most   int  // the greatest nesting depth of lists and objects
	unread bool // the element or the value of the member has not been read
	bad    problem
	at     int    // where bad was found
	tmp    []byte // holds the strings that had escapes
}

// problem is the kind of an error.
type problem uint8

const (
	none problem = iota
	unexpectedEnd
	unexpectedByte
	badEscape
	tooDeep
	stopped
)

// Begin sets the cursor to the start of b, with most as the greatest nesting depth of lists and
// objects. Texts that were returned before become invalid.
func (c *Cursor) Begin(b []byte, most int) { *c = Cursor{b: b, most: most, tmp: c.tmp[:0]} }

// End reports whether the input was one whole JSON value.
func (c *Cursor) End() bool {
	c.space()
	if c.i < len(c.b) {
		c.fail()
	}
	return c.bad == none
}

// At returns how many bytes have been read.
func (c *Cursor) At() int { return c.i }

// Cut reports whether the input was not JSON because it ends too early.
func (c *Cursor) Cut() bool { return c.bad == unexpectedEnd }

// Kept returns how many bytes the cursor holds for texts that had escapes.
func (c *Cursor) Kept() int { return cap(c.tmp) }

// Err returns the error of the input, as far as it has been read.
func (c *Cursor) Err() error {
	switch c.bad {
	case none:
		return nil
	case unexpectedEnd:
		return fmt.Errorf("not JSON: unexpected end at byte %d", c.at)
	case badEscape:
		return fmt.Errorf("not JSON: a bad escape in the string at byte %d", c.at)
	case tooDeep:
		return fmt.Errorf("nested deeper than %d levels", c.most)
	default:
		r, _ := utf8.DecodeRune(c.b[c.at:])
		return fmt.Errorf("not JSON: unexpected %q at byte %d", r, c.at)
	}
}

// Stop makes every method return at once from now on, as after an error.
func (c *Cursor) Stop() { c.failWith(stopped, c.i) }

// fail records an error at the current byte.
func (c *Cursor) fail() {
	if c.i >= len(c.b) {
		c.failWith(unexpectedEnd, len(c.b))
		return
	}
	c.failWith(unexpectedByte, c.i)
}

func (c *Cursor) failWith(p problem, at int) {
	if c.bad == none {
		c.bad, c.at = p, at
	}
}

func (c *Cursor) space() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\n', '\r', '\t':
			c.i++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next value or mark, or 0 if there is none.
func (c *Cursor) Peek() byte {
	c.space()
	if c.bad != none || c.i >= len(c.b) {
		c.fail()
		return 0
	}
	return c.b[c.i]
}

// Open enters an object or array and reports whether it has an element. Any other value is skipped.
func (c *Cursor) Open(mark byte) bool {
	if c.Peek() != mark {
		c.Skip()
		return false
	}
	c.i++
	c.unread = false
	if c.depth++; c.depth > c.most {
		c.failWith(tooDeep, c.i)
		return false
	}
	if c.Peek() != mark+2 { // '{'+2 is '}', '['+2 is ']'
		c.unread = c.bad == none
		return c.unread
	}
	c.i++
	c.depth--
	return false
}

// More moves to the next element of an object or array, or leaves it after the last.
func (c *Cursor) More(closing byte) bool {
	if c.unread {
		c.Skip()
	}
	switch c.Peek() {
	case ',':
		c.i++
		c.unread = true
		return true
	case closing:
		c.i++
		c.depth--
	default:
		c.fail()
	}
	return false
}

// Name reads the name of a member. Its bytes may not be UTF-8, and are valid until Begin.
func (c *Cursor) Name() []byte {
	if c.Peek() != '"' {
		c.fail()
		return nil
	}
	name := c.quoted()
	if c.Peek() != ':' {
		c.fail()
		return nil
	}
	c.i++
	return name
}

// Text reads a string, or returns nil for another value. Each byte that is not UTF-8 becomes
// U+FFFD. The result is valid until Begin.
func (c *Cursor) Text() []byte {
	if c.Peek() != '"' {
		c.Skip()
		return nil
	}
	c.unread = false
	s := c.quoted()
	if c.bad != none || utf8.Valid(s) {
		return s
	}
	from := len(c.tmp)
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		c.tmp = utf8.AppendRune(c.tmp, r)
		s = s[n:]
	}
	return c.tmp[from:]
}

// quoted reads a string unchanged; it may not be UTF-8.
func (c *Cursor) quoted() []byte {
	c.i++
	from := c.i
	c.i += plain(c.b[from:])
	switch {
	case c.i >= len(c.b) || c.b[c.i] < ' ':
		c.fail()
		return nil
	case c.b[c.i] == '\\':
		return c.unescape(from)
	}
	c.i++
	return c.b[from : c.i-1]
}

// plain returns the number of bytes before the first quote, backslash or control character.
func plain(b []byte) int {
	for i, ch := range b {
		if ch < ' ' || ch == '"' || ch == '\\' {
			return i
		}
	}
	return len(b)
}

// Integer reads a number, truncated to an integer. It returns false if the value is not a number or
// is too large.
func (c *Cursor) Integer() (int64, bool) {
	raw := c.Raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return int64(f), err == nil && f > -1<<62 && f < 1<<62
}

// Raw skips a value and returns its bytes.
func (c *Cursor) Raw() []byte {
	c.space()
	from := c.i
	c.Skip()
	if c.bad != none {
		return nil
	}
	return c.b[from:c.i]
}

// Skip skips a value.
func (c *Cursor) Skip() {
	c.unread = false
	switch ch := c.Peek(); {
	case ch == '"':
		tmp := len(c.tmp)
		c.quoted()
		c.tmp = c.tmp[:tmp]
	case ch == '{':
		for more := c.Open('{'); more; more = c.More('}') {
			c.Name()
		}
	case ch == '[':
		for more := c.Open('['); more; more = c.More(']') {
			c.Skip()
		}
	case ch == 'n':
		c.literal("null")
	case ch == 't':
		c.literal("true")
	case ch == 'f':
		c.literal("false")
	case ch == '-' || '0' <= ch && ch <= '9':
		c.number()
	default:
		c.fail()
	}
}

func (c *Cursor) literal(word string) {
	for k := range len(word) {
		if c.i >= len(c.b) || c.b[c.i] != word[k] {
			c.fail()
			return
		}
		c.i++
	}
}

func (c *Cursor) number() {
	if c.b[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.b) && c.b[c.i] == '0' {
		c.i++
	} else {
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i]|0x20 == 'e' {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		c.digits()
	}
}

func (c *Cursor) digits() {
	from := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	if c.i == from {
		c.fail()
	}
}

// Valid reports whether b is one whole JSON value whose lists and objects nest at most most levels
// deep.
func Valid(b []byte, most int) bool {
	c := Cursor{b: b, most: most}
	c.Skip()
	return c.End()
}
