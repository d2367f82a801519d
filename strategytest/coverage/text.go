package coverage

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/segue-go/segue/strategy"
)

// String returns all tables as text, and below them the strategies of which nothing is known. Equal
// counts give equal text.
func (c *Coverage) String() string {
	var b strings.Builder
	for i, t := range c.Tables() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(t.String())
	}
	if names := c.Untabled(); names != nil {
		fmt.Fprintf(&b, "\nwithout a table: %s\n", strings.Join(names, ", "))
	}
	if names := c.Unknown(); names != nil {
		fmt.Fprintf(&b, "\nnot in the set: %q\n", names)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// Summary returns one line: the name of the table, and how many of its states and transitions are
// covered.
func (t Table) Summary() string {
	return fmt.Sprintf("%s: %d of %d states, %d of %d transitions",
		t.Table.Name, len(t.States)-len(t.MissingStates()), len(t.States), len(t.Moves)-len(t.Missing()), len(t.Moves))
}

// String returns the summary, and how often each state was entered and each transition was taken.
func (t Table) String() string {
	var b strings.Builder
	b.WriteString(t.Summary() + "\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "  state\ttimes")
	for _, s := range t.States {
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", s.Name, times(s.Times))
	}
	_ = w.Flush()
	_, _ = fmt.Fprintln(w, "  in\twhen\tthen\ttimes")
	for _, m := range t.Moves {
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", m.From, m.On, m.To, times(m.Times))
	}
	_ = w.Flush()
	for _, m := range t.Strays {
		fmt.Fprintf(&b, "  no rule: %s, %d times\n", m.Move, m.Times)
	}
	return b.String()
}

func times(n int64) string {
	if n == 0 {
		return "never"
	}
	return fmt.Sprint(n)
}

// Mermaid returns the diagram of [strategy.Table.Mermaid] with what was counted: each transition
// has the number of times it was taken ("×3") or a "✗" in its label, and the states are of the
// classes covered and uncovered. Equal counts give equal text.
func (t Table) Mermaid() string {
	taken := map[Move]int64{}
	for _, m := range t.Moves {
		taken[m.Move] = m.Times
	}
	var b strings.Builder
	b.WriteString(t.Table.MermaidWith(func(from strategy.State, r strategy.Rule) string {
		if n := taken[Move{from, r.On, r.To}]; n > 0 {
			return fmt.Sprintf(" ×%d", n)
		}
		return " ✗"
	}))
	b.WriteString("    classDef covered fill:#d7f0db,stroke:#2e7d32,color:#1b1b1b\n")
	b.WriteString("    classDef uncovered fill:#fbe0dd,stroke:#c62828,color:#1b1b1b\n")
	for _, s := range t.States {
		class := "covered"
		if s.Times == 0 {
			class = "uncovered"
		}
		fmt.Fprintf(&b, "    class %s %s\n", s.Name, class)
	}
	return b.String()
}
