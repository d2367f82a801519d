package markdownpolicy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// example is a reply in the instructions of a policy, and what it parses to.
type example struct {
	about string // what it shows, without a full stop
	text  string // as the model is to write it
	parts []messages.AssistantContent
}

// exemplar is a policy with examples, each of which stands in its instructions.
type exemplar interface{ examples() []example }

// workedExamples shows how a policy writes a thought with a call, two calls, and an answer. They
// are rendered by the policy itself, so that what a model is told agrees with what is read.
func workedExamples(render func([]messages.AssistantContent) string) []example {
	call := func(id, city string) messages.ToolCall {
		return messages.ToolCall{ID: id, Name: "get_weather", Arguments: `{"city":"` + city + `"}`}
	}
	shown := []example{
		{about: "a thought, some text and a call", parts: []messages.AssistantContent{
			messages.Thought{Text: "The question is about the weather, so I need the tool."}, messages.Text{Text: "Let me look."}, call("call_1", "Paris"),
		}},
		{about: "two calls in one reply", parts: []messages.AssistantContent{call("call_1", "Paris"), call("call_2", "Rome")}},
		{about: "an answer without a call", parts: []messages.AssistantContent{messages.Text{Text: "It is sunny in Paris, and it rains in Rome."}}},
	}
	for i := range shown {
		shown[i].text = render(shown[i].parts)
	}
	return shown
}

// instruct puts instructions together: what the format is, how it looks, and which tools there are.
// Without tools there is nothing to tell.
func instruct(format string, shown []example, defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(trimBlanks(format))
	b.WriteString("\n\nExamples. The tools in them are made up.")
	for _, e := range shown {
		b.WriteString("\n\nExample: " + e.about + ".\n<example>\n" + e.text + "\n</example>")
	}
	b.WriteString("\n\n" + describeTools(defs))
	return b.String()
}

// describeTools lists the tools with their names, descriptions and parameters. Without tools it is
// "".
func describeTools(defs []tools.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("These are the tools that you can use:")
	for _, d := range defs {
		b.WriteString("\n\n- " + d.Name)
		if about := trimBlanks(d.Description); about != "" {
			b.WriteString(": " + about)
		}
		b.WriteString("\n  Arguments, as a JSON Schema: " + compactSchema(d.Parameters))
	}
	return b.String()
}

// compactSchema returns the schema on one line. One that is nil takes no arguments.
func compactSchema(schema json.RawMessage) string {
	if len(schema) == 0 {
		return `{"type":"object","properties":{}}`
	}
	var b bytes.Buffer
	if json.Compact(&b, schema) != nil {
		return string(schema)
	}
	return b.String()
}
