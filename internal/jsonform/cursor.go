package openaichat

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep JSON may nest. Arguments of calls are strings and do not count.
const maxDepth = 512

// cursor reads JSON (RFC 8259) in one pass, without a tree. Every method checks what it passes
// over. A value of another type than the one asked for is skipped. After the first error every
// method returns at once; bad says so in the end.
//
//	for more := c.open('{'); more; more = c.more('}') {
//		switch string(c.key()) { … default: c.skip() }
//	}
type cursor struct {
	b     []byte
	i     int
	depth int
	bad   bool   // not JSON
	cut   bool   // bad because the input ends too early
	tmp   []byte // holds the strings that had escapes
}

// begin sets the cursor to the start of b. Strings returned before are void.
func (c *cursor) begin(b []byte) { *c = cursor{b: b, tmp: c.tmp[:0]} }

// end reports whether the input was one whole JSON value.
func (c *cursor) end() bool {
	c.space()
	return !c.bad && c.i == len(c.b)
}

func (c *cursor) fail() {
	if !c.bad {
		c.bad, c.cut = true, c.i >= len(c.b)
	}
}

func (c *cursor) space() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\n', '\r', '\t':
			c.i++
		default:
			return
		}
	}
}

// peek returns the first byte of the next value or mark; 0 if there is none.
func (c *cursor) peek() byte {
	if !c.bad && c.i < len(c.b) && c.b[c.i] > ' ' {
		return c.b[c.i]
	}
	return c.peekFar()
}

func (c *cursor) peekFar() byte {
	c.space()
	if c.bad || c.i >= len(c.b) {
		c.fail()
		return 0
	}
	return c.b[c.i]
}

func (c *cursor) expect(ch byte) {
	if c.peek() != ch {
		c.fail()
		return
	}
	c.i++
}

// open enters an object or array and reports whether it has an element. Any other value is skipped.
func (c *cursor) open(mark byte) bool {
	if c.peek() != mark {
		c.skip()
		return false
	}
	c.i++
	if c.depth++; c.depth > maxDepth {
		c.fail()
		return false
	}
	if c.peek() != mark+2 { // '{'+2 is '}', '['+2 is ']'
		return !c.bad
	}
	c.i++
	c.depth--
	return false
}

// more goes on to the next element of an object or array, and leaves it behind the last.
func (c *cursor) more(closing byte) bool {
	switch c.peek() {
	case ',':
		c.i++
		return true
	case closing:
		c.i++
		c.depth--
	default:
		c.fail()
	}
	return false
}

// key reads the name of a member.
func (c *cursor) key() []byte {
	if c.peek() != '"' {
		c.fail()
		return nil
	}
	key := c.quoted()
	c.expect(':')
	return key
}

// str reads a string; nil if the value is none. The bytes are valid UTF-8 and live until begin.
func (c *cursor) str() []byte {
	if c.peek() != '"' {
		c.skip()
		return nil
	}
	s := c.quoted()
	if c.bad || utf8.Valid(s) {
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

// quoted reads a string as it is, which may not be UTF-8.
func (c *cursor) quoted() []byte {
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

// plain returns how many bytes stand before the first quote, backslash or control character. It
// looks at eight at once: a byte of x-ones*n borrows into its highest bit where the byte of x is
// below n.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		found := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if ch := b[i]; ch < ' ' || ch == '"' || ch == '\\' {
			break
		}
	}
	return i
}

// unescape reads the rest of a string that began at from and has its first backslash at c.i.
func (c *cursor) unescape(from int) []byte {
	start := len(c.tmp)
	for !c.bad {
		c.tmp = append(c.tmp, c.b[from:c.i]...)
		if c.i >= len(c.b) || c.b[c.i] < ' ' {
			break
		}
		c.i++
		if c.b[c.i-1] == '"' {
			return c.tmp[start:len(c.tmp):len(c.tmp)]
		}
		c.escape()
		from = c.i
		c.i += plain(c.b[from:])
	}
	c.fail()
	return nil
}

// escape reads what follows a backslash.
func (c *cursor) escape() {
	if c.i >= len(c.b) {
		c.fail()
		return
	}
	ch := c.b[c.i]
	switch ch {
	case '"', '\\', '/':
	case 'b':
		ch = '\b'
	case 'f':
		ch = '\f'
	case 'n':
		ch = '\n'
	case 'r':
		ch = '\r'
	case 't':
		ch = '\t'
	case 'u':
		c.i++
		c.unicode()
		return
	default:
		c.fail()
		return
	}
	c.i++
	c.tmp = append(c.tmp, ch)
}

// unicode reads the four digits of \u, and a second half of a surrogate pair. A half alone becomes
// U+FFFD.
func (c *cursor) unicode() {
	r := c.hex()
	if utf16.IsSurrogate(r) {
		back := c.i
		low := rune(utf8.RuneError)
		if len(c.b)-c.i >= 6 && c.b[c.i] == '\\' && c.b[c.i+1] == 'u' {
			c.i += 2
			low = c.hex()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			c.i = back
		}
	}
	c.tmp = utf8.AppendRune(c.tmp, r)
}

func (c *cursor) hex() rune {
	var r rune
	for range 4 {
		if c.i >= len(c.b) {
			c.fail()
			return utf8.RuneError
		}
		switch ch := c.b[c.i]; {
		case '0' <= ch && ch <= '9':
			r = r<<4 | rune(ch-'0')
		case 'a' <= ch|0x20 && ch|0x20 <= 'f':
			r = r<<4 | rune(ch|0x20-'a'+10)
		default:
			c.fail()
			return utf8.RuneError
		}
		c.i++
	}
	return r
}

// integer reads a number, cut to a whole one; false if the value is none or is too large.
func (c *cursor) integer() (int64, bool) {
	raw := c.raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return int64(f), err == nil && f > -1<<62 && f < 1<<62
}

// raw passes over a value and returns its bytes.
func (c *cursor) raw() []byte {
	c.space()
	from := c.i
	c.skip()
	if c.bad {
		return nil
	}
	return c.b[from:c.i]
}

// skip passes over a value.
func (c *cursor) skip() {
	switch ch := c.peek(); {
	case ch == '"':
		tmp := len(c.tmp)
		c.quoted()
		c.tmp = c.tmp[:tmp]
	case ch == '{':
		for more := c.open('{'); more; more = c.more('}') {
			c.key()
			c.skip()
		}
	case ch == '[':
		for more := c.open('['); more; more = c.more(']') {
			c.skip()
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

func (c *cursor) literal(word string) {
	for k := range len(word) {
		if c.i >= len(c.b) || c.b[c.i] != word[k] {
			c.fail()
			return
		}
		c.i++
	}
}

func (c *cursor) number() {
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

func (c *cursor) digits() {
	from := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	if c.i == from {
		c.fail()
	}
}

// validJSON reports whether b is one whole JSON value.
func validJSON(b []byte) bool {
	c := cursor{b: b}
	c.skip()
	return c.end()
}
