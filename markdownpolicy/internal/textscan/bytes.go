package markdownpolicy

// byteSet is a set of bytes.
type byteSet [256]bool

func newByteSet(bytes string) *byteSet {
	var s byteSet
	for i := range len(bytes) {
		s[bytes[i]] = true
	}
	return &s
}

// next returns the place of the first byte of the set at or after from, or len(text).
func (s *byteSet) next(text string, from int) int {
	for from < len(text) && !s[text[from]] {
		from++
	}
	return from
}

// isBlank reports whether a byte is one of blanks.
func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// trimBlanks is strings.Trim with blanks, of which most texts have few.
func trimBlanks(s string) string { return trimBlanksLeft(trimBlanksRight(s)) }

func trimBlanksLeft(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}

func trimBlanksRight(s string) string {
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
