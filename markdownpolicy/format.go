package markdownpolicy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Format is a text format: the marks around calls, thoughts and results, and how a call is written
// between them. The formats of the package are ready to use, with options or without:
//
//	policyclient.Wrap(client, markdownpolicy.Hermes)
//	repairing := markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}
//	policyclient.Wrap(client, markdownpolicy.Hermes.With(repairing))
//
// The zero value is [Fenced].
type Format struct {
	Options

	// Thoughts are those of a model that writes them between <think> and </think>; "" is
	// ThoughtsTagged. [Fenced], [XML], [Llama], [Pythonic], [Mistral], [Gemma], [Gemma4] and
	// [Harmony] write thoughts in one way only.
	Thoughts Thoughts

	ForgetThoughts bool // past thoughts are not told

	row *row
}

// row is what a format does in its own way.
type row struct {
	name string

	told  string                          // the instructions
	tools func([]tools.Definition) string // describes the tools; nil: as describeTools does

	keep    pastThoughts
	results func([]messages.ToolOutput) string

	// of a format that is more than marks and what is between them
	syntax func(Format) syntax
	write  func(Format, []messages.AssistantContent) string
	query  func(Format, messages.History) (messages.History, error) // nil: as FormatQuery does

	// of the others: what is read
	calls     []tagPair                                                  // the marks around calls
	body      func(Options, string, int) ([]Part, []Repair, *ParseError) // reads what is between them; nil: Options.readBody
	values    valueForm                                                  // of values in it; zero: as valuesOf finds
	named     []namedForm                                                // calls with a name before a mark
	functions bool                                                       // functions without marks around them are calls
	begins    []string                                                   // more marks that begin calls
	closing   []string                                                   // more marks that end calls
	dropped   []string                                                   // marks that are left out
	stops     []string                                                   // marks that end a reply
	more      func(Options, []tag) []tag                                 // other marks, beside those
	valued    bool                                                       // it reads values without quotes, between tags

	// and what is written
	writeCalls func(Format, []messages.ToolCall) string // calls that follow one another
	behind     string                                   // behind a thought, which is on lines of its own
	separator  string                                   // between two parts
	lines      bool                                     // parts are on lines of their own
}

// With returns the format with these options.
func (f Format) With(o Options) Format {
	f.Options = o
	return f
}

// form returns the row.
func (f Format) form() *row {
	if f.row == nil {
		return Fenced.row
	}
	return f.row
}

// Name implements [Namer].
func (f Format) Name() string { return f.form().name }

// WithTools implements [Tooled].
func (f Format) WithTools(defs []tools.Definition) Policy {
	f.Options = f.withTools(defs)
	return f
}

// ParseResponse implements [Policy].
func (f Format) ParseResponse(text string) (Document, error) { return parse(f.NewParser(), text) }

// NewParser implements [Streamer].
func (f Format) NewParser() Parser {
	if r := f.form(); r.syntax != nil {
		return newMarkParser(r.name, f.Mode, r.syntax(f))
	}
	return newMarkParser(f.Name(), f.Mode, f.marked())
}

// Render implements [Renderer].
func (f Format) Render(parts []messages.AssistantContent) string {
	r := f.form()
	if r.write != nil {
		return r.write(f, parts)
	}
	return f.writeMarked(parts, func(calls []messages.ToolCall) string { return r.writeCalls(f, calls) })
}

// FormatQuery implements [Policy].
func (f Format) FormatQuery(history messages.History) (messages.History, error) {
	r := f.form()
	if r.query != nil {
		return r.query(f, history)
	}
	return f.keep().tell(history, f.Render, r.results)
}

// keep says which past thoughts are told.
func (f Format) keep() pastThoughts {
	if f.ForgetThoughts {
		return thoughtsNever
	}
	return f.form().keep
}

// FormatInstructions implements [Policy].
func (f Format) FormatInstructions(defs []tools.Definition) string {
	r := f.form()
	described := r.tools
	if described == nil {
		described = describeTools
	}
	return instruct(r.told, f.examples(), defs, described(defs))
}

func (f Format) examples() []example { return workedExamples(f.Render) }

// beginMarks returns the marks that begin calls.
func (f Format) beginMarks() []string {
	marks := slices.Clone(f.row.begins)
	for _, call := range f.row.calls {
		marks = append(marks, call.open)
	}
	if f.row.functions && len(f.Tools) > 0 {
		marks = append(marks, functionMark)
	}
	return marks
}

// marked returns the syntax of a format that is marks and what is between them.
func (f Format) marked() *hermesSyntax {
	r, refused := f.row, new(int)
	var tags []tag
	closing := slices.Clone(r.closing)
	for _, form := range r.named {
		tags = append(tags, form.tag(f.Options))
		closing = append(closing, form.closings[0])
	}
	for _, marks := range r.calls {
		ends := finders(marks.close)
		closing = append(closing, marks.close)
		tags = append(tags, tag{marks.open, func(start, after int) block {
			return &callBlock{Options: f.Options, start: start, after: after, ends: ends, refused: refused, body: r.body, values: r.values}
		}})
	}
	if r.functions {
		tags = append(tags, f.functionTags(refused)...)
	}
	for _, mark := range r.dropped {
		tags = append(tags, dropped(mark))
	}
	tags = append(tags, stopping(r.stops...)...)
	if r.more != nil {
		tags = append(tags, r.more(f.Options, tags)...)
	}
	return f.Thoughts.thinking(f.Options, f.beginMarks(), closing, tags...)
}

// writeMarked writes parts in a format that is marks and what is between them.
func (f Format) writeMarked(parts []messages.AssistantContent, calls func([]messages.ToolCall) string) string {
	r, t := f.row, f.Thoughts
	if t == ThoughtsNone {
		parts = slices.DeleteFunc(slices.Clone(parts), isThought)
	}
	marks, escape := t.marks(f.beginMarks()), f.marked().escape
	thought, separator, none := marks.writeInline, r.separator, thoughtTags.open+thoughtTags.close
	if t == ThoughtsAny || r.lines { // of two quotes on one line, what is between them is text
		thought, separator = marks.write, "\n"
	}
	if r.behind != "" {
		thought = func(text string) string { return marks.write(text) + r.behind }
	}
	text := func(text string) string { return unescaping(escape(text)) }
	if r.lines {
		text, none = escape, thoughtTags.write("")+"\n"
	}
	written := writeGroups(parts, separator, text, thought, calls)
	if t == ThoughtsOpen && written != "" && !strings.HasPrefix(written, thoughtTags.open) {
		written = none + written
	}
	return written
}

// Thoughts says how a model writes its thoughts.
type Thoughts string

// The ways to write thoughts.
const (
	ThoughtsTagged Thoughts = "tagged" // between <think> and </think>
	ThoughtsOpen   Thoughts = "open"   // the prompt ends with <think>, so a reply begins within a thought
	ThoughtsAny    Thoughts = "any"    // either: text before a first </think> is a thought; nothing is released before the first of these tags
	ThoughtsNone   Thoughts = "none"   // never: <think> is text, and past thoughts are not rendered
)

// Hermes is the format that Hermes, Qwen and many other open models were trained on. A call is a
// JSON object with "name" and "arguments" between <tool_call> and </tool_call>. Thoughts are
// between <think> and </think>. See https://github.com/NousResearch/Hermes-Function-Calling.
//
// Between the tags, Hermes also reads what other models write there: several objects, an array of
// objects, the parameters of Qwen3-Coder
// (<function=name><parameter=key>value</parameter></function>), the same with a JSON object in
// place of the parameters, the pairs of GLM-4.5 and later
// (name<arg_key>key</arg_key><arg_value>value</arg_value>), calls in Python syntax, and an object
// in a code block. Values without a type get a type that the schema in Options.Tools allows, or
// else become strings. Calls are always written as JSON. Text in a call that is neither an argument
// nor known to be harmless is an error. Tags within a value are part of it, with those of whole
// calls.
//
// If Options.Tools are given, the name of a known tool and a JSON object between the tags are a
// call, and <function=name>…</function> of a known tool is a call without the tags around it, too,
// unless it is in a code span or block, in a line that is indented as code, or quoted.
//
// A call without a closing tag is accepted at the end of the text, if its JSON is complete. A
// thought without a closing tag extends to the end. A call in a thought is part of the thought,
// with two exceptions: the thought has no closing tag, or it ends with the call and is the end of
// the reply. So such a call is known only at the end of the reply.
//
// The formats after it are read as Hermes is, between other marks. Results are written between
// <tool_response> and </tool_response>.
var (
	Hermes        = Format{row: hermesRow(toolCallMarks)}
	LFM           = Format{row: hermesRow(tagPair{open: "<|tool_call_start|>", close: "<|tool_call_end|>"})}     // LFM2: [name(key="value")]
	Olmo          = Format{row: hermesRow(tagPair{open: "<function_calls>", close: "</function_calls>"})}        // OLMo 3: name(key="value"), a call on each line
	FunctionGemma = Format{row: hermesRow(tagPair{open: "<start_function_call>", close: "<end_function_call>"})} // call:name{key:<escape>value<escape>}
)

// looseDeepSeek reads between the marks of [DeepSeek] what Hermes reads.
var looseDeepSeek = func() Format {
	r := hermesRow(deepSeekPairs...)
	r.more, r.closing = deepSeekLeftOut, append(r.closing, deepSeekEnds...)
	return Format{row: r}
}()

var toolCallMarks = tagPair{open: "<tool_call>", close: "</tool_call>"}

// hermesForm is the form of a call as JSON.
var hermesForm = callForm{name: "name", arguments: "arguments", others: []string{"parameters"}}

// hermesRow is the row of a format that is read as Hermes is. The first marks are written.
func hermesRow(marks ...tagPair) *row {
	open, closing := marks[0].open, marks[0].close
	return &row{
		name: "hermes",
		told: `You can call tools. Write each call as a JSON object with the keys "name" and "arguments" between ` + open + ` and ` + closing +
			`. "arguments" is an object that fits the schema of the tool. You can make several calls, one after the other. ` + showInstead,
		results: taggedResults("tool_response"),
		calls:   marks, functions: true, closing: []string{functionEnd}, stops: []string{"<|im_end|>", "<|endoftext|>"}, valued: marks[0].open == toolCallMarks.open,
		lines: true,
		writeCalls: func(_ Format, calls []messages.ToolCall) string {
			return joinEach(calls, "\n", func(c messages.ToolCall) string { return writeJSONCall(marks[0], c) })
		},
	}
}

// writeJSONCall writes a call as JSON between marks.
func writeJSONCall(marks tagPair, c messages.ToolCall) string {
	return marks.open + "\n" + hermesForm.write(c) + "\n" + marks.close
}

func isThought(c messages.AssistantContent) bool {
	_, ok := c.(messages.Thought)
	return ok
}

// inTags ends the instructions of formats with thoughts between <think> and </think>.
const inTags = `
Thoughts that are not for the user stand between <think> and </think>, before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`

// GLM is the format of GLM-4.5 and later. A call is the name of the tool and a pair of tags for
// each argument:
//
//	<tool_call>get_weather
//	<arg_key>city</arg_key>
//	<arg_value>Paris</arg_value>
//	</tool_call>
//
// A string is written as it is, any other value as JSON. If the schema in Options.Tools says that
// an argument is a string, it is one; without a type, text that is a JSON value other than a string
// is that value. GLM also reads what [Hermes] reads between the tags. GLM writes a call as JSON, as
// Hermes does, if the pairs cannot express it: a value with a tag in it, or the text 3 without a
// schema.
//
// Results are between <tool_response> and </tool_response>, in the order of the calls. Thoughts are
// between <think> and </think>; those before the last message of the user are not told again.
//
// GLM-4.7 and later write the same tags without line breaks: GLM47 is for them. Each reads both.
// Their prompt ends with <think> if the model thinks: ThoughtsOpen is for that.
//
// The form was learned from the chat templates of zai-org/GLM-4.5 (July 2025), GLM-4.6 (September
// 2025) and GLM-4.7 (December 2025) as SGLang and llama.cpp have them, read in November 2026.
var (
	GLM   = Format{row: glmRow("\n")}
	GLM47 = Format{row: glmRow("")}
)

// glmRow is the row of GLM, with what is written after each tag.
func glmRow(newline string) *row {
	native := func(calls []messages.ToolCall) string {
		var b strings.Builder
		b.WriteString(toolCallMarks.open + calls[0].Name + newline)
		for key, value := range jsonscan.Members(string(appendArguments(nil, calls[0].Arguments))) {
			if value[0] == '"' {
				value = jsonscan.Unquote(value)
			}
			b.WriteString(pairKey.open + key + pairKey.close + newline + pairValue.open + value + pairValue.close + newline)
		}
		return b.String() + toolCallMarks.close
	}
	return &row{
		name: "glm",
		told: `You can call tools. Write each call between <tool_call> and </tool_call>, as the examples show: the name of the tool, then for each argument its name ` +
			`between <arg_key> and </arg_key> and its value between <arg_value> and </arg_value>. A value that is a string is written without quotes, any other as JSON. ` +
			`The results come in the next message, in the order of the calls, between <tool_response> and </tool_response>.` + inTags,
		tools: func(defs []tools.Definition) string {
			return "The tools are between <tools> and </tools>, as JSON:\n<tools>\n" + joinEach(defs, "\n", toolObject) + "\n</tools>"
		},
		keep: thoughtsOfTurn, results: joinResults("<tool_response>"+newline, newline+"</tool_response>", newline),
		calls: []tagPair{toolCallMarks}, body: Options.readGLM, stops: []string{"<|observation|>", "<|user|>", "<|endoftext|>"}, valued: true,
		separator: newline,
		writeCalls: func(f Format, calls []messages.ToolCall) string {
			return joinEach(calls, newline, func(c messages.ToolCall) string { return f.nativeOrJSON([]messages.ToolCall{c}, native) })
		},
	}
}

// nativeOrJSON writes calls as the format does, if they are read as the same calls, and else as
// JSON between its marks.
func (f Format) nativeOrJSON(calls []messages.ToolCall, native func([]messages.ToolCall) string) string {
	if f.Mode = ModeError; f.Thoughts == ThoughtsOpen {
		f.Thoughts = ThoughtsTagged
	}
	text := native(calls)
	if !f.row.valued && strings.Contains(text, "think>") {
		text = "" // it might be read as a thought
	}
	if doc, err := f.ParseResponse(text); err == nil && slices.EqualFunc(doc.Parts, calls, isSameCall) {
		return text
	}
	marks := f.row.calls[0]
	return marks.open + "\n" + joinEach(calls, "\n", hermesForm.write) + "\n" + marks.close
}

// isSameCall reports whether a part is a call.
func isSameCall(p Part, c messages.ToolCall) bool {
	read, ok := p.Content.(messages.ToolCall)
	if !ok || read.Name != c.Name {
		return false
	}
	var x, y any
	return json.Unmarshal([]byte(read.Arguments), &x) == nil && json.Unmarshal(appendArguments(nil, c.Arguments), &y) == nil && reflect.DeepEqual(x, y)
}

// readGLM reads a call in pairs, one without arguments, and else what Hermes reads.
func (o Options) readGLM(text string, at int) ([]Part, []Repair, *ParseError) {
	body := textscan.TrimLeft(text)
	at += len(text) - len(body)
	body = textscan.TrimRight(body)
	head, _, _ := strings.Cut(body, "{")
	if !strings.Contains(head, pairKey.open) && (len(body) > longestHead || strings.Trim(body, nameBytes) != "") {
		return o.readBody(body, at)
	}
	return o.readPairs(body, at, anything)
}

// Kimi is the format of Kimi K2 and K2 Thinking. The calls of a reply are in one section; each has
// an id with the name of the tool and a number that counts the calls of the conversation from 0,
// and a JSON object with the arguments:
//
//	<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>
//
// A result follows a line with the id of its call. Thoughts are between <think> and </think>; those
// of finished work are not told again.
//
// A call may stand without its section, its id without the number, and the arguments may be missing
// if there are none. A call without its end mark is accepted at the end of the text, if its JSON is
// complete.
//
// The marks are special tokens, which servers may take away. If Options.Tools has the tool, a call
// is also read without them: functions.get_weather:0{"city": "Paris"}. It must begin a line or
// directly follow a text that ends with no letter or digit, nothing but calls may follow it, and it
// may not be shown as code or as a quotation.
//
// The form was learned from the chat template of moonshotai/Kimi-K2-Thinking (November 2025) and
// its guide to tool calls, docs/tool_call_guidance.md (July 2025), read in November 2026.
var Kimi = Format{row: &row{
	name: "kimi",
	told: `You can call tools. Write all calls of a reply between ` + kimiSection + ` and ` + kimiSectionEnd + `. For each call, write ` + kimiCall +
		`, then functions., the name of the tool, a colon and the number of the call in this conversation, counted from 0, then ` + kimiArguments +
		`, the arguments as a JSON object that fits the schema of the tool, and ` + kimiCallEnd + `. The results come in the next message, each after a line with "## Return of" and its call.` + inTags,
	tools: func(defs []tools.Definition) string {
		return "The tools that you can call, as JSON:\n[" + joinEach(defs, ",", toolObject) + "]"
	},
	keep: thoughtsOfWork, query: queryKimi,
	named:  []namedForm{{open: kimiCall, behind: kimiArguments, closings: []string{kimiCallEnd}, shown: "functions.name:0", name: Options.kimiTool}},
	begins: []string{kimiSection, kimiOne, kimiCall}, closing: []string{kimiSectionEnd, kimiOneEnd},
	dropped: []string{kimiSection, kimiSectionEnd, kimiOne, kimiOneEnd, "<|im_end|>"},
	more:    bareKimi,
	write: func(f Format, parts []messages.AssistantContent) string {
		n := -1
		return f.writeKimi(parts, func(c messages.ToolCall) string {
			n++
			return kimiID(c.Name, n)
		})
	},
}}

const (
	kimiSection    = "<|tool_calls_section_begin|>"
	kimiSectionEnd = "<|tool_calls_section_end|>"
	kimiCall       = "<|tool_call_begin|>"
	kimiArguments  = "<|tool_call_argument_begin|>"
	kimiCallEnd    = "<|tool_call_end|>"
	kimiOne        = "<|tool_call_section_begin|>" // for kimiSection
	kimiOneEnd     = "<|tool_call_section_end|>"
)

// kimiID returns the id of the n-th call of a conversation.
func kimiID(tool string, n int) string { return "functions." + tool + ":" + strconv.Itoa(n) }

func (f Format) writeKimi(parts []messages.AssistantContent, id func(messages.ToolCall) string) string {
	return f.writeMarked(parts, func(calls []messages.ToolCall) string {
		return kimiSection + joinEach(calls, "", func(c messages.ToolCall) string {
			return kimiCall + id(c) + kimiArguments + string(appendArguments(nil, c.Arguments)) + kimiCallEnd
		}) + kimiSectionEnd
	})
}

// queryKimi implements FormatQuery: calls are counted through the conversation.
func queryKimi(f Format, history messages.History) (messages.History, error) {
	calls, ids := 0, map[string]string{}
	reply := func(parts []messages.AssistantContent) string {
		return f.writeKimi(parts, func(c messages.ToolCall) string {
			ids[c.ID] = kimiID(c.Name, calls)
			calls++
			return ids[c.ID]
		})
	}
	return f.keep().tell(history, reply, func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "\n", func(o messages.ToolOutput) string { return "## Return of " + ids[o.CallID] + "\n" + toldResult(o) })
	})
}

// bareKimi returns the tags of calls whose marks a server took away.
func bareKimi(o Options, others []tag) (tags []tag) {
	bare := &bareForm{Options: o, never: neverBeforeCall + letters, head: func(text string, at int, final bool) (tool string, object int, wait bool) {
		if object, wait = endOfHead(text, at, "{", final); object >= 0 {
			tool = o.kimiTool(textscan.TrimRight(text[at:object]))
		}
		return tool, object, wait
	}}
	for _, d := range o.Tools {
		tags = append(tags, tag{harmonyFunctions + d.Name + ":", bare.block})
	}
	bare.syntax = newTagSyntax(append(others, tags...)...)
	return tags
}

// kimiTool returns the name of the tool in the id of a call, or "".
func (o Options) kimiTool(id string) string {
	if o.tool(id) != nil {
		return id
	}
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		if _, err := strconv.Atoi(id[i+1:]); err != nil {
			return ""
		}
		id = id[:i]
	}
	return strings.TrimPrefix(id, harmonyFunctions)
}

// toolObject returns a tool as JSON, as requests of the Chat Completions API have it.
func toolObject(d tools.Definition) string {
	return `{"type":"function","function":` + definitionObject(d) + "}"
}

// definitionObject is toolObject without the type.
func definitionObject(d tools.Definition) string {
	return `{"name":` + jsonscan.Quote(d.Name) + `,"description":` + jsonscan.Quote(d.Description) + `,"parameters":` + compactSchema(d.Parameters) + "}"
}
