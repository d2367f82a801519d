package strategy

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/nextstep"
)

// Mermaid returns the table as a Mermaid state diagram
// (https://mermaid.js.org/syntax/stateDiagram.html), with an edge to each of the strategies that
// one with this table may hand off to: from the states that await Complete. Equal tables give equal
// text.
func (t *Table) Mermaid(successors ...string) string {
	var b strings.Builder
	b.WriteString(t.MermaidWith(func(State, Rule) string { return "" }))
	for i, name := range successors {
		fmt.Fprintf(&b, "    state \"%s\" as successor_%d\n", mermaidQuoted.Replace(name), i+1)
		for _, s := range t.completing() {
			fmt.Fprintf(&b, "    %s --> successor_%d: hands off\n", s, i+1)
		}
	}
	return b.String()
}

// mermaidQuoted writes a text between quotation marks.
var mermaidQuoted = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "\n", " ")

// completing returns the states in which a frame ends with an output, or hands off.
func (t *Table) completing() (names []State) {
	for _, s := range t.States {
		if s.Awaits == nextstep.KindComplete {
			names = append(names, s.Name)
		}
	}
	return names
}

// MermaidWith is Mermaid with a text of the caller's behind the label of each transition, such as
// how often it was taken. The text must fit on the line of a label: no line break, and no colon.
func (t *Table) MermaidWith(mark func(from State, r Rule) string) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, s := range t.States {
		fmt.Fprintf(&b, "    %s: %s\n", s.Name, s.label("<br/>"))
	}
	fmt.Fprintf(&b, "    [*] --> %s\n", t.Initial)
	for _, r := range t.Rules {
		for _, from := range r.From {
			fmt.Fprintf(&b, "    %s --> %s: %s%s\n", from, r.To, r.label(), mark(from, r))
		}
	}
	for _, s := range t.States {
		if s.Awaits.Final() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s.Name)
		}
	}
	return b.String()
}

// DOT returns the table in the Graphviz language (https://graphviz.org/doc/info/lang.html), with a
// dashed edge to each of the strategies that one with this table may hand off to. Equal tables give
// equal text.
func (t *Table) DOT(successors ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n", t.Name)
	for _, s := range t.States {
		shape := ""
		if s.Awaits.Final() {
			shape = ", peripheries=2"
		}
		fmt.Fprintf(&b, "    %q [label=\"%s\"%s];\n", s.Name, s.label(`\n`), shape)
	}
	for _, r := range t.Rules {
		for _, from := range r.From {
			fmt.Fprintf(&b, "    %q -> %q [label=%q];\n", from, r.To, r.label())
		}
	}
	for i, name := range successors {
		fmt.Fprintf(&b, "    \"successor %d\" [label=%q, style=\"rounded,dashed\"];\n", i+1, name)
		for _, s := range t.completing() {
			fmt.Fprintf(&b, "    %q -> \"successor %d\" [label=\"hands off\", style=dashed];\n", s, i+1)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// label returns the name of the state, its phase and what it awaits.
func (s StateRule) label(newline string) string {
	label := string(s.Name)
	if s.Phase != "" {
		label += " (" + s.Phase + ")"
	}
	if s.Awaits != 0 {
		label += newline + s.Awaits.String()
	}
	return label
}

// label returns the trigger and its cap.
func (r Rule) label() string {
	if r.Cap == "" {
		return string(r.On)
	}
	return string(r.On) + " [" + r.Cap + "]"
}
