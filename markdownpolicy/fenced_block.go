package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// fencedBlock is a fenced block that may be a call or text.
type fencedBlock struct {
	syntax *fencedSyntax
	fence  commonmark.Fence
	kind   fencedKind
	cut    bool   // it ends with the text, as if it were closed there
	marks  int    // if cut: the length of the closing run so far
	words  string // the text after the name of a call, on its line
}

type fencedKind uint8

const (
	fencedUnknown fencedKind = iota
	fencedCall
	fencedMaybe // a call if it has the keys of a call
	fencedThought
	fencedText
)

func (b *fencedBlock) read(text string, final bool) verdict {
	if b.kind == fencedUnknown && !b.open(text, final) {
		return verdict{}
	}
	f := &b.fence
	if f.None() {
		return verdict{kind: isText, end: f.Start + f.Length}
	}
	if b.kind == fencedMaybe && !f.Closed() {
		body := textscan.TrimLeft(text[f.Body:min(len(text), f.Body+256)])
		if list, wait := jsonscan.BeginsObjects(body, 0); body != "" && body[0] != '{' && !list && !wait {
			b.kind = fencedText
		}
	}
	if b.kind == fencedText {
		b.syntax.inCode, b.syntax.code = true, *f
		return verdict{kind: isText, end: max(f.Body, f.Start+f.Length)}
	}
	if !f.Closed() && !f.FindEnd(text, final) {
		if !final {
			return verdict{}
		}
		f.End = len(text)
	}
	switch b.kind {
	case fencedThought:
		if textscan.Trim(f.Raw(text)) == "" && !strings.EqualFold(f.Info, infoThought) { // nothing may be lost
			return verdict{kind: isText, end: f.End}
		}
		part := Part{Content: messages.Thought{Text: f.Content(text)}, Start: f.Start, End: f.End}
		return verdict{kind: isParts, end: f.End, parts: []Part{part}}
	default:
		return b.calls(text)
	}
}

// open reads the opening line.
func (b *fencedBlock) open(text string, final bool) bool {
	f := &b.fence
	if !f.ReadOpening(text, final) {
		return false
	}
	name := f.Info
	if i := strings.IndexAny(name, "{ \t"); i >= 0 {
		name = name[:i]
	}
	switch strings.ToLower(name) {
	case infoCall:
		b.kind = fencedCall
	case infoThought:
		b.kind = fencedThought
	case "json", "", "tool_calls", "function_call", "tool_code":
		b.kind = fencedMaybe
	default:
		b.kind = fencedText
	}
	if b.kind == fencedCall || b.kind == fencedMaybe {
		b.sameLine(text, len(name))
	}
	return true
}

// sameLine searches the opening line for an object after the name, which CommonMark treats as
// attributes. The content of the block begins there, and may end there, too.
func (b *fencedBlock) sameLine(text string, name int) {
	f := &b.fence
	behind := strings.TrimLeft(f.Info[name:], " \t")
	if !strings.EqualFold(strings.TrimSpace(behind), "json") { // which describes the content
		b.words = behind
	}
	if len(behind) < 2 || behind[0] != '{' {
		return
	}
	if first := strings.TrimLeft(behind[1:], " \t"); first != "" && first[0] != '"' && first[0] != '}' {
		return
	}
	b.words = ""
	at := strings.Index(text[f.Start:], f.Info) + f.Start + len(f.Info) - len(behind)
	content := strings.TrimRight(behind, text[f.Start:f.Start+1])
	switch {
	case len(behind)-len(content) >= f.Length:
		f.CloseAt(at, at+len(content), at+len(behind))
	case !f.None():
		f.Body = at
	}
}

// calls reads the content as calls.
func (b *fencedBlock) calls(text string) verdict {
	f := &b.fence
	b.closeBehindObject(text)
	body := textscan.Trim(f.Raw(text))
	at := f.Body + strings.Index(text[f.Body:], body)
	if b.kind == fencedMaybe && !b.meant(body) {
		return verdict{kind: isText, end: f.End}
	}
	if b.kind == fencedCall && b.words != "" {
		return verdict{kind: isBroken, end: f.End, err: broken(f.Start, "nothing but "+infoCall+" on the line that begins the block", b.words, nil)}
	}
	v := verdict{kind: isParts, end: f.End}
	objects, places := jsonscan.Objects(body)
	if len(objects) == 0 { // one broken object
		objects, places = []string{body}, []int{0}
	}
	var err *ParseError
	if v.parts, v.repairs, err = b.syntax.readObjects(objects, places, at, b.syntax.mode); err != nil {
		return verdict{kind: isBroken, end: f.End, err: err}
	}
	divide(v.parts, f.Start, f.End)
	if !f.Closed() || b.cut && b.marks < f.Length {
		leaveOpen(v.parts)
	}
	return v
}

// meant reports whether the content of a block is meant as a call, although the block's name is not
// that of a call.
func (b *fencedBlock) meant(body string) bool {
	object := body
	if list, _ := jsonscan.BeginsObjects(body, 0); list {
		object = body[jsonscan.SkipBlanks(body, 1):]
	}
	if object == "" || object[0] != '{' || callKey(object) != markFound {
		return false
	}
	if jsonscan.Valid(body) {
		return b.syntax.exactAll(body)
	}
	return strings.Contains(body, `"`+fencedForm.name+`"`) &&
		(strings.Contains(body, `"`+fencedForm.arguments+`"`) || b.syntax.namesTool(object) && strings.Contains(body, `"parameters"`))
}

// closeBehindObject ends the block if the closing run is on the last line of the object, or is cut
// off by the end of the text. CommonMark does not accept either as the end of a block.
func (b *fencedBlock) closeBehindObject(text string) {
	f := &b.fence
	raw := f.Raw(text)
	start := jsonscan.SkipBlanks(raw, 0)
	if start == len(raw) || raw[start] != '{' && raw[start] != '[' {
		return
	}
	scan := jsonscan.At(start)
	end, ok := scan.End(raw)
	if !ok {
		return
	}
	run := end
	for run < len(raw) && (raw[run] == ' ' || raw[run] == '\t') {
		run++
	}
	if !f.Closed() && strings.Trim(raw[run:], textscan.Blanks+text[f.Start:f.Start+1]) == "" {
		f.CloseAt(f.Body, f.Body+end, len(text))
		b.cut = true
		b.marks = strings.Count(raw[run:], text[f.Start:f.Start+1])
		return
	}
	behind := textscan.SkipRun(raw, run, text[f.Start])
	if behind-run >= f.Length && (behind == len(raw) || commonmark.LineBreak(raw, behind) > 0) {
		f.CloseAt(f.Body, f.Body+end, f.Body+behind)
	}
}

// beginObject starts to read an object or a list of objects. shown says that it may be shown to the
// user, as code or a quotation.
func (s *fencedSyntax) beginObject(text string, at int, shown bool) block {
	if text[at] == '[' {
		return &listBlock{syntax: s, at: at, shown: shown}
	}
	s.object = objectBlock{syntax: s, at: at, shown: shown}
	return &s.object
}

// objectBlock is an object in prose.
type objectBlock struct {
	syntax *fencedSyntax
	at     int
	shown  bool // shown to the user, as code or a quotation
}

func (b *objectBlock) read(text string, final bool) verdict {
	end, state := b.syntax.objects.End(text, b.at)
	switch {
	case state == jsonscan.More && !final:
		return verdict{}
	case state == jsonscan.More && !b.syntax.followed: // cut off: what is in it is no call, as if it were whole
		return verdict{kind: isText, end: len(text)}
	case state != jsonscan.Done:
		return verdict{kind: isText, end: b.at + 1}
	}
	object := text[b.at:end]
	continued, wait := jsonscan.Continues(text, end, final)
	if wait {
		return verdict{}
	}
	if !continued && callKey(object) == markFound && b.syntax.exact(object) && !b.shown {
		if call, repairs, err := b.syntax.form(object).read(object, b.at, ModeError); err == nil {
			if within, wait := b.syntax.values.Within(text, b.at, final && !b.syntax.followed); wait && !final {
				return verdict{}
			} else if within {
				return verdict{kind: isText, end: end}
			}
			part := Part{Content: call, Start: b.at, End: end}
			return verdict{kind: isParts, end: end, parts: []Part{part}, repairs: repairs}
		}
	}
	return verdict{kind: isText, end: end}
}

// exact reports whether a valid object has the keys of a call and no others. For a known tool the
// name alone is enough, and the arguments may have the key "parameters".
func (s *fencedSyntax) exact(object string) bool {
	named, n, name, parameters := false, 0, "", ""
	for key, value := range jsonscan.Members(object) {
		n++
		switch key {
		case fencedForm.name:
			named, name = true, jsonscan.Unquote(value)
		case fencedForm.arguments:
		case "parameters":
			parameters = value
		default:
			return false
		}
	}
	o := Options{Tools: s.tools}
	switch {
	case parameters != "":
		return n == 2 && o.tool(name) != nil && s.namesTool(object) && !o.isDefinition(name, parameters)
	case s.tools == nil:
		return named && n == 2
	default:
		return named && n <= 2 && o.mayCall(name)
	}
}

// namesTool reports whether an object begins with the name of a known tool and a comma.
func (s *fencedSyntax) namesTool(object string) bool {
	if s.tools == nil || !strings.HasPrefix(object, "{") {
		return false
	}
	h := jsonscan.Lookahead{Text: object, Pos: 1}
	if key, ok := h.Key(); !ok || key != fencedForm.name {
		return false
	}
	name, ok := h.Value()
	return ok && Options{Tools: s.tools}.tool(name) != nil
}

// form returns the form of a call that is written as this object.
func (s *fencedSyntax) form(object string) callForm {
	form := fencedForm
	if s.namesTool(object) {
		form.others = []string{"parameters"}
	}
	return form
}

// listBlock is a list of objects in prose.
type listBlock objectBlock

func (b *listBlock) read(text string, final bool) verdict {
	none := verdict{kind: isText, end: b.at + 1}
	if b.shown {
		return none
	}
	end, state := b.syntax.objects.End(text, b.at)
	switch {
	case state == jsonscan.More && !final:
		return verdict{}
	case state != jsonscan.Done || !b.syntax.exactAll(text[b.at:end]):
		return none
	}
	if continued, wait := jsonscan.Continues(text, end, final); continued || wait {
		if wait {
			return verdict{}
		}
		return none
	}
	if within, wait := b.syntax.values.Within(text, b.at, final && !b.syntax.followed); wait && !final {
		return verdict{}
	} else if within {
		return none
	}
	objects, places := jsonscan.Objects(text[b.at:end])
	parts, repairs, err := b.syntax.readObjects(objects, places, b.at, ModeError)
	if err != nil {
		return none
	}
	divide(parts, b.at, end)
	return verdict{kind: isParts, end: end, parts: parts, repairs: repairs}
}

// exactAll reports whether valid JSON is an object that exact accepts, or a list of such objects.
func (s *fencedSyntax) exactAll(text string) bool {
	objects, _ := jsonscan.Objects(text)
	for _, object := range objects {
		if !s.exact(object) {
			return false
		}
	}
	return len(objects) > 0
}

// readObjects reads objects as calls. Their positions are relative to an offset of the reply.
func (s *fencedSyntax) readObjects(objects []string, places []int, at int, mode Mode) (calls []Part, repairs []Repair, err *ParseError) {
	for i, object := range objects {
		call, more, err := s.form(object).read(object, at+places[i], mode)
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, Part{Content: call, Start: at + places[i]})
		repairs = append(repairs, more...)
	}
	return calls, repairs, nil
}

// divide divides the text between two positions among its calls. Each call extends to the next one,
// so that the marks and commas around calls belong to a call.
func divide(calls []Part, start, end int) {
	for i := range calls {
		calls[i].End = end
		if i > 0 {
			calls[i-1].End = calls[i].Start
		}
	}
	calls[0].Start = start
}
