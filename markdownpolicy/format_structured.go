package markdownpolicy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
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
