package markdownpolicy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Structured is for servers that hold a reply to a JSON Schema, such as llama.cpp, Ollama, vLLM, LM
// Studio and OpenAI: it is a [Schemer]. A reply is an object whose member "reply" is a call, a list
// of calls, or an answer, which is released while it arrives:
//
//	{"reply": {"tool": "get_weather", "arguments": {"city": "Oslo"}}}
//	{"reply": {"answer": "It is cold in Oslo."}}
//
// Past calls and results are told in sentences, so that the model does not imitate them. The object
// is also read at the beginning of any line, in a code block, and without "reply", if it is an
// answer or a call of a known tool; other text stays text. The zero value is ready to use.
type Structured struct {
	Options
	Thoughts bool // the model writes a thought before each reply, in a member "thought"
}

// structuredForm is the form of a call as JSON.
var structuredForm = callForm{name: "tool", arguments: "arguments"}

// Name implements [Namer].
func (Structured) Name() string { return "structured" }

// WithTools implements [Tooled].
func (s Structured) WithTools(defs []tools.Definition) Policy {
	s.Options = s.withTools(defs)
	return s
}

// ParseResponse implements [Policy].
func (s Structured) ParseResponse(text string) (Document, error) { return parse(s.NewParser(), text) }

// NewParser implements [Streamer].
func (s Structured) NewParser() Parser {
	return newMarkParser(s.Name(), s.Mode, &structuredSyntax{Options: s.Options})
}

// Render implements [Renderer]. Parts that are not a single call or answer are written as a list.
func (s Structured) Render(parts []messages.AssistantContent) string {
	member := func(key string) func(string) string {
		return func(text string) string { return `{"` + key + `": ` + jsonscan.Quote(text) + "}" }
	}
	parts = joinTexts(parts)
	before := ""
	if len(parts) > 1 && isThought(parts[0]) {
		before = strings.TrimSuffix(member("thought")(parts[0].(messages.Thought).Text)[1:], "}") + ", "
		parts = parts[1:]
	}
	text := writeParts(parts, ", ", member("answer"), member("thought"), structuredForm.write)
	if len(parts) > 1 {
		text = "[" + text + "]"
	}
	if text == "" {
		return ""
	}
	return "{" + before + `"reply": ` + text + "}"
}

// FormatQuery implements [Policy]. After results the model is told the task again, if it is short,
// and what to do next: small models forget the rest of a task when they have the first result.
func (s Structured) FormatQuery(history messages.History) (messages.History, error) {
	const most = 1000
	var tasks []string // of the results, one message after another
	task := ""
	for i, m := range history {
		switch m := m.(type) {
		case messages.User:
			if task = m.Text(); len(task) > most {
				task = ""
			}
		case messages.Tool:
			if i == 0 || history[i-1].Role() != messages.RoleTool {
				tasks = append(tasks, task)
			}
		}
	}
	return thoughtsAll.tell(history, tellParts, func(outputs []messages.ToolOutput) string {
		task, tasks = tasks[0], tasks[1:]
		return tellResults(outputs, task)
	})
}

// tellParts writes a reply in sentences.
func tellParts(parts []messages.AssistantContent) string {
	same := func(text string) string { return text }
	return writeParts(parts, "\n", same, same, func(c messages.ToolCall) string {
		var with []string
		if jsonscan.Valid(c.Arguments) && c.Arguments[jsonscan.SkipBlanks(c.Arguments, 0)] == '{' {
			for name, value := range jsonscan.Members(strings.TrimSpace(c.Arguments)) {
				with = append(with, name+" = "+value)
			}
		} else if c.Arguments != "" {
			with = []string{jsonscan.Quote(c.Arguments)}
		}
		return "I use the tool " + c.Name + " with " + cmp.Or(strings.Join(with, ", "), "no arguments") + "."
	})
}

// tellResults writes results, and what to do next.
func tellResults(outputs []messages.ToolOutput, task string) string {
	next := "Reply with the next call that it needs. If every part of it is done, reply with the answer."
	if task != "" {
		next = "The task was: " + task + "\n" + next
	}
	if slices.ContainsFunc(outputs, mendable) {
		next = tryAgain
	}
	return joinEach(outputs, "\n\n", func(o messages.ToolOutput) string {
		about := "The tool " + o.ToolName + " returned:\n"
		if !o.OK() {
			about = "The tool " + o.ToolName + " has no result, " + resultStatus(o) + ":\n"
		}
		return about + resultText(o)
	}) + "\n\n" + next
}

// FormatInstructions implements [Policy].
func (s Structured) FormatInstructions(defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	thought, thinks := "", ""
	if s.Thoughts {
		thought, thinks = `"thought": TEXT, `, " In TEXT, say what to do next and why."
	}
	form := "{" + thought + `"reply": `
	return "Each reply is one JSON object. When all that was asked for is known or done, write " + form + `{"answer": the answer as text}}. ` +
		"Until then use the tools for what they do, instead of working it out or guessing: write " +
		form + `{"tool": its name, "arguments": its arguments}}, or ` +
		form + "[one such object for each]} to use several that do not need each other's results. " +
		"What the tools return comes in the next message." + thinks + "\n\n" + describeTools(defs)
}

// structuredSyntax is the syntax of [Structured]: a JSON object is read token by token, so that an
// answer in it is released while it arrives.
type structuredSyntax struct {
	Options
	depth  int     // open brackets
	key    string  // the member whose value comes next; "" if none does
	fenced bool    // the object is in a code block
	within region  // what the next byte is part of
	value  jsonEnd // for inRawAnswer: its end
}

// region is what a byte of a reply is part of.
type region uint8

const (
	inProse      region = iota // text outside of an object
	inObject                   // between the values of an object
	inAnswer                   // an answer that is a string
	inRawAnswer                // an answer that is an object or an array
	inBareAnswer               // an answer that is another value
)

var (
	structuredLeads = textscan.NewByteSet("{[`")
	structuredStops = textscan.NewByteSet(`"\`)
)

// find implements [syntax].
func (s *structuredSyntax) find(text string, from int, final bool) (int, bool) {
	if s.within != inProse {
		return from, true
	}
	for at := from; ; at++ {
		if at = structuredLeads.Next(text, at); at == len(text) {
			return at, false
		}
		switch _, yes, partly := s.head(text, at); {
		case yes:
			return at, true
		case partly && !final:
			return at, false
		}
	}
}

// head returns where the object begins that stands at a position, perhaps after the mark of a code
// block. A call without "reply" counts only if its tool is known. If no object stands there, partly
// means that the text may end within its head.
func (s *structuredSyntax) head(text string, at int) (object int, yes, partly bool) {
	const most = 64 // blanks
	line := strings.TrimRight(text[max(0, at-most):at], " \t")
	if line != "" && line[len(line)-1] != '\n' || line == "" && at > most {
		return 0, false, false
	}
	for _, fence := range []string{"```json", "```"} {
		stands, wait := textscan.StandsAt(text, at, fence, false)
		if wait {
			return 0, false, true
		}
		if stands {
			at = jsonscan.SkipBlanks(text[:min(len(text), at+most)], at+len(fence))
			break
		}
	}
	l := jsonscan.Lookahead{Text: text, Pos: at}
	for deep := 0; deep < most && l.Skip('['); deep++ {
	}
	if l.Skip('{') {
		key, ok := l.Key()
		yes = ok && isStructuredKey(key)
		if ok && key == structuredForm.name {
			name, whole := l.Value()
			yes = whole && s.tool(name) != nil
		}
	}
	return at, yes, !yes && l.Partial
}

// isStructuredKey reports whether a key is that of a reply, of the thought beside it, or of the
// answer in it.
func isStructuredKey(key string) bool {
	return key == "reply" || key == "thought" || key == "answer"
}

// mayBegin reports whether the value of a key may begin with c.
func mayBegin(key string, c byte) bool {
	switch key {
	case "thought":
		return c == '"'
	case "reply":
		return c == '"' || c == '{' || c == '['
	}
	return strings.IndexByte(",]} \t\r\n", c) < 0
}

// begin implements [syntax].
func (s *structuredSyntax) begin(text string, at int) block {
	switch s.within {
	case inProse:
		object, _, _ := s.head(text, at)
		s.depth, s.key, s.fenced, s.within = 0, "", object > at, inObject
		if s.fenced {
			return fixedBlock{kind: isParts, end: object}
		}
	case inObject:
	default:
		return &answerBlock{structuredSyntax: s, start: at}
	}
	return &tokenBlock{structuredSyntax: s, start: at, call: jsonEnd{scan: jsonscan.At(at)}}
}

// tokenBlock reads a blank, a bracket, a comma, the name of a member, a thought or a call.
type tokenBlock struct {
	*structuredSyntax
	start   int
	call    jsonEnd
	thought strings.Builder // what has come of it
	pos     int             // where the rest of the thought begins; 0: no thought has begun
}

func (b *tokenBlock) read(text string, final bool) verdict {
	l := jsonscan.Lookahead{Text: text, Pos: b.start}
	switch c := text[b.start]; {
	case b.pos > 0:
		return b.readThought(text, final)
	case jsonscan.SkipBlanks(text[:b.start+1], b.start) > b.start:
	case b.key != "":
		return b.readValue(text, final)
	case c == '"':
		key, ok := l.Key()
		value := l.Next()
		switch {
		case l.Partial && !final:
			return verdict{}
		case !ok || !isStructuredKey(key) || !l.Partial && !mayBegin(key, value):
			return b.broken(text, b.start+1)
		}
		b.key = key
		return verdict{kind: isParts, end: l.Pos}
	case c == '{':
		l.Pos++
		key, _ := l.Key()
		switch {
		case l.Partial && !final:
			return verdict{}
		case key == structuredForm.name:
			return b.readCall(text, final)
		}
		b.depth++
	case c == '[':
		b.depth++
	case c == '}' || c == ']':
		return b.leave(text, b.start, final)
	case c != ',':
		return b.broken(text, b.start+1)
	}
	return verdict{kind: isParts, end: b.start + 1}
}

// broken ends the object with an error.
func (b *tokenBlock) broken(text string, end int) verdict {
	b.within, b.key = inProse, ""
	return verdict{kind: isBroken, end: end, err: brokenFrom(text, b.start,
		`a JSON object {"reply": …} with {"tool": …, "arguments": {…}}, a list of such objects, or {"answer": …}`)}
}

// leave reads a bracket that closes the object, or what is in it, and the end of its code block.
func (b *tokenBlock) leave(text string, bracket int, final bool) verdict {
	const most = 64 // blanks
	end := bracket + 1
	if b.depth <= 1 {
		if b.fenced {
			at := jsonscan.SkipBlanks(text[:min(len(text), end+most)], end)
			closed, wait := textscan.StandsAt(text, at, "```", final)
			if wait {
				return verdict{}
			}
			if closed {
				end = at + len("```")
			}
		}
		b.within = inProse
	}
	b.depth--
	return verdict{kind: isParts, end: end}
}

// readCall reads a call.
func (b *tokenBlock) readCall(text string, final bool) verdict {
	if !b.call.find(text, final) {
		return verdict{}
	}
	v := verdict{kind: isParts, end: b.call.end}
	if b.depth == 0 {
		if v = b.leave(text, v.end-1, final); v.kind == more {
			return v
		}
	}
	call, repairs, err := structuredForm.read(text[b.start:b.call.end], b.start, b.Mode)
	if err != nil {
		v = b.broken(text, b.call.end)
		v.err = err
		return v
	}
	v.parts, v.repairs = []Part{{Content: call, Start: b.start, End: b.call.end, Open: b.call.cut}}, repairs
	return v
}

// readValue reads a thought, or what precedes the value of another member.
func (b *tokenBlock) readValue(text string, final bool) verdict {
	key, c := b.key, text[b.start]
	b.key = ""
	switch {
	case key == "thought" && c == '"':
		b.pos = b.start + 1
		return b.readThought(text, final)
	case (key == "answer" || key == "reply") && c == '"':
		b.within = inAnswer
		return verdict{kind: isParts, end: b.start + 1}
	case key == "reply":
		return b.read(text, final)
	case c == '{' || c == '[':
		b.within, b.value = inRawAnswer, jsonEnd{scan: jsonscan.At(b.start)}
	default:
		b.within = inBareAnswer
	}
	return (&answerBlock{b.structuredSyntax, b.start}).read(text, final)
}

func (b *tokenBlock) readThought(text string, final bool) verdict {
	end, closed := unquoteSome(text, b.pos, final, func(said string, _, _ int) { b.thought.WriteString(said) })
	if b.pos = end; !closed && !final {
		return verdict{}
	}
	return verdict{kind: isParts, end: end, parts: []Part{{Content: messages.Thought{Text: b.thought.String()}, Start: b.start, End: end}}}
}

// answerBlock reads what has come of an answer.
type answerBlock struct {
	*structuredSyntax
	start int
}

func (b *answerBlock) read(text string, final bool) verdict {
	var parts []Part
	add := func(said string, start, end int) {
		parts = append(parts, Part{Content: messages.Text{Text: said}, Start: start, End: end})
	}
	end, closed := len(text), false
	switch b.within {
	case inAnswer:
		if end, closed = unquoteSome(text, b.start, final, add); end == b.start {
			return verdict{}
		}
	case inRawAnswer:
		if closed = b.value.find(text, false); closed {
			end = b.value.end
		}
		add(text[b.start:end], b.start, end)
	default:
		if i := strings.IndexAny(text[b.start:], ",]} \t\r\n"); i > 0 {
			end, closed = b.start+i, true
		} else if i == 0 {
			b.within = inObject
			return (&tokenBlock{structuredSyntax: b.structuredSyntax, start: b.start}).read(text, final)
		}
		add(text[b.start:end], b.start, end)
	}
	if closed {
		b.within = inObject
	}
	return verdict{kind: isParts, end: end, parts: parts}
}

// unquoteSome calls add with the content of a JSON string from a position within it, as far as its
// characters have come, and returns the position after them: after the closing quote, if that has
// come. What is no JSON stays as it is.
func unquoteSome(text string, at int, final bool, add func(said string, start, end int)) (end int, closed bool) {
	for at < len(text) {
		stop := structuredStops.Next(text, at)
		if stop > at {
			add(text[at:stop], at, stop)
		}
		if at = stop; at == len(text) {
			break
		}
		if text[at] == '"' {
			return at + 1, true
		}
		const most = 2 * len(`\u0000`)
		if rest := text[at:]; !final && (len(rest) < 2 || rest[1] == 'u' && len(rest) < most) {
			break
		}
		said, n := unescape(text[at:min(len(text), at+most)])
		add(said, at, at+n)
		at += n
	}
	return at, false
}

// unescape returns the character whose escapes a text begins with, and their length; or the
// backslash, if the text does not begin with a character.
func unescape(text string) (said string, n int) {
	for _, n := range []int{2 * len(`\u0000`), len(`\u0000`), len(`\n`)} {
		if n <= len(text) {
			if said = jsonscan.Unquote(`"` + text[:n] + `"`); utf8.RuneCountInString(said) == 1 {
				return said, n
			}
		}
	}
	return text[:1], 1
}

// Schemer is a [Policy] for servers that hold a reply to a JSON Schema.
type Schemer interface {
	// ReplySchema returns the JSON Schema of replies that call one or several of the tools or,
	// unless a tool must be called, answer: with text or, if answer is not nil, with JSON of that
	// schema. Nil means that replies are not held to a schema.
	ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage
}

// replySchema returns the schema of any policy.
func replySchema(p Policy, defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	if s, ok := p.(Schemer); ok {
		return s.ReplySchema(defs, must, answer)
	}
	return nil
}

// ReplySchema implements [Schemer]. The root is an object, because OpenAI takes nothing else. A
// tool's schema with references stands under "$defs", and its references are adapted.
func (s Structured) ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	var branches, calls, shared []string
	for _, d := range defs {
		parameters := schemaWithin(d.Parameters, "t"+strconv.Itoa(len(shared)), &shared)
		name := `{"type":"string","enum":[` + jsonscan.Quote(d.Name) + `]}`
		calls = append(calls, objectSchema(structuredForm.name, name, structuredForm.arguments, parameters))
	}
	if len(calls) > 0 {
		shared = append(shared, `"call":{"anyOf":[`+strings.Join(calls, ",")+`]}`)
		branches = append(branches, `{"$ref":"#/$defs/call"}`, `{"type":"array","items":{"$ref":"#/$defs/call"},"minItems":1,"maxItems":8}`)
	}
	if !must || len(calls) == 0 {
		said := `{"type":["string","number","boolean"]}` // a model that must quote a number writes another word
		if answer != nil {
			said = schemaWithin(answer, "answer", &shared)
		}
		branches = append(branches, objectSchema("answer", said))
	}
	root := []string{"reply", `{"anyOf":[` + strings.Join(branches, ",") + `]}`}
	if s.Thoughts {
		root = append([]string{"thought", `{"type":"string"}`}, root...)
	}
	schema := objectSchema(root...)
	if len(shared) > 0 {
		schema = strings.TrimSuffix(schema, "}") + `,"$defs":{` + strings.Join(shared, ",") + "}}"
	}
	return json.RawMessage(schema)
}

// objectSchema returns the schema of an object with members, given as keys and their schemas.
func objectSchema(members ...string) string {
	var properties, required []string
	for i := 0; i < len(members); i += 2 {
		key := jsonscan.Quote(members[i])
		properties, required = append(properties, key+":"+members[i+1]), append(required, key)
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
}

// schemaWithin returns a schema for use within another one. If it holds references, that is a
// reference to the schema itself, which is added to shared under a name.
func schemaWithin(schema json.RawMessage, name string, shared *[]string) string {
	text := compactSchema(schema)
	if !strings.Contains(text, `"$ref":"#`) || !jsonscan.Valid(text) {
		return text
	}
	*shared = append(*shared, jsonscan.Quote(name)+":"+string(moveReferences(nil, text, "#/$defs/"+name)))
	return `{"$ref":"#/$defs/` + name + `"}`
}

// moveReferences appends a schema whose references to its root are references to a place.
func moveReferences(dst []byte, value, place string) []byte {
	switch value[0] {
	case '{':
		dst = append(dst, '{')
		for key, member := range jsonscan.Members(value) {
			if rest, ok := strings.CutPrefix(member, `"#`); ok && key == "$ref" {
				member = `"` + place + rest
			}
			dst = append(jsonscan.AppendString(separated(dst, '{'), key), ':')
			dst = moveReferences(dst, member, place)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for _, element := range jsonscan.Elements(value) {
			dst = moveReferences(separated(dst, '['), element, place)
		}
		return append(dst, ']')
	default:
		return append(dst, value...)
	}
}

// separated appends a comma, unless the last byte is a bracket that was just opened.
func separated(dst []byte, opened byte) []byte {
	if dst[len(dst)-1] == opened {
		return dst
	}
	return append(dst, ',')
}
