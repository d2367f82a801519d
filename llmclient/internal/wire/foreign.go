package wire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
)

// maxName is the greatest length of the name of a tool in the APIs of OpenAI and Anthropic.
const maxName = 128

// InName reports whether the names of tools and the ids of calls may have the character.
func InName(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// CalledName returns the name of a call in a form that every API takes in a conversation: 1 to 128
// letters, digits, "_" and "-". Models call tools that do not exist, by any name, and texts of
// other providers have names of other forms.
func CalledName(name string) string {
	if name == "" {
		return "_"
	}
	name = underscored(name)
	return name[:min(len(name), maxName)]
}

// underscored returns a text with "_" in the place of other characters than those of names.
func underscored(text string) string {
	return strings.Map(func(r rune) rune {
		if InName(r) {
			return r
		}
		return '_'
	}, text)
}

// CalledArguments returns the arguments of a call in a form that every API takes in a conversation:
// a JSON object. Those that are none, because a model has written them wrong, are in an object, as
// Anthropic's page on fine-grained tool streaming says: servers that read the arguments of earlier
// calls refuse the whole conversation otherwise, such as vLLM.
func CalledArguments(args string) string {
	switch own := strings.Trim(args, " \t\r\n"); {
	case own == "" || own == "null":
		return "{}"
	case own[0] == '{' && utf8.ValidString(own) && ValidJSON([]byte(own)):
		return args
	default:
		return string(jsonform.AppendString([]byte(`{"INVALID_JSON":`), args)) + "}"
	}
}

// Paired returns JSON without escapes that are half of a character, such as \ud83d alone: each
// becomes \ufffd. Models write them, and there are servers that take no body with one.
func Paired(raw string) string {
	const size = len(`\ud83d`)
	from, clean := 0, strings.Builder{}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		first := escaped(raw[i:])
		switch {
		case first < 0:
			i++ // the escaped character may be a backslash
		case !utf16.IsSurrogate(first):
			i += size - 1
		case utf16.DecodeRune(first, escaped(raw[i+size:])) != '\ufffd':
			i += 2*size - 1
		default:
			clean.WriteString(raw[from:i])
			clean.WriteString(`\ufffd`)
			from = i + size
			i += size - 1
		}
	}
	if from == 0 {
		return raw
	}
	return clean.String() + raw[from:]
}

// escaped returns the number that an escape at the beginning of raw, such as \u00e9, has; -1 if
// there is none.
func escaped(raw string) rune {
	if len(raw) < 6 || raw[:2] != `\u` {
		return -1
	}
	n, err := strconv.ParseUint(raw[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
