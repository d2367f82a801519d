package markdownpolicy

import (
	"encoding/json"
	"iter"
	"strings"
)

// members are the keys, decoded, and the values, as they are written, of a valid JSON object.
func members(object string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		pos := skipBlanks(object, 1)
		for pos < len(object) && object[pos] == '"' {
			end := valueEnd(object, pos)
			key := decodeString(object[pos:end])
			pos = skipBlanks(object, skipBlanks(object, end)+1) // the colon
			end = valueEnd(object, pos)
			if !yield(key, object[pos:end]) {
				return
			}
			pos = skipBlanks(object, end)
			pos = skipBlanks(object, pos+1) // the comma
		}
	}
}

// valueEnd returns the place behind the value that stands at pos in valid JSON.
func valueEnd(text string, pos int) int {
	switch text[pos] {
	case '{', '[':
		s := jsonScan{pos: pos}
		end, _ := s.scan(text)
		return end
	case '"':
		for pos++; text[pos] != '"'; pos++ {
			if text[pos] == '\\' {
				pos++
			}
		}
		return pos + 1
	default:
		if i := strings.IndexAny(text[pos:], ",]} \t\r\n"); i >= 0 {
			return pos + i
		}
		return len(text)
	}
}

// skipBlanks returns the place of the first byte at or after pos that JSON does not take for a
// blank.
func skipBlanks(text string, pos int) int {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\n' || text[pos] == '\t' || text[pos] == '\r') {
		pos++
	}
	return pos
}

// decodeString returns what a JSON string holds, and "" for what is none.
func decodeString(literal string) string {
	if len(literal) >= 2 && literal[0] == '"' && strings.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return ""
	}
	return s
}

// appendString writes a JSON string. Bytes that are not UTF-8 are kept.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for s != "" {
		run := plainRun(s)
		dst = append(dst, s[:run]...)
		if s = s[run:]; s != "" {
			dst = appendStringByte(dst, s[0])
			s = s[1:]
		}
	}
	return append(dst, '"')
}

// appendStringByte writes a byte of what a JSON string holds.
func appendStringByte(dst []byte, b byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case b == '"' || b == '\\':
		return append(dst, '\\', b)
	case b == '\n':
		return append(dst, `\n`...)
	case b == '\t':
		return append(dst, `\t`...)
	case b == '\r':
		return append(dst, `\r`...)
	case b == '\b':
		return append(dst, `\b`...)
	case b == '\f':
		return append(dst, `\f`...)
	case b < ' ':
		return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
	default:
		return append(dst, b)
	}
}
