package compact

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/messages"
)

// shortest is the least to which a text of a transcript is cut, in bytes.
const shortest = 256

// transcript writes messages as text, in about so many bytes: it cuts long texts, and then leaves
// out the oldest messages other than summaries.
func transcript(old []messages.Message, most int) string {
	limit := most
	for {
		text, whole := written(old, limit)
		switch {
		case len(text) <= most:
			return text
		case limit > shortest:
			limit = max(shortest, min(limit, len(text))/4)
		default:
			return strings.Join(latest(whole, old, most), "\n\n")
		}
	}
}

// written writes messages, whose texts are cut to a number of bytes: as one text, and each.
func written(old []messages.Message, limit int) (text string, each []string) {
	for _, m := range old {
		each = append(each, entry(m, limit))
	}
	return strings.Join(each, "\n\n"), each
}

// latest returns the summaries and as many of the last entries as have room; at least one entry.
func latest(each []string, old []messages.Message, most int) []string {
	from := len(each)
	for from > 0 && (most >= len(each[from-1])+2 || from == len(each)) {
		from--
		most -= len(each[from]) + 2
	}
	var list []string
	for i, text := range each {
		if i >= from || isSummary(old[i]) {
			list = append(list, text)
		}
	}
	return list
}

// entry writes one message.
func entry(m messages.Message, limit int) string {
	var b strings.Builder
	switch m := m.(type) {
	case messages.User:
		b.WriteString("[user]")
		if m.Summary {
			b.Reset()
			b.WriteString("[summary of what was before]")
		}
		for _, c := range m.Content {
			switch c := c.(type) {
			case messages.Text:
				b.WriteString("\n" + shortened(c.Text, limit))
			case messages.File:
				b.WriteString("\n(a file" + shortened(named(c.Name), limit) + ")")
			case messages.Audio:
				b.WriteString("\n(a recording)")
			default:
				b.WriteString("\n(an image)")
			}
		}
	case messages.Assistant:
		b.WriteString("[assistant]")
		if text := m.Text(); text != "" {
			b.WriteString("\n" + shortened(text, limit))
		}
		for _, c := range m.Calls() {
			b.WriteString("\ncalls " + c.Name + " " + shortened(c.Arguments, limit))
		}
	case messages.Tool:
		b.WriteString("[result of " + m.ToolName)
		if !m.OK() {
			b.WriteString(", " + string(m.Status))
		}
		m.Output = shortened(m.Output, limit)
		b.WriteString("]\n" + m.ForModel() + strings.Repeat("\n(an image)", len(m.Images)))
	}
	return b.String()
}

// named returns a name behind a blank, on one line.
func named(name string) string {
	return strings.TrimRight(" "+strings.Join(strings.Fields(name), " "), " ")
}

// shortened returns the beginning and the end of a text that is longer than so many bytes.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	begin, end := textcut.Before(text, limit*3/4), textcut.After(text, len(text)-limit/4)
	return text[:begin] + " … (" + strconv.Itoa(end-begin) + " bytes are left out) … " + text[end:]
}
