package strategytest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// This file writes values as the text of a story.

// lines is text that is written line by line.
type lines struct{ text strings.Builder }

// line writes a line, indented by depth. Further lines of a text are indented more; blank lines are
// left out.
func (l *lines) line(depth int, format string, args ...any) {
	indent := strings.Repeat("  ", depth)
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			l.text.WriteString(indent + line + "\n")
			indent = strings.Repeat("  ", depth) + "    "
		}
	}
}

// add writes text from elsewhere, indented by depth.
func (l *lines) add(depth int, other *lines) {
	for line := range strings.Lines(other.text.String()) {
		l.text.WriteString(strings.Repeat("  ", depth) + line)
	}
}

// compacted describes how a conversation became shorter.
func compacted(c machine.Compacted) string {
	text := fmt.Sprintf("%s (%s): %d of %d messages stay, %d -> %d tokens", c.How, c.Why, c.Kept, c.From, c.Before, c.After)
	if c.Failed != "" {
		text += "; there is no summary: " + c.Failed
	}
	return text
}

// ending describes with what a frame ended.
func ending[E error](result *string, err E) string {
	text := ""
	if result != nil {
		text = fmt.Sprintf(" with %q", *result)
	}
	if !reflect.ValueOf(err).IsNil() {
		text += fmt.Sprintf(" with the error: %v", err)
	}
	if text == "" {
		return " without a result"
	}
	return text
}

// messageText writes a message on one line, unless its texts have several.
func messageText(m messages.Message) string {
	switch m := m.(type) {
	case messages.System:
		return m.Text
	case messages.User:
		return m.Text()
	case messages.Tool:
		return outputText(m.ToolOutput)
	case messages.Assistant:
		var parts []string
		for _, c := range m.Content {
			switch c := c.(type) {
			case messages.Text:
				parts = append(parts, c.Text)
			case messages.Thought:
				parts = append(parts, "("+c.Text+")")
			case messages.ToolCall:
				parts = append(parts, callText(c))
			}
		}
		if len(parts) == 0 {
			return "nothing"
		}
		return strings.Join(parts, " | ")
	default:
		return fmt.Sprintf("a %T", m)
	}
}

// callText writes a call.
func callText(c messages.ToolCall) string { return fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Arguments) }

// outputText writes the result of a call.
func outputText(o messages.ToolOutput) string {
	status := string(o.Status)
	if o.Reason != "" {
		status += "/" + o.Reason
	}
	return fmt.Sprintf("%s %s: %s", o.CallID, status, o.Output)
}
