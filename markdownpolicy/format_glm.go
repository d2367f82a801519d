package markdownpolicy

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// GLM is the format of GLM-4.5 and later. A call is the name of the tool and a pair of tags for each
// argument:
//
//	<tool_call>get_weather
//	<arg_key>city</arg_key>
//	<arg_value>Paris</arg_value>
//	</tool_call>
//
// A string is written as it is, any other value as JSON. If the schema in Options.Tools says that an
// argument is a string, it is one; without a type, text that is a JSON value other than a string is
// that value. GLM also reads what [Hermes] reads between the tags. GLM writes a call as JSON, as
// Hermes does, if the pairs cannot express it: a value with a tag in it, or the text 3 without a
// schema.
//
// Results are between <tool_response> and </tool_response>, in the order of the calls. Thoughts are
// between <think> and </think>; those before the last message of the user are not told again.
//
// GLM-4.7 and later write the same tags without line breaks: GLM47 is for them. Each version reads
// both. Their prompt ends with <think> if the model thinks: ThoughtsOpen is for that. The zero
// value writes the form of GLM-4.5.
//
// The form was learned from the chat templates of zai-org/GLM-4.5 (July 2025), GLM-4.6 (September
// 2025) and GLM-4.7 (December 2025) as SGLang and llama.cpp have them, read in November 2026.
type GLM struct {
	Options
	Version  GLMVersion // "" is GLM45
	Thoughts Thoughts   // "" is ThoughtsTagged
}

// GLMVersion says in which form [GLM] writes replies and results.
type GLMVersion string

// The versions.
const (
	GLM45 GLMVersion = "4.5" // GLM-4.5 and 4.6, with line breaks
	GLM47 GLMVersion = "4.7" // GLM-4.7 and later, without
)

// newline is what the version writes after each tag.
func (v GLMVersion) newline() string {
	if v == GLM47 {
		return ""
	}
	return "\n"
}

// Name implements [Namer].
func (GLM) Name() string { return "glm" }

// WithTools implements [Tooled].
func (g GLM) WithTools(defs []tools.Definition) Policy {
	g.Options = g.withTools(defs)
	return g
}

// ParseResponse implements [Policy].
func (g GLM) ParseResponse(text string) (Document, error) { return parse(g.NewParser(), text) }

// NewParser implements [Streamer].
func (g GLM) NewParser() Parser { return newMarkParser(g.Name(), g.Mode, g.syntax()) }

// Render implements [Renderer].
func (g GLM) Render(parts []messages.AssistantContent) string {
	newline := g.Version.newline()
	return g.Thoughts.write(parts, newline, g.syntax().escape, g.begins(), func(calls []messages.ToolCall) string {
		return joinEach(calls, newline, g.write)
	})
}

// write writes a call in pairs if they are read as the same call, and as JSON otherwise.
func (g GLM) write(c messages.ToolCall) string {
	marks, newline := DialectHermes.marks(), g.Version.newline()
	arguments := string(appendArguments(nil, c.Arguments))
	var b strings.Builder
	b.WriteString(marks.open + c.Name + newline)
	for key, value := range jsonscan.Members(arguments) {
		if value[0] == '"' {
			value = jsonscan.Unquote(value)
		}
		b.WriteString(pairKey.open + key + pairKey.close + newline + pairValue.open + value + pairValue.close + newline)
	}
	b.WriteString(marks.close)
	if g.Mode = ModeError; g.Thoughts == ThoughtsOpen {
		g.Thoughts = ThoughtsTagged
	}
	if doc, err := g.ParseResponse(b.String()); err == nil && len(doc.Parts) == 1 {
		if read, ok := doc.Parts[0].Content.(messages.ToolCall); ok && read.Name == c.Name && sameJSON(read.Arguments, arguments) {
			return b.String()
		}
	}
	return marks.open + "\n" + hermesForm.write(c) + "\n" + marks.close
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// FormatQuery implements [Policy].
func (g GLM) FormatQuery(history messages.History) (messages.History, error) {
	newline := g.Version.newline()
	return thoughtsOfTurn.tell(history, g.Render, joinResults("<tool_response>"+newline, newline+"</tool_response>", newline))
}

// FormatInstructions implements [Policy].
func (g GLM) FormatInstructions(defs []tools.Definition) string {
	return instructWith(`You can call tools. Write each call between <tool_call> and </tool_call>, as the examples show: the name of the tool, then for each argument its name `+
		`between <arg_key> and </arg_key> and its value between <arg_value> and </arg_value>. A value that is a string is written without quotes, any other as JSON. `+
		`The results come in the next message, in the order of the calls, between <tool_response> and </tool_response>.
Thoughts that are not for the user stand between <think> and </think>, before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`, g.examples(), defs,
		"The tools are between <tools> and </tools>, as JSON:\n<tools>\n"+joinEach(defs, "\n", toolObject)+"\n</tools>")
}

func (g GLM) examples() []example { return workedExamples(g.Render) }

func (GLM) begins() []string { return []string{DialectHermes.marks().open} }

func (g GLM) syntax() *hermesSyntax {
	marks := DialectHermes.marks()
	ends := finders(marks.close)
	call := tag{marks.open, func(start, after int) block {
		return &callBlock{Options: g.Options, start: start, after: after, ends: ends, body: g.readBody}
	}}
	tags := append(stopping("<|observation|>", "<|user|>", "<|endoftext|>"), call)
	return g.Thoughts.thinking(g.Options, g.begins(), []string{marks.close}, tags...)
}

// readBody reads a call in pairs, one without arguments, and else what Hermes reads.
func (g GLM) readBody(text string, at int) ([]Part, []Repair, *ParseError) {
	body := textscan.TrimLeft(text)
	at += len(text) - len(body)
	body = textscan.TrimRight(body)
	head, _, _ := strings.Cut(body, "{")
	if !strings.Contains(head, pairKey.open) && (len(body) > longestHead || strings.Trim(body, nameBytes) != "") {
		return g.Options.readBody(body, at)
	}
	return g.readPairs(body, at, anything)
}
