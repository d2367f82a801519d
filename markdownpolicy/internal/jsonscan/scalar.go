package jsonscan

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Unquote returns the content of a JSON string, or "" for anything else.
func Unquote(literal string) string {
	if len(literal) >= 2 && literal[0] == '"' && strings.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return ""
	}
	return s
}

// Quote writes a JSON string. Bytes that are not UTF-8 are kept.
func Quote(s string) string { return string(AppendString(nil, s)) }

// AppendString appends s to dst as a JSON string, as Quote does.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for s != "" {
		run := PlainRun(s)
		dst = append(dst, s[:run]...)
		if s = s[run:]; s != "" {
			dst = AppendStringByte(dst, s[0])
			s = s[1:]
		}
	}
	return append(dst, '"')
}

// AppendStringByte appends one byte of the content of a JSON string.
func AppendStringByte(dst []byte, b byte) []byte {
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

// PlainRun returns the length of the prefix that needs no escape in any JSON or Python string.
func PlainRun(text string) int {
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' || c == '\'' || c < ' ' {
			return i
		}
	}
	return len(text)
}

// Number writes a decimal number as JSON: without a plus sign, without underscores between digits,
// and with digits on both sides of the point.
func Number(literal string) (string, bool) {
	number, negative := strings.CutPrefix(strings.TrimPrefix(literal, "+"), "-")
	if strings.HasPrefix(number, ".") {
		number = "0" + number
	}
	whole, rest, found := strings.Cut(number, ".")
	if found && (rest == "" || rest[0] == 'e' || rest[0] == 'E') {
		number = whole + ".0" + rest
	}
	if strings.IndexByte(number, '_') >= 0 {
		number = joinDigits(number)
	}
	if number == "" || !textscan.IsDigit(number[0]) || !json.Valid([]byte(number)) {
		return "", false
	}
	if negative {
		number = "-" + number
	}
	return number, true
}

// joinDigits removes the underscores between digits.
func joinDigits(number string) string {
	var b strings.Builder
	for i := range len(number) {
		if number[i] != '_' || i == 0 || i == len(number)-1 || !textscan.IsDigit(number[i-1]) || !textscan.IsDigit(number[i+1]) {
			b.WriteByte(number[i])
		}
	}
	return b.String()
}
