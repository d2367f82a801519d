package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// Llama is the format that Llama 3.1 to 3.3 were trained on. Calls are JSON objects with "name" and
// "parameters", directly in the text, one per line or with semicolons between them. <|python_tag|>
// may precede them. Thoughts are between <think> and </think>, and results between <tool_response>
// and </tool_response>.
//
// An object in the text is a call if its members are in this order: an optional "type", the "name",
// and "parameters" or "arguments"; or the last two first. If Options.Tools are given, the name must
// be that of a tool, unless the reply begins with the call or <|python_tag|> precedes it. An object
// within another object is not a call. Nor is the definition of a tool, whose parameters are a
// schema, unless <|python_tag|> precedes it. Nor is an object in a code span, in a line that is
// indented as code, or in a quotation, unless the reply begins with it or <|python_tag|> precedes
// it. Any other JSON is text.
//
// If Options.Tools are given, <function=name>…</function> is a call, too, as [Hermes] reads it.
//
// See https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/prompt_format.md.
var Llama = Format{row: &row{
	name: "llama",
	told: `You can call tools. Write each call as a JSON object with the keys "name" and "parameters", in this order, on a line of its own. ` +
		`"parameters" is an object that fits the schema of the tool. You can make several calls, one after the other. ` + showInstead,
	results: taggedResults("tool_response"),
	syntax:  func(f Format) syntax { return f.llamaSyntax() },
	write:   writeLlama,
}}

// llamaForm is the form of a call as JSON.
var llamaForm = callForm{name: "name", arguments: "parameters", others: []string{"arguments"}}

const pythonTag = "<|python_tag|>"

func writeLlama(l Format, parts []messages.AssistantContent) string {
	unended := false // the text before a call holds JSON that may go on with it
	text := func(text string) string {
		text = l.llamaSyntax().escape(text)
		if strings.HasSuffix(text, ";") { // not a semicolon between two calls
			text += "\n"
		}
		unended = isUnended(text)
		return text
	}
	thought := func(text string) string {
		unended = false
		return thoughtTags.write(text)
	}
	call := func(c messages.ToolCall) string {
		mark := ""
		if unended || l.looksLikeDefinition(c) {
			mark = pythonTag
		}
		unended = false
		return mark + llamaForm.write(c)
	}
	return writeParts(parts, "\n", text, thought, call)
}

// looksLikeDefinition reports whether a call would be read as the definition of a tooo.
func (o Options) looksLikeDefinition(c messages.ToolCall) bool {
	if !strings.Contains(c.Arguments, "properties") {
		return false
	}
	arguments, _, err := readArguments(string(appendArguments(nil, c.Arguments)), 0, o.Mode)
	return err == nil && o.isDefinition(c.Name, arguments)
}

func (o Options) llamaSyntax() untaggedSyntax {
	tags := append([]tag{thoughtTags.thought(), dropped(pythonTag)}, o.functionTags(new(int))...)
	s := newUntaggedSyntax("{;", &llamaMark{Options: o}, append(tags, stopping("<|eom_id|>", "<|eot_id|>")...)...)
	s.unescapable = ";"
	return s
}

// llamaMark is the beginning of an object with one of the keys of a call, or a semicolon between a
// call and such an object.
type llamaMark struct {
	Options
	last    int           // the position after the last call; 0 if there is none
	objects jsonscan.Ends // of all objects, including those that are not calls
	values  jsonscan.Loose
	quoting commonmark.Quoting
}

// within reports whether an object is part of a larger value that has an end. wait means that the
// larger value may still end.
func (m *llamaMark) within(text string, object int, final bool) (within, wait bool) {
	within, wait = m.objects.Within(text, object)
	nearly, maybe := m.values.Within(text, object, final)
	within = within || nearly
	return within, !within && (wait || maybe)
}

// stands implements [untaggedMark].
func (m *llamaMark) stands(text string, at int) (yes, partly bool) {
	if text[at] != ';' {
		if opensObject(text, at) {
			m.objects.End(text, at)
		}
		return hasLlamaKey(text, at)
	}
	if m.last == 0 || m.last > at || at > m.last+llamaGap || strings.Trim(text[m.last:at], " \t") != "" {
		return false, false
	}
	object, partly := afterSemicolon(text, at)
	return object > 0, partly
}

// llamaGap is the greatest number of blanks before a semicolon, and after it.
const llamaGap = 64

// opensObject reports whether the brace at a position may begin an object with members.
func opensObject(text string, at int) bool {
	rest := textscan.TrimLeft(text[at+1 : min(len(text), at+llamaGap)])
	return rest != "" && rest[0] == '"'
}

// isUnended reports whether an object in a text may go on after a line break.
func isUnended(text string) bool {
	var objects jsonscan.Ends
	for at := range len(text) {
		if text[at] == '{' && opensObject(text, at) {
			objects.End(text, at)
		}
	}
	return objects.Unended() || jsonscan.TakesObject(text)
}

// hasLlamaKey reports whether the object at a position begins with one of the keys of a call.
func hasLlamaKey(text string, at int) (yes, partly bool) {
	h := jsonscan.Lookahead{Text: text, Pos: at + 1}
	key, ok := h.Key()
	if !ok {
		return false, h.Partial
	}
	return key == "name" || key == "parameters" || key == "arguments" || key == "type", false
}

// afterSemicolon returns the position of the call after a semicolon, with at most one line break in
// between, or 0.
func afterSemicolon(text string, at int) (object int, partly bool) {
	object = at + 1
	for object < len(text) && object-at < llamaGap && textscan.IsBlank(text[object]) {
		object++
	}
	if object == len(text) {
		return 0, true
	}
	if text[object] != '{' || strings.Count(text[at:object], "\n") > 1 {
		return 0, false
	}
	if yes, partly := hasLlamaKey(text, object); !yes {
		return 0, partly
	}
	return object, false
}

// begin implements [untaggedMark].
func (m *llamaMark) begin(start int) block {
	return &llamaBlock{Options: m.Options, mark: m, start: start}
}

// llamaBlock reads an object that may be a call.
type llamaBlock struct {
	Options
	mark  *llamaMark
	start int // including the semicolon
	scan  jsonscan.Scanner
	begun bool // it is meant as a call
	end   int  // of the object; 0 while unknown
	cut   bool // it ends only with the text

	limited bool // an object that is not JSON is text
}

// limitLookahead implements [lookaheadLimiter].
func (b *llamaBlock) limitLookahead() { b.limited = true }

func (b *llamaBlock) read(text string, final bool) verdict {
	object := b.start
	if text[b.start] == ';' {
		object, _ = afterSemicolon(text, b.start)
	}
	if !b.begun {
		meant, partly := b.isMeant(text, object)
		if !meant && partly && !final {
			return verdict{}
		}
		if meant {
			var within bool
			if within, partly = b.mark.within(text, object, final); partly && !final {
				return verdict{}
			}
			meant = !within && (isStart(text, object) || follows(text, object, pythonTag) || !b.mark.quoting.At(text, object))
		}
		if !meant {
			return verdict{kind: isText, end: b.start + 1}
		}
		b.begun, b.scan = true, jsonscan.At(object)
	}
	if b.limited {
		switch _, state := b.mark.objects.End(text, object); {
		case state == jsonscan.More && !final:
			return verdict{}
		case state != jsonscan.Done:
			return verdict{kind: isText, end: b.start + 1}
		}
	}
	if b.end == 0 {
		end, ok := b.scan.End(text)
		switch {
		case !ok && !final:
			return verdict{}
		case !ok && b.Mode == ModeText:
			return verdict{kind: isText, end: b.start + 1, seen: len(text)}
		case !ok:
			end = len(text)
		}
		b.end, b.cut = end, !ok
	}
	continued, wait := jsonscan.Continues(text, b.end, final)
	if wait {
		return verdict{}
	}
	return b.call(text, object, continued)
}

// call reads the object. continued says whether text after it continues the object.
func (b *llamaBlock) call(text string, object int, continued bool) verdict {
	end := b.end
	call, repairs, err := llamaForm.read(text[object:end], object, b.Mode)
	switch {
	case (err == nil || call.Name != "") && !b.allowed(text, object, call.Name):
		return verdict{kind: isText, end: end}
	case err == nil && b.isDefinition(call.Name, call.Arguments) && !follows(text, object, pythonTag):
		return verdict{kind: isText, end: end}
	case err != nil:
		return verdict{kind: isBroken, end: end, err: err}
	case continued:
		return verdict{kind: isBroken, end: end, err: continuedError(text, end)}
	}
	b.mark.last = end
	b.mark.quoting.Skip(end)
	return verdict{kind: isParts, end: end, repairs: repairs, parts: []Part{{Content: call, Start: b.start, End: end, Open: b.cut}}}
}

// isMeant reports whether an object begins like a call. If not, partly says that more text may make
// it one.
func (b *llamaBlock) isMeant(text string, object int) (meant, partly bool) {
	if follows(text, object, pythonTag) {
		return true, false
	}
	h := jsonscan.Lookahead{Text: text, Pos: object + 1}
	for named := false; ; {
		key, ok := h.Key()
		switch {
		case !ok:
			return false, h.Partial
		case key == "parameters" || key == "arguments" || named && key == "name":
			return true, false
		case named || key != "name" && key != "type":
			return false, false
		}
		value, ok := h.Value()
		if !ok || key == "name" && !b.allowed(text, object, value) {
			return false, !ok && h.Partial
		}
		named = key == "name"
	}
}

// allowed reports whether an object with the name of a tool is a call.
func (b *llamaBlock) allowed(text string, object int, name string) bool {
	return b.mayCall(name) || isStart(text, object) || follows(text, object, pythonTag)
}
