// Package jsonform holds what the JSON forms of this library have in common: a cursor that reads
// JSON in one pass, strict reading of structs, and writing of strings and values without escapes
// for HTML.
package jsonform

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// Marshal is json.Marshal without the escapes for HTML. These would change the text of a
// json.RawMessage, which must be the same, byte for byte, after it was written and read.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Canonical returns JSON with sorted keys, unchanged numbers and no blanks; it returns other text
// unchanged.
func Canonical(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}

// AppendString appends s to dst as a JSON string. Each byte that is not UTF-8 becomes U+FFFD.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = appendEscape(append(dst, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// appendEscape appends the escape of a byte that a JSON string cannot contain.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	case c < ' ':
		return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	default:
		return utf8.AppendRune(dst, utf8.RuneError)
	}
}
