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
// header with other words is text; with a recipient it is an error.
//
// If Options.Tools has the tool, a call is also read if a server took some or all of its marks away,
// provided that it begins a line or follows the word assistant, and that nothing but calls follows:
// commentary to=functions.get_weather json{"city": "Paris"}.
//
// Thoughts of finished work are not told again. Results are told as text, as in OpenAI's guide; the
// published template quotes them as JSON strings. That template refuses a past message with the mark
// of a thought in its text: ForgetThoughts is for servers that use it and leave the marks in
// replies. The zero value is ready to use.
//
// The form was learned from OpenAI's guide, cookbook.openai.com/articles/openai-harmony (August
// 2025), and from the chat template of openai/gpt-oss-120b (August 2025, as llama.cpp has it, and
// with Unsloth's corrections), read in November 2026.
type Harmony struct {
	Options
	ForgetThoughts bool // past thoughts are not told
}

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

// Name implements [Namer].
func (Harmony) Name() string { return "harmony" }

// WithTools implements [Tooled].
func (h Harmony) WithTools(defs []tools.Definition) Policy {
	h.Options = h.withTools(defs)
	return h
}

// ParseResponse implements [Policy].
func (h Harmony) ParseResponse(text string) (Document, error) { return parse(h.NewParser(), text) }

// NewParser implements [Streamer].
func (h Harmony) NewParser() Parser { return newMarkParser(h.Name(), h.Mode, h.syntax()) }

// Render implements [Renderer].
func (h Harmony) Render(parts []messages.AssistantContent) string {
	parts = joinTexts(parts)
	s := h.syntax()
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

// FormatQuery implements [Policy].
func (h Harmony) FormatQuery(history messages.History) (messages.History, error) {
	keep := thoughtsOfWork
	if h.ForgetThoughts {
		keep = thoughtsNever
	}
	return keep.tell(history, h.Render, func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "", func(o messages.ToolOutput) string {
			marks := harmonyThought
			marks.open = harmonyStart + harmonyFunctions + o.ToolName + " to=assistant" + harmonyChannel + "commentary" + harmonyMessage
			return marks.writeInline(toldResult(o))
		})
	})
}

// FormatInstructions implements [Policy].
func (h Harmony) FormatInstructions(defs []tools.Definition) string {
	return instructWith(`You can call tools. They are functions in the namespace functions; a call goes to the channel commentary, and its arguments are a JSON object. `+
		`The results come in the next message.
Thoughts that are not for the user go to the channel analysis. The answer goes to the channel final; what the user should know before a call goes to the channel commentary.
To write one of the marks in the examples as plain text, put a backslash before it.`, h.examples(), defs, "# Tools\n\n"+typeScript(defs))
}

func (h Harmony) examples() []example { return workedExamples(h.Render) }

func (h Harmony) syntax() *harmonySyntax {
	bare := &bareForm{Options: h.Options, head: harmonyBareHead(h.Options), marks: harmonyBare, ends: []string{harmonyCall, harmonyEnd, harmonyReturn, harmonyStart, harmonyChannel}}
	bare.glue = func(before byte) bool {
		return !textscan.IsBlank(before) && strings.IndexByte("`'\"([{<*_\\", before) < 0
	}
	s := &harmonySyntax{form: newNamedForm(harmonyChannel+"commentary to=functions.name <|constrain|>json"+harmonyMessage+"{…}"+harmonyCall,
		harmonyMessage, harmonyCall, harmonyEnd, harmonyReturn)}
	ends := harmonyThought.finders()
	header := func(start, after int) block {
		return &harmonyBlock{Options: h.Options, form: s.form, bare: bare, ends: ends, start: start, after: after}
	}
	s.header = header
	s.tagSyntax = newTagSyntax(append(bare.tags(), tag{harmonyStart, header}, tag{harmonyChannel, header},
		dropped(harmonyMessage), dropped(harmonyEnd), dropped(harmonyReturn), dropped(harmonyCall))...)
	return s
}

// harmonySyntax is the syntax of [Harmony]. A reply may begin within a header: with a recipient.
type harmonySyntax struct {
	tagSyntax
	form   *namedForm
	header func(start, after int) block
	begun  bool
	within bool // the reply begins within a header, which was found and not yet read
}

func (s *harmonySyntax) find(text string, from int, final bool) (int, bool) {
	if s.begun {
		return s.tagSyntax.find(text, from, final)
	}
	const recipient = "to="
	at := jsonscan.SkipBlanks(text, from)
	yes, wait := textscan.StandsAt(text, at, recipient, final)
	if wait || at == len(text) && !final {
		return at, false
	}
	if s.begun = true; yes {
		s.within = true
		return at, true
	}
	return s.tagSyntax.find(text, from, final)
}

func (s *harmonySyntax) begin(text string, at int) block {
	if s.within {
		s.within = false
		return s.header(at, at+1)
	}
	return s.tagSyntax.begin(text, at)
}

// harmonyBlock reads a header, and the message after it if that is a thought or a call.
type harmonyBlock struct {
	Options
	form         *namedForm
	bare         *bareForm
	ends         []*textscan.Finder // of a thought
	start, after int
	message      block // nil until the header was read
}

func (b *harmonyBlock) read(text string, final bool) verdict {
	if b.message != nil {
		return b.message.read(text, final)
	}
	at := b.form.behind.Next(text, b.after)
	if at < 0 && !final && len(text) <= b.after+longestHead+len(harmonyMessage) {
		return verdict{}
	}
	header := harmonyHeader{}
	ok := at >= 0 && at <= b.after+longestHead && header.read(text[b.start:at])
	end := at + len(harmonyMessage)
	switch {
	case !ok && header.recipient != "" && text[b.start] != 't':
		b.message = b.without(verdict{kind: isBroken, end: end, err: broken(b.start, b.form.expected, text[b.start:end], nil)})
	case !ok:
		b.message = b.without(verdict{kind: isText, end: b.after})
	case header.recipient != "":
		call := b.form.block(b.Options, b.start, end)
		call.name, call.inner = strings.TrimPrefix(header.recipient, harmonyFunctions), end
		call.ahead = newMarkAhead(text[b.start:b.after], harmonyCall)
		b.message = call
	case header.channel == "analysis":
		b.message = &thoughtBlock{start: b.start, body: end, marks: harmonyThought, ends: b.ends, pos: end}
	default: // a line break keeps its text apart from the one before
		part := Part{Content: messages.Text{Text: "\n\n"}, Start: b.start, End: end}
		return verdict{kind: isParts, end: end, parts: []Part{part}}
	}
	return b.message.read(text, final)
}

// without reads a call whose message has no mark. otherwise is the verdict if there is none.
func (b *harmonyBlock) without(otherwise verdict) block {
	if len(b.Tools) == 0 {
		return fixedBlock(otherwise)
	}
	return &bareBlock{bareForm: b.bare, start: b.start, at: b.start, text: otherwise, marked: true}
}

// harmonyBare are the words that begin a header of a call if its marks were taken away.
var harmonyBare = []string{
	"assistantcommentary to=functions.", "assistantanalysis to=functions.", "assistant to=functions.",
	"commentary to=functions.", "analysis to=functions.", "to=functions.",
}

// harmonyBareHead reads a header with some of its marks, up to the arguments.
func harmonyBareHead(o Options) func(text string, start int, final bool) (string, int, bool) {
	words := []string{
		"assistant", "commentary", "analysis", "json", "to=" + harmonyFunctions,
		harmonyStart, harmonyChannel, "<|constrain|>", harmonyMessage,
	}
	return func(text string, start int, final bool) (name string, inner int, wait bool) {
		window := text[:min(len(text), start+longestHead)]
		more := len(window) == len(text) && len(window) < start+longestHead && !final
		for at := start; ; {
			at = jsonscan.SkipBlanks(window, at)
			if at == len(window) || window[at] == '{' {
				return name, at, at == len(window) && more
			}
			i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(window[at:], word) })
			if i < 0 {
				partly := slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, window[at:]) })
				return "", 0, partly && more
			}
			if at += len(words[i]); words[i] != "to="+harmonyFunctions {
				continue
			}
			called := window[at : len(window)-len(strings.TrimLeft(window[at:], nameBytes))]
			if at += len(called); name != "" || at == len(window) {
				return "", 0, name == "" && more
			}
			for _, word := range []string{"", "json", "commentary", "commentaryjson"} { // may be glued to the name
				if cut, ok := strings.CutSuffix(called, word); ok && name == "" && o.tool(cut) != nil {
					name = cut
				}
			}
			if name == "" {
				return "", 0, false
			}
		}
	}
}

// harmonyHeader is what precedes the text of a message.
type harmonyHeader struct{ channel, recipient string }

// read reads a header. If it has other words, read returns false.
func (h *harmonyHeader) read(text string) bool {
	role, channel, _ := strings.Cut(text, harmonyChannel)
	role, marked := strings.CutPrefix(role, harmonyStart)
	words := strings.Fields(role)
	if marked && len(words) > 0 && words[0] == "assistant" {
		words = words[1:]
	} else if marked {
		return false
	}
	said := strings.Fields(strings.ReplaceAll(channel, "<|constrain|>", " <|constrain|>"))
	if len(said) > 0 {
		h.channel, said = said[0], said[1:]
	}
	ok := slices.Contains([]string{"", "analysis", "commentary", "final"}, h.channel)
	for _, word := range append(words, said...) {
		recipient, is := strings.CutPrefix(word, "to=")
		switch {
		case is && h.recipient == "" && recipient != "" && strings.Trim(recipient, nameBytes) == "":
			h.recipient = recipient
		case word != "json" && word != "<|constrain|>json":
			ok = false
		}
	}
	return ok
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
	var kinds []string
	for _, e := range s.Enum {
		kinds = append(kinds, string(e))
	}
	for _, one := range s.AnyOf {
		kinds = append(kinds, one.kind())
	}
	if types, ok := s.Type.([]any); ok && kinds == nil {
		for _, one := range types {
			s.Type = one
			kinds = append(kinds, s.kind())
		}
	}
	name, _ := s.Type.(string)
	switch {
	case kinds != nil:
		return strings.Join(kinds, " | ")
	case name == "":
		return "any"
	case name == "integer":
		return "number"
	case name == "object" && s.Properties != nil:
		return "{\n" + s.members() + "}"
	case name == "array":
		return s.item() + "[]"
	default:
		return name
	}
}

// item returns the type of the elements of an array.
func (s tsSchema) item() string {
	if s.Items == nil {
		return "any"
	}
	kind := s.Items.kind()
	if strings.Contains(kind, " | ") {
		kind = "(" + kind + ")"
	}
	return kind
}
