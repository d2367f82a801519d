package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Fenced is the default policy. A call is a JSON object in a fenced code block named tool_call. A
// thought is the text of a block named thought.
//
//	```tool_call
//	{"name":"get_weather","arguments":{"city":"Paris"}}
//	```
//
// Fenced also accepts habits of models. A block that is named json or has no name, or an object in
// prose, is a call if it has the keys "name" and "arguments" and no others. A list of such objects
// is several calls. If Options.Tools are given, an object in prose must have the name of a tool,
// and must not follow an open backquote on its line, or be on a line that begins with ">" or is
// indented as code. After the name of a known tool, the arguments may have the key "parameters",
// but not if they are a schema: then they define the tool. An object in prose is not a call within
// other JSON, or what is nearly JSON, such as a Python dict. A block of calls may hold several
// objects, or a list. All other blocks are text. Blocks are found by the rules of CommonMark; the
// last may have no end.
//
// To show such a block without a call, write a backslash before it. The backslash is removed.
var Fenced = Format{row: &row{
	name: "fenced",
	told: `You can call tools. Write each call as a fenced code block named tool_call. In it stands one JSON object with two keys: ` +
		`"name" is the name of the tool, "arguments" is an object that fits its schema. You can make several calls, one block after the other. ` + showInstead,
	results: fencedResults,
	syntax:  func(f Format) syntax { return f.fencedSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		thought := func(text string) string { return commonmark.WriteFence(infoThought, text) }
		return writeParts(parts, "\n\n", f.escapeFenced, thought, func(c messages.ToolCall) string {
			return commonmark.WriteFence(infoCall, fencedForm.write(c))
		})
	},
}}

const (
	infoCall    = "tool_call"
	infoThought = "thought"
	infoResult  = "tool_result"
)

var fencedForm = callForm{name: "name", arguments: "arguments"}

func fencedResults(outputs []messages.ToolOutput) string {
	blocks := make([]string, len(outputs))
	for i, o := range outputs {
		about := jsonscan.AppendString([]byte(infoResult+` name=`), o.ToolName)
		about = jsonscan.AppendString(append(about, ` call_id=`...), o.CallID)
		about = jsonscan.AppendString(append(about, ` status=`...), resultStatus(o))
		blocks[i] = commonmark.WriteFence(strings.ReplaceAll(string(about), "`", "'"), resultText(o))
	}
	return withNext(blocks, "\n\n", outputs, goOn)
}

func (o Options) fencedSyntax() *fencedSyntax { return &fencedSyntax{mode: o.Mode, tools: o.Tools} }

// escapeFenced writes a text so that it is read back unchanged, whatever blocks follow it.
func (o Options) escapeFenced(text string) string {
	s := o.fencedSyntax()
	s.mode, s.followed = ModeError, true
	var b strings.Builder
	e := fencedEscape{fencedSyntax: s, written: &b, unclosed: map[byte]int{}}
	from := 0
	for {
		at, found := s.find(text, from, true)
		b.WriteString(text[from:at])
		from = at
		if !found {
			b.WriteString(text[from:])
			return b.String()
		}
		end := e.literalEnd(text, at)
		if end == at {
			b.WriteByte('\\')
			end += s.markLength(text, at)
		}
		b.WriteString(text[at:end])
		from = end
	}
}

// fencedSyntax is the [syntax] of [Fenced], for one reply.
type fencedSyntax struct {
	mode  Mode
	tools []tools.Definition

	followed bool // the text is a part of a reply that goes on

	inCode  bool             // within a block that is text
	code    commonmark.Fence // the block
	object  objectBlock
	objects jsonscan.Ends
	values  jsonscan.Loose
	quoting commonmark.Quoting
}

// find implements [syntax]. Marks are the runs that begin a block, braces that may begin an object,
// brackets before such braces, and any of these after a backslash.
func (s *fencedSyntax) find(text string, from int, final bool) (int, bool) {
	if s.inCode {
		if !s.code.FindEnd(text, final) {
			return len(text), false
		}
		s.inCode, from = false, max(from, s.code.End)
	}
	for i := from; ; {
		if i = fencedLeads.Next(text, i); i == len(text) {
			break
		}
		escaped := i > from && text[i-1] == '\\'
		var behind int
		var kind markKind
		switch text[i] {
		case '{':
			kind = braceMark(text, i, escaped)
			behind = max(i+1, textscan.SkipRun(text, i, '{')-1)
		case '[':
			kind, behind = bracketMark(text, i, escaped), i+1
		default:
			behind = textscan.SkipRun(text, i, text[i])
			kind = fenceMark(text, i, behind, escaped)
		}
		if kind == markFound || kind == markMaybe && !final {
			if escaped {
				i--
			}
			return i, kind == markFound
		}
		i = behind
	}
	return pendingFrom(text, from, final), false
}

// fencedLeads are the first bytes of marks, except the backslash before a mark.
var fencedLeads = textscan.NewByteSet("`~{[")

type markKind uint8

const (
	markNone  markKind = iota
	markMaybe          // the text ends too early to decide
	markFound
)

// braceMark reports whether the brace at a position is a mark.
func braceMark(text string, at int, escaped bool) markKind {
	switch {
	case escaped:
		return callKey(text[at:])
	case at+1 == len(text):
		return markMaybe
	case text[at+1] == '"':
		return markFound
	case !textscan.IsBlank(text[at+1]):
		return markNone
	}
	if next := textscan.TrimLeft(text[at+1 : min(len(text), at+mostBlanks)]); next != "" && next[0] != '"' {
		return markNone
	}
	return markFound
}

// mostBlanks limits how many blanks are skipped at a brace.
const mostBlanks = 64

// callKey reports whether an object begins with a key of a call.
func callKey(object string) markKind {
	const most = mostBlanks + 16 // including the key
	rest := textscan.TrimLeft(object[1:min(len(object), most)])
	for _, key := range []string{`"` + fencedForm.name + `"`, `"` + fencedForm.arguments + `"`} {
		if strings.HasPrefix(rest, key) {
			return markFound
		}
		if strings.HasPrefix(key, rest) && len(object) < most {
			return markMaybe
		}
	}
	return markNone
}

// fenceMark reports whether a run of fence characters is a mark.
func fenceMark(text string, at, behind int, escaped bool) markKind {
	first := at
	if escaped {
		first = len(strings.TrimRight(text[:at], `\`))
	}
	switch {
	case commonmark.LineStart(text, first) < 0:
		return markNone
	case behind-at >= 3:
		return markFound
	case behind == len(text):
		return markMaybe
	default:
		return markNone
	}
}

// begin implements [syntax].
func (s *fencedSyntax) begin(text string, at int) block {
	switch text[at] {
	case '\\':
		return escapedMark{at: at, end: at + s.markLength(text, at)}
	case '{', '[':
		return s.beginObject(text, at, s.tools != nil && s.quoting.At(text, at))
	default:
		return &fencedBlock{syntax: s, fence: commonmark.Fence{Start: at}}
	}
}

// escapedMark is a mark with a backslash before it. It is text without the backslash.
type escapedMark struct{ at, end int }

func (m escapedMark) read(text string, _ bool) verdict {
	part := Part{Content: messages.Text{Text: text[m.at+1 : m.end]}, Start: m.at, End: m.end}
	return verdict{kind: isParts, end: m.end, parts: []Part{part}}
}

// bracketMark reports whether the bracket at a position is a mark: the beginning of a list of
// objects whose first object may be a call.
func bracketMark(text string, at int, escaped bool) markKind {
	switch yes, wait := jsonscan.BeginsObjects(text, at); {
	case wait:
		return markMaybe
	case !yes:
		return markNone
	case escaped:
		return callKey(text[jsonscan.SkipBlanks(text, at+1):])
	default:
		return markFound
	}
}

// fencedEscape determines where a text needs backslashes in order to be read as text.
type fencedEscape struct {
	*fencedSyntax
	written  *strings.Builder // the text before, as it will be read: with backslashes
	unclosed map[byte]int     // the least length of a run that closes no block
}

// literalEnd returns the position up to which the text at a mark may be written unchanged. It
// returns the position of the mark if a backslash is needed before it.
func (e *fencedEscape) literalEnd(text string, at int) int {
	s, c := e.fencedSyntax, text[at]
	isFence := c == '`' || c == '~'
	if n, ok := e.unclosed[c]; isFence && ok && textscan.SkipRun(text, at, c)-at >= n {
		return at
	}
	block := e.begin(text, at)
	v := block.read(text, true)
	if isFence {
		fenced := block.(*fencedBlock)
		f := &fenced.fence
		if s.inCode {
			s.inCode = s.code.FindEnd(text, true)
			f = &s.code
		}
		if fenced.cut || !f.Closed() && !f.None() {
			e.unclosed[c] = f.Length
			return at
		}
	}
	if v.kind != isText {
		return at
	}
	return v.end
}

// begin is begin of the syntax, but it determines from the written text whether a mark is shown as
// code, because a backslash before a fence moves the code that begins with it.
func (e *fencedEscape) begin(text string, at int) block {
	if c := text[at]; c == '{' || c == '[' {
		return e.beginObject(text, at, e.tools != nil && e.quoting.At(e.written.String(), e.written.Len()))
	}
	return e.fencedSyntax.begin(text, at)
}

// markLength returns the length of the mark at a position, without what may follow a fence of
// three.
func (s *fencedSyntax) markLength(text string, at int) int {
	switch text[at] {
	case '\\':
		return 1 + s.markLength(text, at+1)
	case '{':
		return 1
	case '[': // including the brace
		return jsonscan.SkipBlanks(text, at+1) + 1 - at
	default:
		return 3
	}
}

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
