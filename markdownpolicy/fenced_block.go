package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/messages"
)

// fencedBlock is a fenced block of which it is not known yet that it is text.
type fencedBlock struct {
	syntax *fencedSyntax
	fence  fence
	kind   fencedKind
	cut    bool   // it ends with the text, as if it were closed there
	marks  int    // then: how much of the closing run there is
	words  string // behind the name of a call, on its line
}

type fencedKind uint8

const (
	fencedUnknown fencedKind = iota
	fencedCall
	fencedMaybe // a call if it has the keys of one
	fencedThought
	fencedText
)

func (b *fencedBlock) read(text string, final bool) verdict {
	if b.kind == fencedUnknown && !b.open(text, final) {
		return verdict{}
	}
	f := &b.fence
	if f.state == fenceNone {
		return verdict{kind: isText, end: f.start + f.length}
	}
	if b.kind == fencedMaybe && f.state != fenceClosed {
		body := trimBlanksLeft(text[f.body:min(len(text), f.body+256)])
		if list, wait := beginsObjects(body, 0); body != "" && body[0] != '{' && !list && !wait {
			b.kind = fencedText
		}
	}
	if b.kind == fencedText {
		b.syntax.inCode, b.syntax.code = true, *f
		return verdict{kind: isText, end: max(f.body, f.start+f.length)}
	}
	if f.state != fenceClosed && !f.find(text, final) {
		if !final {
			return verdict{}
		}
		f.end = len(text)
	}
	switch b.kind {
	case fencedThought:
		if trimBlanks(f.raw(text)) == "" && !strings.EqualFold(f.info, infoThought) { // nothing may be lost
			return verdict{kind: isText, end: f.end}
		}
		part := Part{Content: messages.Thought{Text: f.content(text)}, Start: f.start, End: f.end}
		return verdict{kind: isParts, end: f.end, parts: []Part{part}}
	default:
		return b.calls(text)
	}
}

// open reads the opening line.
func (b *fencedBlock) open(text string, final bool) bool {
	f := &b.fence
	if !f.open(text, final) {
		return false
	}
	name := f.info
	if i := strings.IndexAny(name, "{ \t"); i >= 0 {
		name = name[:i]
	}
	switch strings.ToLower(name) {
	case infoCall:
		b.kind = fencedCall
	case infoThought:
		b.kind = fencedThought
	case "json", "":
		b.kind = fencedMaybe
	default:
		b.kind = fencedText
	}
	if b.kind == fencedCall || b.kind == fencedMaybe {
		b.sameLine(text, len(name))
	}
	return true
}

// sameLine looks for an object on the opening line, behind the name, which CommonMark takes for
// attributes: the content of the block begins there, and may end there, too.
func (b *fencedBlock) sameLine(text string, name int) {
	f := &b.fence
	behind := strings.TrimLeft(f.info[name:], " \t")
	if !strings.EqualFold(strings.TrimSpace(behind), "json") { // which says what the content is
		b.words = behind
	}
	if len(behind) < 2 || behind[0] != '{' {
		return
	}
	if first := strings.TrimLeft(behind[1:], " \t"); first != "" && first[0] != '"' && first[0] != '}' {
		return
	}
	b.words = ""
	at := strings.Index(text[f.start:], f.info) + f.start + len(f.info) - len(behind)
	content := strings.TrimRight(behind, text[f.start:f.start+1])
	switch {
	case len(behind)-len(content) >= f.length:
		f.state, f.body, f.close, f.end = fenceClosed, at, at+len(content), at+len(behind)
	case f.state != fenceNone:
		f.body = at
	}
}

// calls reads the content as calls.
func (b *fencedBlock) calls(text string) verdict {
	f := &b.fence
	b.closeBehindObject(text)
	body := trimBlanks(f.raw(text))
	at := f.body + strings.Index(text[f.body:], body)
	if b.kind == fencedMaybe && !b.meant(body) {
		return verdict{kind: isText, end: f.end}
	}
	if b.kind == fencedCall && b.words != "" {
		return verdict{kind: isBroken, end: f.end, err: broken(f.start, "nothing but "+infoCall+" on the line that begins the block", b.words, nil)}
	}
	v := verdict{kind: isParts, end: f.end}
	for offset, object := range objectsOf(body) {
		call, repairs, err := fencedForm.read(object, at+offset, b.syntax.mode)
		if err != nil {
			return verdict{kind: isBroken, end: f.end, err: err}
		}
		v.parts = append(v.parts, Part{Content: call, Start: at + offset})
		v.repairs = append(v.repairs, repairs...)
	}
	share(v.parts, f.start, f.end)
	if f.state != fenceClosed || b.cut && b.marks < f.length {
		leaveOpen(v.parts)
	}
	return v
}

// meant reports whether the content of a block that is not named as a call is meant as one.
func (b *fencedBlock) meant(body string) bool {
	object := body
	if list, _ := beginsObjects(body, 0); list {
		object = body[skipBlanks(body, 1):]
	}
	if object == "" || object[0] != '{' || callKey(object) != markFound {
		return false
	}
	if json.Valid([]byte(body)) {
		return b.syntax.exactAll(body)
	}
	return strings.Contains(body, `"`+fencedForm.name+`"`) && strings.Contains(body, `"`+fencedForm.arguments+`"`)
}

// closeBehindObject ends the block where the closing run stands on the last line of the object, or
// is cut off by the end of the text, which CommonMark does not take for its end.
func (b *fencedBlock) closeBehindObject(text string) {
	f := &b.fence
	raw := f.raw(text)
	start := skipBlanks(raw, 0)
	if start == len(raw) || raw[start] != '{' && raw[start] != '[' {
		return
	}
	scan := jsonScan{pos: start}
	end, ok := scan.scan(raw)
	if !ok {
		return
	}
	run := end
	for run < len(raw) && (raw[run] == ' ' || raw[run] == '\t') {
		run++
	}
	if f.state != fenceClosed && strings.Trim(raw[run:], blanks+text[f.start:f.start+1]) == "" {
		f.state, f.close, f.end, b.cut = fenceClosed, f.body+end, len(text), true
		b.marks = strings.Count(raw[run:], text[f.start:f.start+1])
		return
	}
	behind := skipRun(raw, run, text[f.start])
	if behind-run >= f.length && (behind == len(raw) || lineBreak(raw, behind) > 0) {
		f.state, f.close, f.end = fenceClosed, f.body+end, f.body+behind
	}
}

// objectsOf are the objects of a block, by their place in it: several stand one after the other or
// in a list. What is not such a row counts as one object.
func objectsOf(body string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		places := rowOf(body)
		if len(places) == 0 {
			places = [][2]int{{0, len(body)}}
		}
		for _, p := range places {
			if !yield(p[0], body[p[0]:p[1]]) {
				return
			}
		}
	}
}

// rowOf returns where the objects of a row begin and end; none if it is no row.
func rowOf(body string) (places [][2]int) {
	pos, end := 0, len(body)
	list := len(body) > 1 && body[0] == '[' && body[len(body)-1] == ']'
	if list {
		pos, end = 1, end-1
	}
	for {
		pos = skipBlanks(body, pos)
		if pos < end && len(places) > 0 && body[pos] == ',' {
			pos = skipBlanks(body, pos+1)
		}
		if pos >= end {
			return places
		}
		if body[pos] != '{' {
			return nil
		}
		scan := jsonScan{pos: pos}
		behind, ok := scan.scan(body[:end])
		if !ok {
			return nil
		}
		places = append(places, [2]int{pos, behind})
		pos = behind
	}
}
