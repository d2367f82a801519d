package doctor

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Heading returns what is examined, as lines of at most so many columns.
func Heading(server, model string, columns int) string {
	return wrapped("", plaintext.Visible(server)+", model "+plaintext.Visible(model), columns) + "\n"
}

// Text returns the check with its findings, as lines of at most so many columns.
func (c Check) Text(columns int) string {
	var b strings.Builder
	b.WriteString(wrapped(fmt.Sprintf("%-8s", c.Verdict), plaintext.Join(": ", c.Name, c.Measured), columns))
	for _, f := range c.Findings {
		b.WriteString(wrapped("  ", f.Name+": "+f.Measured, columns))
		b.WriteString(wrapped("    → ", f.Advice, columns))
	}
	return b.String()
}

// text says how far a way came.
func (w Way) text() string {
	switch {
	case w.Answered && w.InText:
		return "called in the text, which segue reads, and answered by the result"
	case w.Answered:
		return "called, and answered by the result"
	case w.Called:
		return plaintext.Join(", but ", "called", w.Problem)
	default:
		return plaintext.Join(": ", "not called", w.Problem)
	}
}

// Summary returns what was found and what it took, as lines of at most so many columns.
func (r Report) Summary(columns int) string {
	counts := map[Verdict]int{}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			counts[f.Verdict]++
		}
	}
	var parts []string
	if n := counts[Broken]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d broken", n))
	}
	if n := counts[Set]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d to set", n))
	}
	found := "Nothing was found."
	if len(parts) > 0 {
		found = "Found: " + strings.Join(parts, ", ") + "."
	}
	cost := "cost not known"
	if r.Cost != nil {
		cost = r.Cost.String()
	}
	about := ""
	if r.Usage.Estimated > 0 {
		about = "about "
	}
	took := fmt.Sprintf("It took %s, %s%s tokens in and %s out (%s), %s.", plaintext.Counted(r.Requests, "request"), about,
		plaintext.Thousands(int(r.Usage.Input)), plaintext.Thousands(int(r.Usage.Output)), cost, took(r.Elapsed))
	return r.waysText(columns) + "\n" + wrapped("", found, columns) + wrapped("", took, columns)
}

// waysText returns the ways in which tool calls were tried, if there are several.
func (r Report) waysText(columns int) string {
	if len(r.Ways) < 2 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\nTool calls, by the server and as text:\n")
	for _, w := range r.Ways {
		name := w.Policy
		if name == "" {
			name = "server"
		}
		text.WriteString(wrapped(fmt.Sprintf("  %-12s", name), w.text(), columns))
	}
	return text.String()
}

// minText is the least number of columns for a text, however narrow the terminal is.
const minText = 12

// wrapped returns a text in lines of at most so many columns. The first begins with lead, the
// others are set in as far.
func wrapped(lead, text string, columns int) string {
	text = strings.Join(strings.Fields(text), " ")
	setIn := strings.Repeat(" ", plaintext.CellsOf(lead))
	var b strings.Builder
	begin := 0
	for _, end := range plaintext.Breaks(text, max(columns-len(setIn), minText), true) {
		b.WriteString(strings.TrimRight(lead+text[begin:end], " ") + "\n")
		begin, lead = end, setIn
	}
	return b.String()
}
