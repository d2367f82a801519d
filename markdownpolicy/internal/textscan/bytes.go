// Package textscan finds bytes, blanks and marks in texts, some of which arrive in pieces. It does
// not depend on any format.
package textscan

// ByteSet is a set of bytes.
type ByteSet [256]bool

// NewByteSet returns the set of the bytes of a string.
func NewByteSet(bytes string) *ByteSet {
	var s ByteSet
	for i := range len(bytes) {
		s[bytes[i]] = true
	}
	return &s
}

// Next returns the position of the first byte of the set from from on, or len(text).
func (s *ByteSet) Next(text string, from int) int {
	for from < len(text) && !s[text[from]] {
		from++
	}
	return from
}

// Blanks are the bytes that Trim removes.
const Blanks = " \t\r\n\v\f"

// IsBlank reports whether a byte is one of Blanks.
func IsBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Trim is strings.Trim with Blanks, optimized for texts with few blanks.
func Trim(s string) string { return TrimLeft(TrimRight(s)) }

// TrimLeft removes the blanks at the beginning.
func TrimLeft(s string) string {
	for s != "" && IsBlank(s[0]) {
		s = s[1:]
	}
	return s
}

// TrimRight removes the blanks at the end.
func TrimRight(s string) string {
	for s != "" && IsBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// SkipRun returns the position after the run of bytes c at a position.
func SkipRun(text string, at int, c byte) int {
	for at < len(text) && text[at] == c {
		at++
	}
	return at
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsLetter reports whether a byte is an ASCII letter or an underscore.
func IsLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// IsHex reports whether a text consists of hexadecimal digits.
func IsHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !IsDigit(s[i]) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
