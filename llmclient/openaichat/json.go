package openaichat

import "unicode/utf8"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		ch := s[i]
		if ch >= ' ' && ch != '"' && ch != '\\' && ch < utf8.RuneSelf {
			i++
			continue
		}
		if ch >= utf8.RuneSelf {
			r, n := decodeRune(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = appendEscape(append(dst, s[from:i]...), ch)
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func decodeRune[T string | []byte](s T) (rune, int) {
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}

func appendEscape(dst []byte, ch byte) []byte {
	const digits = "0123456789abcdef"
	switch ch {
	case '"', '\\':
		return append(dst, '\\', ch)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if ch < ' ' {
		return append(dst, '\\', 'u', '0', '0', digits[ch>>4], digits[ch&15])
	}
	return utf8.AppendRune(dst, utf8.RuneError)
}

// appendKey appends the name of a member, behind a comma unless it is the first of its object.
func appendKey(dst []byte, name string) []byte {
	return append(appendString(appendComma(dst), name), ':')
}

// appendName is appendKey for names that need no escapes.
func appendName(dst []byte, name string) []byte {
	dst = append(appendComma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendComma appends a comma unless an object, a list or a member begins here.
func appendComma(dst []byte) []byte {
	switch dst[len(dst)-1] {
	case '{', '[', ':':
		return dst
	default:
		return append(dst, ',')
	}
}
