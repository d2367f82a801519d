// Package jsonprefix makes JSON of JSON that has come in part.
package jsonprefix

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Scanner reads a JSON object or array piece by piece, and knows at any time what of it is certain.
// It looks at each byte once. The zero Scanner is ready. It is not safe for concurrent use.
//
// A Scanner does not judge JSON: of a text that is none, Complete may return what is none.
type Scanner struct {
	text   []byte
	closes []byte // the brackets that are missing, the innermost last
	state  state
	begun  bool // the first bracket has come
	end    int  // of what is certain, an open string aside
	scalar int  // where the number or literal began
	str    str
}

// state says what the next byte is part of.
type state uint8

const (
	value  state = iota // a value, or the end of an array
	name                // the name of a member, or the end of an object
	inName              // a name that is open
	colon               // what stands between a name and its value
	inText              // a string that is open
	scalar              // a number or a literal that is open
	comma               // what stands behind a value
	done                // nothing: the text is whole, or no object or array
)

// str follows a string that is open.
type str struct {
	safe   int // the end of the characters that are whole
	escape int // where an escape began that is not whole; -1: none
}

// Write reads the next piece.
func (s *Scanner) Write(piece string) {
	at := len(s.text)
	s.text = append(s.text, piece...)
	for ; at < len(s.text) && s.state != done; at++ {
		s.read(at, s.text[at])
	}
}

// Len is the number of bytes that were written.
func (s *Scanner) Len() int { return len(s.text) }

// Certain is how much of what was written is certain, an open string aside.
func (s *Scanner) Certain() int { return s.end }

// Complete returns JSON of what is certain: members and elements that are whole, and what there is
// of the last ones, with the brackets that are missing. A string that is open is kept as far as its
// characters are whole or, if openText is false, left out. A number that may go on is left out, and
// so are a name without a value and a literal that is not whole. Complete returns nil before the
// first bracket, and of a text that begins otherwise.
//
// The memory is the caller's. Complete takes time in the length of all that was written.
func (s *Scanner) Complete(openText bool) []byte {
	if !s.begun {
		return nil
	}
	var out []byte
	if s.state == inText && openText {
		out = append(append(out, s.text[:s.str.safe]...), '"')
	} else {
		out = append(out, s.text[:s.end]...)
	}
	for _, b := range slices.Backward(s.closes) {
		out = append(out, b)
	}
	return out
}

func (s *Scanner) read(at int, b byte) {
	switch s.state {
	case inName, inText:
		s.readString(at, b)
		return
	case scalar:
		if s.readScalar(at, b) {
			return
		}
	default: // blanks may stand there
	}
	if b == ' ' || b == '\t' || b == '\n' || b == '\r' {
		return
	}
	switch {
	case b == '}' || b == ']':
		s.close(at)
	case s.state == value:
		s.open(at, b)
	case s.state == name && b == '"':
		s.state, s.str = inName, str{escape: -1}
	case s.state == colon && b == ':':
		s.state = value
	case s.state == comma && b == ',':
		s.state = value
		if s.closes[len(s.closes)-1] == '}' {
			s.state = name
		}
	default:
		s.state = done
	}
}

// open begins a value.
func (s *Scanner) open(at int, b byte) {
	switch b {
	case '{':
		s.closes, s.state = append(s.closes, '}'), name
	case '[':
		s.closes, s.state = append(s.closes, ']'), value
	default:
		switch {
		case !s.begun:
			s.state = done
		case b == '"':
			s.state, s.str = inText, str{safe: at + 1, escape: -1}
		default:
			s.state, s.scalar = scalar, at
		}
		return
	}
	s.begun, s.end = true, at+1
}

// close ends an object or an array.
func (s *Scanner) close(at int) {
	last := len(s.closes) - 1
	if last < 0 || s.closes[last] != s.text[at] {
		s.state = done
		return
	}
	s.closes, s.end, s.state = s.closes[:last], at+1, comma
	if last == 0 {
		s.state = done
	}
}

// readScalar reports whether a byte belongs to the number or literal that is open. A literal is
// certain with its last letter, a number with what stands behind it.
func (s *Scanner) readScalar(at int, b byte) bool {
	switch b {
	case ' ', '\t', '\n', '\r', ',', '}', ']':
		s.end, s.state = at, comma
		return false
	}
	if at-s.scalar < len("false") {
		switch string(s.text[s.scalar : at+1]) {
		case "true", "false", "null":
			s.end = at + 1
		}
	}
	return true
}

// readString reads a byte of a string that is open.
func (s *Scanner) readString(at int, b byte) {
	switch t := &s.str; {
	case t.escape >= 0:
		s.readEscape(at)
	case b == '\\':
		t.escape = at
	case b == '"' && s.state == inName:
		s.state = colon
	case b == '"':
		s.end, s.state = at+1, comma
	case b < utf8.RuneSelf:
		t.safe = at + 1
	default:
		for t.safe <= at && utf8.FullRune(s.text[t.safe:at+1]) {
			_, size := utf8.DecodeRune(s.text[t.safe : at+1])
			t.safe += size
		}
	}
}

// readEscape reads a byte of an escape. The first half of a character that needs two escapes is
// certain only with what comes behind it.
func (s *Scanner) readEscape(at int) {
	t := &s.str
	escape := s.text[t.escape : at+1]
	if escape[1] == 'u' && len(escape) < len(`\u0000`) {
		return
	}
	t.safe = at + 1
	if escape[1] == 'u' {
		if code, err := strconv.ParseUint(string(escape[2:]), 16, 16); err == nil && 0xd800 <= code && code < 0xdc00 {
			t.safe = t.escape
		}
	}
	t.escape = -1
}
