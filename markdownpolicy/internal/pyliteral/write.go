package pyliteral

import (
	"bytes"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
)

// WriteCall writes a call on one line. Its arguments are a valid JSON object.
func WriteCall(name, arguments string) string {
	var pairs []string
	for key, value := range jsonscan.Members(arguments) {
		if !isName(key) {
			return name + "(**" + writeLiteral(arguments) + ")"
		}
		pairs = append(pairs, key+"="+writeLiteral(value))
	}
	return name + "(" + strings.Join(pairs, ", ") + ")"
}

// writeLiteral writes valid JSON as a Python literal.
func writeLiteral(text string) string {
	var b strings.Builder
	for pos := 0; pos < len(text); {
		end := pos + 1
		switch c := text[pos]; {
		case c == '"':
			end = jsonscan.ValueEnd(text, pos)
			b.WriteString(unescapeSlashes(text[pos:end]))
		case strings.HasPrefix(text[pos:], "true"):
			end = pos + len("true")
			b.WriteString("True")
		case strings.HasPrefix(text[pos:], "false"):
			end = pos + len("false")
			b.WriteString("False")
		case strings.HasPrefix(text[pos:], "null"):
			end = pos + len("null")
			b.WriteString("None")
		default:
			b.WriteByte(c)
		}
		pos = end
	}
	return b.String()
}

// unescapeSlashes writes \/ as /. It is the only JSON escape that Python does not have.
func unescapeSlashes(literal string) string {
	if !strings.Contains(literal, `\/`) {
		return literal
	}
	var b bytes.Buffer
	for i := 0; i < len(literal); i++ {
		if literal[i] == '\\' {
			if i++; literal[i] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(literal[i])
	}
	return b.String()
}
