package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// Mistral is the format of Mistral's models: [TOOL_CALLS] and a JSON array of objects with "name"
// and "arguments". It also reads the newer forms [TOOL_CALLS]name[ARGS]{…} and [TOOL_CALLS]name{…},
// with a mark for each call. Thoughts are between [THINK] and [/THINK]. Results are written between
// [TOOL_RESULTS] and [/TOOL_RESULTS], after a line of JSON that says which call they answer. See
// https://docs.mistral.ai/cookbooks/concept-deep-dive-tokenization-tool_calling.
//
// Many servers remove the mark. If Options.Tools are given, a reply that begins with an array of
// objects is read as if it had the mark, provided that each object is a call of one of the tools.
//
// JSON that is cut off is an error. A thought without a closing mark extends to the end.
var Mistral = Format{row: &row{
	name: "mistral",
	told: `You can call tools. Write [TOOL_CALLS] and behind it a JSON array with an object for each call, with the keys "name" and "arguments". ` +
		`"arguments" is an object that fits the schema of the tool. The results come in the next message, between [TOOL_RESULTS] and [/TOOL_RESULTS].
Thoughts that are not for the user stand between [THINK] and [/THINK], before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`,
	results: func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "\n", func(o messages.ToolOutput) string {
			head := `[TOOL_RESULTS]{"name": ` + jsonscan.Quote(o.ToolName) + `, "call_id": ` + jsonscan.Quote(o.CallID)
			if !o.OK() {
				head += `, "status": ` + jsonscan.Quote(resultStatus(o))
			}
			return tagPair{open: head + "}", close: "[/TOOL_RESULTS]"}.write(resultText(o))
		})
	},
	syntax: func(f Format) syntax { return f.mistralSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		text := f.mistralSyntax().render(parts, mistralThought, func(c messages.ToolCall) string {
			return mistralMark + "[" + hermesForm.write(c) + "]"
		})
		if yes, _ := jsonscan.BeginsObjects(strings.TrimLeft(text, `\`), 0); yes && f.Tools != nil {
			text = `\` + text
		}
		return text
	},
}}

const (
	mistralMark = "[TOOL_CALLS]"
	mistralEnd  = "[/TOOL_CALLS]" // of some models
)

var mistralThought = tagPair{open: "[THINK]", close: "[/THINK]"}

func (o Options) mistralSyntax() *mistralSyntax {
	tags := append(stopping("</s>"), mistralThought.thought(), tag{mistralMark, func(start, after int) block {
		return &mistralBlock{Options: o, start: start, after: after, pos: after}
	}})
	return &mistralSyntax{Options: o, begun: o.Tools == nil, tagSyntax: newTagSyntax(tags...)}
}

// mistralBlock reads the text after [TOOL_CALLS]: JSON, or a name and JSON.
type mistralBlock struct {
	Options
	start, after int

	pos   int // the text before it was read
	value int // where the JSON begins; 0 while unknown
	json  jsonEnd
}

// jsonEnd finds the end of JSON by its brackets, or at the end of the text.
type jsonEnd struct {
	scan jsonscan.Scanner
	end  int  // 0 while unknown
	cut  bool // it ends only with the text
}

// find reports whether the end is known.
func (e *jsonEnd) find(text string, final bool) bool {
	if e.end == 0 {
		end, ok := e.scan.End(text)
		switch {
		case ok:
			e.end = end
		case final:
			e.end, e.cut = len(text), true
		}
	}
	return e.end > 0
}

func (b *mistralBlock) read(text string, final bool) verdict {
	if b.value == 0 {
		if v, decided := b.head(text, final); decided {
			return v
		}
	}
	if b.Mode == ModeText && b.json.end == 0 {
		if stop, state := b.json.scan.Scan(text); state == jsonscan.Invalid { // repairs cannot help
			err := broken(stop, "JSON behind "+mistralMark, "", nil)
			return verdict{kind: isBroken, end: b.after, seen: stop, err: err}
		}
	}
	if !b.json.find(text, final) {
		return verdict{}
	}
	end := b.json.end
	switch closed, wait := textscan.StandsAt(text, end, mistralEnd, final); {
	case wait:
		return verdict{}
	case closed:
		end += len(mistralEnd)
	}
	continued, wait := jsonscan.Continues(text, end, final)
	if wait {
		return verdict{}
	}
	call := callBlock{Options: b.Options, start: b.start, after: b.after}
	err := b.calls(&call, text)
	if err == nil && b.json.cut && len(call.calls) == 0 { // an array that was cut off before its first element
		err = broken(b.value, "a JSON array of calls behind "+mistralMark, text[b.value:b.json.end], nil)
	}
	if err == nil && continued {
		err = continuedError(text, end)
	}
	if err != nil {
		return call.broken(err, b.json.end)
	}
	if b.json.cut {
		return call.unended(end)
	}
	return call.done(end)
}

// head searches for the beginning of the JSON, after a name if there is one.
func (b *mistralBlock) head(text string, final bool) (verdict, bool) {
	const longest = 256 // name and marks
	for ; b.pos < len(text) && b.pos < b.after+longest; b.pos++ {
		c := text[b.pos]
		if c == '{' || c == '[' && !b.isMark(text) {
			b.value = b.pos
			b.json.scan.Begin(b.pos)
			return verdict{}, false
		}
	}
	if b.pos == len(text) && !final {
		return verdict{}, true
	}
	err := brokenFrom(text, b.after, "a JSON array of calls behind "+mistralMark)
	return verdict{kind: isBroken, end: b.after, seen: b.pos, err: err}, true
}

// isMark reports whether the bracket belongs to a mark after the name, and not to an array.
func (b *mistralBlock) isMark(text string) bool {
	return textscan.Trim(text[b.after:b.pos]) != ""
}

// calls reads the calls.
func (b *mistralBlock) calls(into *callBlock, text string) *ParseError {
	head := textscan.Trim(text[b.after:b.value])
	if head == "" {
		return into.add(text, b.value, b.json.end)
	}
	name, id, _ := strings.Cut(strings.TrimSuffix(head, "[ARGS]"), "[CALL_ID]")
	if name = textscan.Trim(name); name == "" || strings.ContainsAny(name+textscan.Trim(id), " \t\r\n\"[](") {
		return broken(b.after, "the name of a tool behind "+mistralMark+", and [ARGS] or nothing before its arguments", head, nil)
	}
	arguments, repairs, err := readObject(text[b.value:b.json.end], b.value, b.Mode)
	if err != nil {
		err.Expected = `the arguments of "` + name + `" as a JSON object`
		return err
	}
	into.calls, into.repairs = []Part{callAt(b.after, name, arguments)}, repairs
	return nil
}

// mistralSyntax is the syntax of [Mistral]. In addition to marks, it recognizes replies that begin
// with an array.
type mistralSyntax struct {
	Options
	tagSyntax
	begun bool // the beginning was examined
	array bool // an array was found, or backslashes before one
	pos   int  // the part of the beginning that was read
}

func (s *mistralSyntax) find(text string, from int, final bool) (int, bool) {
	if s.begun {
		return s.tagSyntax.find(text, from, final)
	}
	at := jsonscan.SkipBlanks(text, from)
	for s.pos = max(s.pos, at); s.pos < len(text) && text[s.pos] == '\\'; s.pos++ {
	}
	yes, wait := jsonscan.BeginsObjects(text, s.pos)
	if wait && !final {
		return at, false
	}
	if s.begun, s.array = true, yes; yes {
		return at, true
	}
	return s.tagSyntax.find(text, at, final)
}

func (s *mistralSyntax) begin(text string, at int) block {
	if !s.array {
		return s.tagSyntax.begin(text, at)
	}
	s.array = false
	if text[at] == '\\' {
		return fixedBlock{kind: isParts, end: at + 1}
	}
	return &unmarkedArray{callBlock: callBlock{Options: s.Options, start: at, after: at + 1}, array: jsonEnd{scan: jsonscan.At(at)}}
}

// unmarkedArray reads an array that may hold calls.
type unmarkedArray struct {
	callBlock
	array jsonEnd
}

func (b *unmarkedArray) read(text string, final bool) verdict {
	if !b.array.find(text, final) {
		return verdict{}
	}
	end := b.array.end
	if b.Mode == ModeRepair {
		excess, wait := excessBrackets(text, end, final)
		if wait {
			return verdict{}
		}
		if textscan.Trim(text[end:excess]) != "" {
			b.repairs = append(b.repairs, Repair{Offset: end, What: "left out brackets that nothing opened"})
		}
		end = excess
	}
	if b.add(text, b.start, b.array.end) != nil || !b.known() {
		return verdict{kind: isText, end: b.after, seen: b.array.end}
	}
	if b.array.cut {
		return b.unended(end)
	}
	return b.done(end)
}

// known reports whether there are calls, and every call names a known tool.
func (b *unmarkedArray) known() bool {
	for _, p := range b.calls {
		if b.tool(p.Content.(messages.ToolCall).Name) == nil {
			return false
		}
	}
	return len(b.calls) > 0
}
