package jsonform

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the rest of a string that began at from and has its first backslash at c.i.
func (c *Cursor) unescape(from int) []byte {
	quote, start := from-1, len(c.tmp)
	for {
		c.tmp = append(c.tmp, c.b[from:c.i]...)
		if c.i >= len(c.b) || c.b[c.i] < ' ' {
			c.fail()
			return nil
		}
		c.i++
		if c.b[c.i-1] == '"' {
			return c.tmp[start:len(c.tmp):len(c.tmp)]
		}
		if !c.escape() {
			if c.i < len(c.b) {
				c.failWith(badEscape, quote)
			}
			c.fail()
			return nil
		}
		from = c.i
		c.i += plain(c.b[from:])
	}
}

// escape reads the text after a backslash, and reports whether it is an escape.
func (c *Cursor) escape() bool {
	if c.i >= len(c.b) {
		return false
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
		return c.unicode()
	default:
		return false
	}
	c.i++
	c.tmp = append(c.tmp, ch)
	return true
}

// unicode reads the four digits of \u, and the second half of a surrogate pair. A single half
// becomes U+FFFD.
func (c *Cursor) unicode() bool {
	r, ok := c.hex()
	if ok && utf16.IsSurrogate(r) {
		back := c.i
		low := rune(utf8.RuneError)
		if bytes.HasPrefix(c.b[c.i:], []byte(`\u`)) {
			c.i += 2
			low, ok = c.hex()
		}
		if r = utf16.DecodeRune(r, low); ok && r == utf8.RuneError {
			c.i = back
		}
	}
	c.tmp = utf8.AppendRune(c.tmp, r)
	return ok
}

func (c *Cursor) hex() (r rune, ok bool) {
	for range 4 {
		if c.i >= len(c.b) {
			return utf8.RuneError, false
		}
		switch ch := c.b[c.i]; {
		case '0' <= ch && ch <= '9':
			r = r<<4 | rune(ch-'0')
		case 'a' <= ch|0x20 && ch|0x20 <= 'f':
			r = r<<4 | rune(ch|0x20-'a'+10)
		default:
			return utf8.RuneError, false
		}
		c.i++
	}
	return r, true
}
