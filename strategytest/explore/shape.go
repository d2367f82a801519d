package explore

import (
	"bytes"
	"math/bits"
	"slices"
	"strconv"
)

// lastMessages is the number of last messages of a conversation that a key tells apart.
const lastMessages = 2

// opening is how each conversation begins in JSON, see [messages.AppendMessage]. The role follows.
var opening = []byte(`[{"role":"`)

// roles are those of messages, each with the field that comes next.
var roles = [][]byte{[]byte(`system","text":`), []byte(`user","content":`), []byte(`assistant","content":`), []byte(`tool","call_id":`)}

// conversation returns the index at which the first conversation of a memory begins; -1 if there is
// none. A list with other roles, or without messages, is no conversation.
func conversation(memory []byte) int {
	for from := 0; ; {
		at := bytes.Index(memory[from:], opening)
		if at < 0 {
			return -1
		}
		at += from
		from = at + len(opening)
		if slices.ContainsFunc(roles, func(known []byte) bool { return bytes.HasPrefix(memory[from:], known) }) {
			return at
		}
	}
}

// appendShape appends a memory, in the compact JSON form of a snapshot, without its conversations:
// of each only the kinds of the last messages are left.
func appendShape(dst, memory []byte) []byte {
	for len(memory) > 0 {
		at := conversation(memory)
		if at < 0 {
			break
		}
		dst = appendMagnitudes(dst, memory[:at])
		var rest []byte
		dst, rest = appendKinds(dst, memory[at:])
		memory = rest
	}
	return appendMagnitudes(dst, memory)
}

// compact is the field of a memory that holds a compaction.State. Of it, measures are the fields
// that say how long texts were: they differ with each text, as conversations do.
var (
	compact  = []byte(`"compact":{`)
	measures = [][]byte{[]byte(`"measured":`), []byte(`"rate":`)}
)

// appendMagnitudes appends a part of a memory. Of the measures of a compaction.State, which precede
// the objects in it, it leaves the number of binary digits.
func appendMagnitudes(dst, text []byte) []byte {
	for {
		before, rest, found := bytes.Cut(text, compact)
		dst = append(dst, before...)
		if !found {
			return dst
		}
		end := bytes.IndexAny(rest, "{}")
		if end < 0 {
			end = len(rest)
		}
		dst = appendDigits(append(dst, compact...), rest[:end])
		text = rest[end:]
	}
}

// appendDigits appends fields. Of measures it leaves the number of binary digits.
func appendDigits(dst, text []byte) []byte {
	for _, name := range measures {
		before, rest, found := bytes.Cut(text, name)
		if !found {
			continue
		}
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.ParseUint(string(rest[:digits]), 10, 64)
		if err != nil {
			continue // it is something else
		}
		dst = append(appendDigits(dst, before), name...)
		dst = strconv.AppendInt(dst, int64(bits.Len64(n)), 10)
		return appendDigits(dst, rest[digits:])
	}
	return append(dst, text...)
}

// appendKinds appends the kinds of the last messages of the conversation that text begins with, and
// returns what follows the conversation.
func appendKinds(dst, text []byte) (kinds, rest []byte) {
	var starts [lastMessages]int // of the last messages, as a ring
	count, depth := 0, 0
	end := len(text)
scan:
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = closing(text, i)
		case '[', '{':
			depth++
			if depth == 2 {
				starts[count%lastMessages] = i
				count++
			}
		case ']', '}':
			if depth--; depth == 0 {
				end = i + 1
				break scan
			}
		}
	}
	first := starts[count%lastMessages]
	if count < lastMessages {
		first = starts[0]
	}
	return appendKindsOf(dst, text[first:end]), text[end:]
}

// telling are the fields of messages that say what kind they are.
var telling = [][]byte{[]byte("role"), []byte("type"), []byte("status"), []byte("name"), []byte("tool_name"), []byte("arguments")}

// appendKindsOf appends the values of the telling fields of messages.
func appendKindsOf(dst, text []byte) []byte {
	tells := false
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := closing(text, i)
		word := text[i+1 : end]
		switch {
		case tells:
			dst = append(append(dst, ' '), word...)
			tells = false
		case end+2 < len(text) && text[end+1] == ':' && text[end+2] == '"':
			for _, name := range telling {
				tells = tells || bytes.Equal(word, name)
			}
			if !tells { // skip its value
				end = closing(text, end+2)
			}
		}
		i = end
	}
	return append(dst, '.')
}

// closing returns the index of the quote that ends the string which begins at i.
func closing(text []byte, i int) int {
	for i++; i < len(text); i += 2 {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			break
		}
		escape := bytes.IndexByte(text[i:i+quote], '\\')
		if escape < 0 {
			return i + quote
		}
		i += escape
	}
	return len(text) - 1
}
