package jsonscan

import (
	"iter"
	"strings"
)

// Members returns the keys, decoded, and the values, as written, of a valid JSON object.
func Members(object string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		pos := SkipBlanks(object, 1)
		for pos < len(object) && object[pos] == '"' {
			end := ValueEnd(object, pos)
			key := Unquote(object[pos:end])
			pos = SkipBlanks(object, SkipBlanks(object, end)+1) // the colon
			end = ValueEnd(object, pos)
			if !yield(key, object[pos:end]) {
				return
			}
			pos = SkipBlanks(object, end)
			pos = SkipBlanks(object, pos+1) // the comma
		}
	}
}

// Elements returns the offsets of the elements of a valid JSON array, and the elements as written.
func Elements(array string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for pos := SkipBlanks(array, 1); pos < len(array) && array[pos] != ']'; {
			end := ValueEnd(array, pos)
			if !yield(pos, array[pos:end]) {
				return
			}
			if pos = SkipBlanks(array, end); array[pos] == ',' {
				pos = SkipBlanks(array, pos+1)
			}
		}
	}
}

// Objects returns consecutive objects and their positions. The objects follow each other, with or
// without commas, or are in a list. It returns none if the row holds anything else, or if an object
// has no end. The objects may contain invalid JSON.
func Objects(row string) (objects []string, places []int) {
	pos, end := 0, len(row)
	if len(row) > 1 && row[0] == '[' && row[len(row)-1] == ']' {
		pos, end = 1, end-1
	}
	for {
		pos = SkipBlanks(row, pos)
		if pos < end && len(places) > 0 && row[pos] == ',' {
			pos = SkipBlanks(row, pos+1)
		}
		if pos >= end {
			return objects, places
		}
		if row[pos] != '{' {
			return nil, nil
		}
		scan := At(pos)
		behind, ok := scan.End(row[:end])
		if !ok {
			return nil, nil
		}
		objects, places = append(objects, row[pos:behind]), append(places, pos)
		pos = behind
	}
}

// BeginsObjects reports whether an array of objects begins at a position. wait means that more text
// is needed.
func BeginsObjects(text string, at int) (yes, wait bool) {
	const most = 64 // blanks
	if at == len(text) || text[at] != '[' {
		return false, at == len(text)
	}
	window := text[:min(len(text), at+1+most)]
	object := SkipBlanks(window, at+1)
	if object == len(window) {
		return false, len(window) == len(text)
	}
	return window[object] == '{', false
}

// ValueEnd returns the position after the value at pos in valid JSON.
func ValueEnd(text string, pos int) int {
	switch text[pos] {
	case '{', '[':
		s := At(pos)
		end, _ := s.End(text)
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

// SkipBlanks returns the first position from pos on that is not a JSON blank.
func SkipBlanks(text string, pos int) int {
	for pos < len(text) && isBlank(text[pos]) {
		pos++
	}
	return pos
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
