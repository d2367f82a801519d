package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/messages"
)

// FormatQuery implements [Policy].
func (p ReAct) FormatQuery(history messages.History) (messages.History, error) {
	return formatQuery(history, p.Render, p.results)
}

// Render implements [Renderer]: thoughts and calls as lines, a text at the end as the final answer,
// any other text as a thought. Arguments that are not JSON are written as a JSON string.
func (p ReAct) Render(parts []messages.AssistantContent) string {
	parts = joinTexts(parts)
	var lines []string
	for i, part := range parts {
		switch c := part.(type) {
		case messages.Thought:
			lines = append(lines, "Thought: "+escapeMarks(c.Text, strayFence(c.Text)))
		case messages.Text:
			if i+1 < len(parts) {
				lines = append(lines, "Thought: "+escapeMarks(c.Text, strayFence(c.Text)))
			} else {
				lines = append(lines, "Final Answer: "+escapeMarks(c.Text, -1))
			}
		case messages.ToolCall:
			lines = append(lines, "Action: "+p.writeName(c.Name), "Action Input: "+writeInput(c.Arguments))
		}
	}
	return strings.Join(lines, "\n")
}

// writeInput writes arguments so that they are read as they are.
func writeInput(arguments string) string {
	switch arguments = trimBlanks(arguments); {
	case arguments == "":
		return "{}"
	case json.Valid([]byte(arguments)):
		return arguments
	}
	return string(appendString(nil, arguments))
}

// results writes each result as an observation: with tool and call id if there are several, and
// with how the call ended if not well.
func (p ReAct) results(outputs []messages.ToolOutput) string {
	lines := make([]string, len(outputs))
	for i, o := range outputs {
		var b strings.Builder
		b.WriteString("Observation")
		if len(outputs) > 1 {
			b.WriteString(" (" + o.ToolName + ", " + o.CallID + ")")
		}
		b.WriteString(": ")
		if !o.OK() {
			b.WriteString(resultStatus(o) + ": ")
		}
		b.WriteString(resultText(o))
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}
