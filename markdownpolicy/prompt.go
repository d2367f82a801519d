package markdownpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/segue-go/segue/messages"
)

// formatQuery is FormatQuery for a policy that writes a reply with render, and the results of the
// calls of one reply with results. System and user messages stay as they are; a reply of which
// nothing is left is left out.
func formatQuery(h messages.History, render func([]messages.AssistantContent) string, results func([]messages.ToolOutput) string) (messages.History, error) {
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("markdownpolicy: the history cannot be rendered: %w", err)
	}
	out := make(messages.History, 0, len(h))
	for i := 0; i < len(h); i++ {
		switch m := h[i].(type) {
		case messages.System, messages.User:
			out = append(out, m)
		case messages.Assistant:
			if text := render(m.Content); trimBlanks(text) != "" {
				out = append(out, messages.AssistantText(text))
			}
		case messages.Tool:
			outputs := []messages.ToolOutput{m.ToolOutput}
			for ; i+1 < len(h) && h[i+1].Role() == messages.RoleTool; i++ {
				outputs = append(outputs, h[i+1].(messages.Tool).ToolOutput)
			}
			out = append(out, messages.UserText(results(outputs)))
		default:
			return nil, fmt.Errorf("markdownpolicy: message %d: %T cannot be rendered", i, m)
		}
	}
	return out.Clip(), nil
}

// resultText is what a model reads of a result: JSON objects and arrays without blanks, any other
// text as it is, and what is untrusted between marks.
func resultText(o messages.ToolOutput) string {
	if t := trimBlanksLeft(o.Output); t != "" && (t[0] == '{' || t[0] == '[') {
		var b bytes.Buffer
		if json.Compact(&b, []byte(o.Output)) == nil {
			o.Output = b.String()
		}
	}
	return o.ForModel()
}

// resultStatus says how the call ended: "ok", or another status with its reason, such as "failed
// (timeout)".
func resultStatus(o messages.ToolOutput) string {
	switch {
	case o.OK():
		return string(messages.StatusOK)
	case o.Reason == "":
		return string(o.Status)
	default:
		return string(o.Status) + " (" + o.Reason + ")"
	}
}

// joinTexts returns the parts with neighbouring texts as one, texts and thoughts without the blanks
// around them, and without the blank ones: what the parser of a policy makes of them.
func joinTexts(parts []messages.AssistantContent) []messages.AssistantContent {
	var out []messages.AssistantContent
	var text strings.Builder
	end := func() {
		if t := trimBlanks(text.String()); t != "" {
			out = append(out, messages.Text{Text: t})
		}
		text.Reset()
	}
	for _, p := range parts {
		switch p := p.(type) {
		case messages.Text:
			text.WriteString(p.Text)
		case messages.Thought:
			if t := trimBlanks(p.Text); t != "" {
				end()
				out = append(out, messages.Thought{Text: t})
			}
		default:
			end()
			out = append(out, p)
		}
	}
	end()
	return out
}
