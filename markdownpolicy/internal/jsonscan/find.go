package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"
)

// FindObject finds the JSON object that a reply holds beside other text, such as fences and prose.
// Of several it is the last that has one of the keys, or the last of all if no keys are given. Only
// whole objects count: those within another are part of it, and what is not valid JSON is none. The
// object is returned as it is written.
func FindObject(text string, keys ...string) (object string, ok bool) {
	const patience = 16 // times the length of the text, for objects within the strings of what turns out to be none
	looked := 0
	f := objectFinder{text: text}
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '{')
		if i < 0 {
			return object, ok
		}
		f.run(pos + i)
		for _, found := range f.whole {
			if hasKey(text[found.start:found.end], keys) {
				object, ok = text[found.start:found.end], true
			}
		}
		looked += f.pos - pos - i
		pos = f.pos
		if f.quoted > 0 && looked < patience*len(text) {
			pos = f.quoted
		}
	}
}

func hasKey(object string, keys []string) bool {
	if len(keys) == 0 {
		return true
	}
	for key := range members(object) {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// objectFinder reads JSON strictly, from an opening brace on, up to the end of the object or to the
// first byte that JSON has no place for. In the latter case the objects that are closed by then are
// the whole ones.
type objectFinder struct {
	text   string
	pos    int
	open   []bracket
	wants  want
	whole  []extent // none is part of another
	quoted int      // the place of the first brace in a string, outside of whole objects; 0 if there is none
}

type extent struct{ start, end int }

// bracket is one that is open.
type bracket struct {
	start    int
	isObject bool
}

// want is what may come next.
type want uint8

const (
	wantValue want = iota
	wantFirst      // a value, or the end of the array
	wantKey
	wantFirstKey // a key, or the end of the object
	wantColon
	wantComma // or the end
)

// run reads what begins at a brace.
func (f *objectFinder) run(start int) {
	f.pos, f.quoted, f.wants = start, 0, wantValue
	f.open, f.whole = f.open[:0], f.whole[:0]
	for {
		f.pos = skipBlanks(f.text, f.pos)
		if f.pos == len(f.text) || !f.step(f.text[f.pos]) || len(f.open) == 0 {
			return
		}
	}
}

// step reads a token, and reports whether JSON has a place for it.
func (f *objectFinder) step(c byte) bool {
	switch c {
	case '{', '[':
		return f.opens(c == '{')
	case '}', ']':
		return f.closes(c == '}')
	case ':':
		return f.sign(wantColon, wantValue)
	case ',':
		next := wantValue
		if f.open[len(f.open)-1].isObject {
			next = wantKey
		}
		return f.sign(wantComma, next)
	case '"':
		return f.str()
	default:
		return f.literal()
	}
}

func (f *objectFinder) isValue() bool { return f.wants == wantValue || f.wants == wantFirst }

func (f *objectFinder) sign(wanted, next want) bool {
	if f.wants != wanted {
		return false
	}
	f.pos++
	f.wants = next
	return true
}

func (f *objectFinder) opens(isObject bool) bool {
	if !f.isValue() || len(f.open) == maxDepth {
		return false
	}
	f.open = append(f.open, bracket{f.pos, isObject})
	f.pos++
	f.wants = wantFirst
	if isObject {
		f.wants = wantFirstKey
	}
	return true
}

func (f *objectFinder) closes(isObject bool) bool {
	last := f.open[len(f.open)-1]
	first := wantFirst
	if isObject {
		first = wantFirstKey
	}
	if last.isObject != isObject || f.wants != wantComma && f.wants != first {
		return false
	}
	f.pos++
	f.open = f.open[:len(f.open)-1]
	f.wants = wantComma
	if isObject {
		for len(f.whole) > 0 && f.whole[len(f.whole)-1].start > last.start {
			f.whole = f.whole[:len(f.whole)-1]
		}
		f.whole = append(f.whole, extent{last.start, f.pos})
		if f.quoted > last.start {
			f.quoted = 0
		}
	}
	return true
}

// str reads a string.
func (f *objectFinder) str() bool {
	isKey := f.wants == wantKey || f.wants == wantFirstKey
	if !isKey && !f.isValue() {
		return false
	}
	start := f.pos
	closed := f.skipString()
	if f.quoted == 0 {
		if i := strings.IndexByte(f.text[start:f.pos], '{'); i >= 0 {
			f.quoted = start + i
		}
	}
	f.wants = wantComma
	if isKey {
		f.wants = wantColon
	}
	return closed
}

// skipString goes behind a string, or to what must not stand in one.
func (f *objectFinder) skipString() bool {
	for f.pos++; f.pos < len(f.text); f.pos++ {
		switch c := f.text[f.pos]; {
		case c == '"':
			f.pos++
			return true
		case c < ' ':
			return false
		case c == '\\':
			f.pos++
			rest := f.text[min(f.pos, len(f.text)):]
			if strings.HasPrefix(rest, "u") && len(rest) > 4 && isHex(rest[1:5]) {
				f.pos += 4
			} else if rest == "" || strings.IndexByte(`"\/bfnrt`, rest[0]) < 0 {
				f.pos = min(f.pos, len(f.text))
				return false
			}
		}
	}
	return false
}

// literal reads a number or a constant.
func (f *objectFinder) literal() bool {
	const most = 4096 // bytes
	end := f.pos
	for end < len(f.text) && end-f.pos < most && (isNameByte(f.text[end]) || f.text[end] == '.' || f.text[end] == '+') {
		end++
	}
	if !f.isValue() || !json.Valid([]byte(f.text[f.pos:end])) {
		return false
	}
	f.pos = end
	f.wants = wantComma
	return true
}
