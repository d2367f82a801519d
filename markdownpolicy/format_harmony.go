package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Harmony is the format of gpt-oss. A reply consists of messages with a channel each: analysis for
// thoughts, commentary for calls and for what the user is told before them, final for the answer:
//
//	<|channel|>analysis<|message|>I need the weather.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>
//
// The recipient may precede the channel, as in the published chat template, which Harmony writes.
// Text without marks is text for the user: an answer alone is written so, because servers put it
// into the channel final. Recipients outside of functions, such as python, are names of tools. A
// header with other words is text; with a recipient it is an error. So is one with a recipient at
// the end of a reply; without one it is left out there.
//
// If Options.Tools has the tool, a call is also read if a server took some or all of its marks
// away: commentary to=functions.get_weather json{"city": "Paris"}. It must begin a line or directly
// follow a text, nothing but calls may follow it, and it may not be shown as code or as a
// quotation, or in a message whose marks say that it is for the channel final.
//
// Thoughts of finished work are not told again. Results are told as text, as in OpenAI's guide; the
// published template quotes them as JSON strings. That template refuses a past message with the
// mark of a thought in its text: ForgetThoughts is for servers that use it and leave the marks in
// replies.
//
// The form was learned from OpenAI's guide, cookbook.openai.com/articles/openai-harmony (August
// 2025), and from the chat template of openai/gpt-oss-120b (August 2025, as llama.cpp has it, and
// with Unsloth's corrections), read in November 2026.
var Harmony = Format{row: &row{
	name: "harmony",
	told: `You can call tools. They are functions in the namespace functions; a call goes to the channel commentary, and its arguments are a JSON object. ` +
		`The results come in the next message.
Thoughts that are not for the user go to the channel analysis. The answer goes to the channel final; what the user should know before a call goes to the channel commentary.
To write one of the marks in the examples as plain text, put a backslash before it.`,
	tools: func(defs []tools.Definition) string { return "# Tools\n\n" + typeScript(defs) },
	keep:  thoughtsOfWork,
	results: func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "", func(o messages.ToolOutput) string {
			marks := harmonyThought
			marks.open = harmonyStart + harmonyFunctions + o.ToolName + " to=assistant" + harmonyChannel + "commentary" + harmonyMessage
			return marks.writeInline(toldResult(o))
		})
	},
	syntax: func(f Format) syntax { return f.harmonySyntax() },
	write:  writeHarmony,
}}

const (
	harmonyStart     = "<|start|>"
	harmonyChannel   = "<|channel|>"
	harmonyMessage   = "<|message|>"
	harmonyEnd       = "<|end|>"
	harmonyReturn    = "<|return|>"
	harmonyCall      = "<|call|>"
	harmonyFunctions = "functions." // the namespace of tools
)

// harmonyThought are the marks around a thought.
var harmonyThought = tagPair{
	open: harmonyStart + "assistant" + harmonyChannel + "analysis" + harmonyMessage, close: harmonyEnd,
	until: []string{harmonyReturn, harmonyCall, harmonyStart, harmonyChannel},
}

func writeHarmony(f Format, parts []messages.AssistantContent) string {
	parts = joinTexts(parts)
	s := f.harmonySyntax()
	if len(parts) == 1 {
		if alone, ok := parts[0].(messages.Text); ok {
			return s.escape(alone.Text)
		}
	}
	channel := "final"
	if slices.ContainsFunc(parts, isCall) { // the published template refuses an answer beside calls
		channel = "commentary"
	}
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case messages.Text:
			b.WriteString(harmonyStart + "assistant" + harmonyChannel + channel + harmonyMessage + unescaping(s.escape(p.Text)) + harmonyEnd)
		case messages.Thought:
			b.WriteString(harmonyThought.writeInline(p.Text))
		case messages.ToolCall:
			b.WriteString(harmonyStart + "assistant to=" + harmonyFunctions + p.Name + harmonyChannel + "commentary json" + harmonyMessage)
			b.Write(appendArguments(nil, p.Arguments))
			b.WriteString(harmonyCall)
		}
	}
	return b.String()
}

func isCall(c messages.AssistantContent) bool {
	_, ok := c.(messages.ToolCall)
	return ok
}

func (o Options) harmonySyntax() tagSyntax {
	r := &harmonyReply{
		bareForm:    bareForm{Options: o, never: neverBeforeCall},
		callEnds:    finders(harmonyCall, harmonyEnd, harmonyReturn),
		thoughtEnds: finders(harmonyThought.ends()...),
	}
	tags := []tag{dropped(harmonyMessage), dropped(harmonyEnd), dropped(harmonyReturn), dropped(harmonyCall)}
	for _, mark := range harmonyBegins {
		tags = append(tags, tag{mark, func(start, after int) block {
			return &harmonyBlock{harmonyReply: r, start: start, after: after}
		}})
	}
	r.head, r.syntax = r.bareHead, newTagSyntax(tags...)
	return r.syntax
}

// harmonyBegins begin a header. Without its first mark it must have the recipient of a call: the
// first mark may be in the prompt, or a server took it away.
var harmonyBegins = []string{
	harmonyStart, harmonyChannel,
	"assistantcommentary to=functions.", "assistantanalysis to=functions.", "assistant to=functions.",
	"commentary to=functions.", "analysis to=functions.", "to=functions.", "to=python", "to=browser.",
}

// harmonyReply is what the messages of a reply share.
type harmonyReply struct {
	bareForm
	callEnds, thoughtEnds []*textscan.Finder
	final                 bool // the text is in the channel final, by a header with its marks
}

// harmonyBlock reads a header, and the message after it if that is a thought or a call.
type harmonyBlock struct {
	*harmonyReply
	start, after int
	message      block // nil until the header was read
}

func (b *harmonyBlock) read(text string, final bool) verdict {
	if b.message == nil {
		if !b.stands(text, b.start) {
			return verdict{kind: isText, end: b.after}
		}
		h, wait := b.header(text, b.start, final)
		if wait {
			return verdict{}
		}
		b.message = b.begin(text, h)
	}
	return b.message.read(text, final)
}

// begin returns the reader of what the header begins.
func (b *harmonyBlock) begin(text string, h harmonyHeader) block {
	b.final = b.final && !h.marked || h.marked && strings.Contains(text[b.start:h.end], harmonyChannel+"final")
	cut := !h.marked && h.known && h.end == len(text) && text[b.start] == '<' // the reply ends with it
	switch {
	case cut && h.tool == "" && textscan.Trim(text[b.after:]) != "":
		return fixedBlock{kind: isParts, end: h.end}
	case !h.marked && b.final && text[b.start] != '<', h.marked && !h.known && h.tool == "":
		return fixedBlock{kind: isText, end: b.after}
	case !h.marked && (!cut || h.tool == ""):
		return b.block(b.start, b.after)
	case !h.known, cut:
		const expected = harmonyChannel + "commentary to=functions.name <|constrain|>json" + harmonyMessage + "{…}" + harmonyCall
		return fixedBlock{kind: isBroken, end: h.end, err: broken(b.start, expected, text[b.start:h.end], nil)}
	case h.tool != "":
		ahead := newMarkAhead(harmonyStart, harmonyCall)
		return &callBlock{Options: b.Options, start: b.start, after: h.end, ends: b.callEnds, name: h.tool, ahead: ahead}
	case h.thought:
		return &thoughtBlock{start: b.start, body: h.end, marks: harmonyThought, ends: b.thoughtEnds, pos: h.end}
	default: // a line break keeps its text apart from the one before
		part := Part{Content: messages.Text{Text: "\n\n"}, Start: b.start, End: h.end}
		return fixedBlock{kind: isParts, end: h.end, parts: []Part{part}}
	}
}

// harmonyHeader is what precedes the text of a message.
type harmonyHeader struct {
	tool    string // "" if it is no call
	thought bool   // the channel is analysis
	known   bool   // it has no other words
	marked  bool   // a mark ends it; otherwise the arguments of a call do
	end     int    // where the text, or the arguments, begin
}

// harmonyWords may be in a header, besides a recipient.
var harmonyWords = []string{"assistant", "analysis", "commentary", "final", "json", "code", harmonyStart, harmonyChannel}

// header reads the header at a position. wait means that more text is needed.
func (r *harmonyReply) header(text string, at int, final bool) (h harmonyHeader, wait bool) {
	window := text[at:min(len(text), at+longestHead)]
	rest, _, object := strings.Cut(window, "{")
	rest, _, h.marked = strings.Cut(rest, harmonyMessage)
	if !object && !h.marked && len(window) < longestHead && !final {
		return h, true
	}
	h.known, h.end = true, at+len(rest)
	if h.marked {
		h.end += len(harmonyMessage)
	}
	for rest = textscan.TrimLeft(rest); rest != ""; rest = textscan.TrimLeft(rest) {
		if name, ok := strings.CutPrefix(rest, "to="); ok && h.tool == "" {
			rest = strings.TrimLeft(name, nameBytes)
			h.tool = r.recipient(name[:len(name)-len(rest)])
			h.known = h.known && h.tool != ""
			continue
		}
		if kind, ok := strings.CutPrefix(rest, "<|constrain|>"); ok { // of the text; models write any word
			rest = strings.TrimLeft(strings.TrimLeft(kind, " "), nameBytes)
			continue
		}
		i := slices.IndexFunc(harmonyWords, func(word string) bool { return strings.HasPrefix(rest, word) })
		if i < 0 {
			h.known = false
			_, rest, _ = strings.Cut(rest, " ")
			continue
		}
		h.thought = h.thought || harmonyWords[i] == "analysis"
		rest = rest[len(harmonyWords[i]):]
	}
	return h, false
}

// bareHead reads the header of a call without the mark before its arguments.
func (r *harmonyReply) bareHead(text string, at int, final bool) (tool string, object int, wait bool) {
	h, wait := r.header(text, at, final)
	if !h.known || h.marked {
		h.tool = ""
	}
	return h.tool, h.end, wait
}

// recipient returns the tool that a call is for. Words of the header may follow its name without a
// blank.
func (r *harmonyReply) recipient(name string) string {
	name = strings.TrimPrefix(name, harmonyFunctions)
	short := strings.TrimSuffix(strings.TrimSuffix(name, "json"), "commentary")
	if r.tool(name) == nil && r.tool(short) != nil {
		return short
	}
	return name
}

// typeScript writes tools as functions in a namespace of TypeScript, which gpt-oss was trained on.
func typeScript(defs []tools.Definition) string {
	var b strings.Builder
	b.WriteString("## functions\n\nnamespace functions {\n\n")
	for _, d := range defs {
		var schema tsSchema
		_ = json.Unmarshal(d.Parameters, &schema) // a schema that is not known allows anything
		arguments := ""
		if members := schema.members(); members != "" {
			arguments = "_: {\n" + members + "}"
		}
		b.WriteString(comment(d.Description) + "type " + d.Name + " = (" + arguments + ") => any;\n\n")
	}
	return b.String() + "} // namespace functions"
}

// comment writes a text as a comment on lines of its own.
func comment(text string) string {
	if text = textscan.Trim(text); text == "" {
		return ""
	}
	return "// " + strings.ReplaceAll(text, "\n", "\n// ") + "\n"
}

// tsSchema is the part of a JSON Schema that has a type in TypeScript.
type tsSchema struct {
	Type        any               `json:"type"` // a string or an array of strings
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *tsSchema         `json:"items"`
	AnyOf       []tsSchema        `json:"anyOf"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
}

// members writes the properties of an object in their order, each on a line.
func (s tsSchema) members() string {
	if !strings.HasPrefix(string(s.Properties), "{") {
		return ""
	}
	var b strings.Builder
	for name, raw := range jsonscan.Members(string(s.Properties)) {
		var p tsSchema
		_ = json.Unmarshal([]byte(raw), &p)
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		b.WriteString(comment(p.Description) + name + optional + ": " + p.kind() + ",\n")
	}
	return b.String()
}

// kind returns the type.
func (s tsSchema) kind() string {
	switch {
	case len(s.Enum) > 0:
		return joinEach(s.Enum, " | ", func(value json.RawMessage) string { return string(value) })
	case len(s.AnyOf) > 0:
		return joinEach(s.AnyOf, " | ", tsSchema.kind)
	}
	switch name := s.Type.(type) {
	case []any:
		return joinEach(name, " | ", func(one any) string {
			s.Type = one
			return s.kind()
		})
	case string:
		switch {
		case name == "integer":
			return "number"
		case name == "object" && s.Properties != nil:
			return "{\n" + s.members() + "}"
		case name == "array" && s.Items == nil:
			return "any[]"
		case name == "array":
			item := s.Items.kind()
			if strings.Contains(item, " | ") {
				item = "(" + item + ")"
			}
			return item + "[]"
		}
		return name
	}
	return "any"
}
