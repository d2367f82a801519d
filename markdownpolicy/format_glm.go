package markdownpolicy

import (
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
// that value. GLM also reads what [Hermes] reads between the tags, the name of a tool and a JSON
// object, and, if Options.Tools has the tool, pairs at the beginning of a line without the mark that
// begins a call. ModeRepair adds tags of pairs that are missing. GLM writes a call as JSON, as
// Hermes does, if the pairs cannot express it: a value with a tag in it, or the text 3 without a
// schema.
//
// Results are between <tool_response> and </tool_response>, in the order of the calls. Thoughts are
// between <think> and </think>; those before the last message of the user are not told again.
//
// GLM-4.7 and later write the same tags without line breaks: GLM47 is for them. Each version reads
// both. Their prompt ends with <think> if the model thinks: ThoughtsOpen is for that. The zero value
// writes the form of GLM-4.5.
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
	parts, complete := g.Thoughts.write(parts)
	thought := g.Thoughts.thoughtWriter(g.begins())
	escape := g.syntax().escape
	if g.Version.newline() == "" {
		escape = func(text string) string { return unescaping(g.syntax().escape(text)) }
	}
	return complete(writeParts(parts, g.Version.newline(), escape, thought, g.write))
}

// write writes a call in pairs if they are read as the same call, and as JSON otherwise.
func (g GLM) write(c messages.ToolCall) string {
	marks, newline := DialectHermes.marks(), g.Version.newline()
	var b strings.Builder
	b.WriteString(marks.open + c.Name + newline)
	arguments := string(appendArguments(nil, c.Arguments))
	if arguments[0] == '{' {
		for key, value := range jsonscan.Members(arguments) {
			if value[0] == '"' {
				value = jsonscan.Unquote(value)
			}
			b.WriteString(pairKey.open + key + pairKey.close + newline + pairValue.open + value + pairValue.close + newline)
		}
	}
	pairs := b.String() + marks.close
	g.Mode = ModeError
	if g.Thoughts != ThoughtsAny { // then the end of a thought in a value would end one
		g.Thoughts = ThoughtsNone
	}
	if doc, err := g.ParseResponse(pairs); err == nil && len(doc.Parts) == 1 {
		if read, ok := doc.Parts[0].Content.(messages.ToolCall); ok && read.Name == c.Name && arguments[0] == '{' && plainMembers(read.Arguments) == plainMembers(arguments) {
			return pairs
		}
	}
	return marks.open + "\n" + hermesForm.write(c) + "\n" + marks.close
}

// plainMembers writes the members of an object for a comparison, with its strings escaped only where
// they must be.
func plainMembers(object string) string {
	b := []byte("{")
	for key, value := range jsonscan.Members(object) {
		b = append(jsonscan.AppendString(b, key), ':')
		if value[0] == '"' {
			b = jsonscan.AppendString(b, jsonscan.Unquote(value))
		} else {
			b = append(b, value...)
		}
		b = append(b, ',')
	}
	return string(b)
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
	ends := &textscan.Finder{Mark: marks.close}
	call := func(start, after int) block {
		return &callBlock{Options: g.Options, start: start, after: after, close: marks.close, ends: ends, body: g.readBody}
	}
	tags, bare := []tag{{marks.open, call}}, new(bareForm)
	for _, t := range g.Tools {
		for _, between := range []string{"", "\n"} {
			tags = append(tags, tag{t.Name + between + pairKey.open, func(start, after int) block {
				return &barePairs{block: call(start, start), form: bare, start: start, after: after}
			}})
		}
	}
	return g.Thoughts.thinking(g.Options, g.begins(), []string{marks.close}, tags...)
}

// barePairs reads a call in pairs without the mark that begins it.
type barePairs struct {
	block
	form         *bareForm
	start, after int
	begun        bool
}

func (b *barePairs) read(text string, final bool) verdict {
	if !b.begun && !b.form.stands(text, b.start) {
		return verdict{kind: isText, end: b.after}
	}
	b.begun = true
	v := b.block.read(text, final)
	if v.kind == isBroken {
		b.form.refused = max(b.form.refused, v.seen)
		return verdict{kind: isText, end: b.after, seen: max(b.after, v.seen)}
	}
	return v
}

// readBody reads a call in pairs, also one without arguments, or of a tool that is offered with its
// arguments as JSON, and else what Hermes reads.
func (g GLM) readBody(text string, at int) ([]Part, []Repair, *ParseError) {
	lead := len(text) - len(textscan.TrimLeft(text))
	body, at := textscan.Trim(text), at+lead
	name := body[:len(body)-len(strings.TrimLeft(body, nameBytes))]
	if rest := textscan.TrimLeft(body[len(name):]); g.tool(name) != nil {
		switch {
		case rest == pairKey.close || rest == pairValue.close: // of an argument that is not there
			body = name
		case strings.HasPrefix(rest, "{"):
			object, repairs, err := readObject(rest, at+len(body)-len(rest), g.Mode)
			if err != nil {
				return nil, nil, err
			}
			return []Part{callAt(at, name, object)}, repairs, nil
		}
	}
	named := body != "" && len(body) <= longestHead && name == body
	if !named && !strings.Contains(body, pairKey.open) && (g.Mode != ModeRepair || !strings.Contains(body, pairKey.close)) {
		return g.Options.readBody(text, at-lead)
	}
	name, pairs, err := readArgumentPairs(body, at)
	var repairs []Repair
	if err != nil && g.Mode == ModeRepair {
		var added string
		if added, pairs = g.mendedPairs(body); pairs != nil {
			name, _, err = readArgumentPairs(added, at)
			repairs = []Repair{{Offset: at, What: "put the tags of arguments in order"}}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	schema := map[string]property{}
	known := g.properties(name)
	for _, a := range pairs {
		if schema[a.name] = known[a.name]; known[a.name].Type == nil && known[a.name].AnyOf == nil {
			schema[a.name] = property{Type: []any{"null", "boolean", "number", "array", "object"}}
		}
	}
	return []Part{callAt(at, name, argumentsObject(pairs, schema))}, repairs, nil
}

// mendedPairs adds the tags that begin arguments and values where a model left them out, and drops
// those that end a key twice. The result counts only if it gives arguments that the tool has, and no
// value contains a tag.
func (g GLM) mendedPairs(body string) (mended string, pairs []argument) {
	name, rest, _ := strings.Cut(body, pairKey.close)
	name, key, found := strings.Cut(name, pairKey.open)
	if name = textscan.Trim(name); !found { // the key is glued to the name
		for _, t := range g.Tools {
			if after, ok := strings.CutPrefix(name, t.Name); ok {
				if _, ok := g.properties(t.Name)[textscan.Trim(after)]; ok {
					name, key = t.Name, after
				}
			}
		}
	}
	known := g.properties(name)
	if known == nil {
		return "", nil
	}
	var b strings.Builder
	b.WriteString(name)
	for {
		key = textscan.Trim(strings.TrimPrefix(key, pairKey.open))
		rest = strings.TrimPrefix(textscan.TrimLeft(rest), pairKey.close)
		value, more, closed := strings.Cut(strings.TrimPrefix(textscan.TrimLeft(rest), pairValue.open), pairValue.close)
		if _, ok := known[key]; !ok || !closed || strings.Contains(value, "arg_key>") || strings.Contains(value, "arg_value>") {
			return "", nil
		}
		b.WriteString(pairKey.open + key + pairKey.close + pairValue.open + value + pairValue.close)
		if more = textscan.TrimLeft(more); more == "" {
			break
		}
		if key, rest, closed = strings.Cut(more, pairKey.close); !closed {
			return "", nil
		}
	}
	mended = b.String()
	if _, pairs, err := readArgumentPairs(mended, 0); err == nil {
		return mended, pairs
	}
	return "", nil
}

// nameBytes are the bytes of names of tools.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/$"
