package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
)

// exploredRecord is what segue check has found, in the form json.
type exploredRecord struct {
	Agent      string            `json:"agent,omitempty"` // "" without a configuration
	Caps       int               `json:"caps,omitempty"`  // to which all caps were lowered
	Paths      int               `json:"paths"`
	States     int               `json:"states"`
	Depth      int               `json:"depth"` // events on the longest path
	Exhausted  bool              `json:"exhausted"`
	Bounds     string            `json:"bounds,omitempty"` // that have left something out
	Exact      bool              `json:"exact"`            // states hold the memory of each strategy
	LeftOut    string            `json:"left_out"`         // what a state does not hold
	Bound      boundRecord       `json:"bound"`            // as segue bound has it
	Coverage   []coverRecord     `json:"coverage"`
	Untabled   []string          `json:"untabled,omitempty"` // strategies without a table
	Violations []violationRecord `json:"violations"`
}

// coverRecord says what was covered of a table.
type coverRecord struct {
	Table            string       `json:"table"`
	Agents           []string     `json:"agents"` // whose strategy has this table
	States           int          `json:"states"`
	StatesCovered    int          `json:"states_covered"`
	Transitions      int          `json:"transitions"`
	TransitionsTaken int          `json:"transitions_taken"`
	Never            []moveRecord `json:"never"` // transitions that were not taken
}

type moveRecord struct {
	From string `json:"from"`
	On   string `json:"on"`
	To   string `json:"to"`
}

// violationRecord is a law that was broken.
type violationRecord struct {
	Law     string   `json:"law"`
	Problem string   `json:"problem"`
	Path    []string `json:"path"`
	Story   string   `json:"story,omitempty"`
}

func newCoverRecord(t coverage.Table, root string) coverRecord {
	r := coverRecord{Table: t.Table.Name, States: len(t.States), Transitions: len(t.Moves), Agents: []string{}, Never: []moveRecord{}}
	for _, name := range t.Strategies {
		r.Agents = append(r.Agents, ownName(name, root))
	}
	slices.Sort(r.Agents)
	r.Agents = slices.Compact(r.Agents)
	r.StatesCovered = r.States - len(t.MissingStates())
	for _, m := range t.Missing() {
		r.Never = append(r.Never, moveRecord{string(m.From), string(m.On), string(m.To)})
	}
	r.TransitionsTaken = r.Transitions - len(r.Never)
	return r
}

// note takes over what was explored.
func (r *exploredRecord) note(from *explore.Report) {
	r.Paths, r.States, r.Depth, r.Exhausted = from.Paths, from.States, from.Depth, from.Exhausted
	r.Bounds, r.Exact, r.LeftOut = from.Bounds, from.Exact, explore.LeftOut
	r.Violations, r.Coverage = []violationRecord{}, []coverRecord{}
	for i := range from.Violations {
		v := &from.Violations[i]
		r.Violations = append(r.Violations, violationRecord{v.Law, v.Problem, v.Path, v.Story})
	}
}

// verdict returns an error if something is wrong.
func (r *exploredRecord) verdict() error {
	if len(r.Violations) == 0 {
		return nil
	}
	return cli.Failed(errors.New("broken: " + r.Violations[0].Law))
}

// checkColumns is how wide the text for people is.
const checkColumns = 80

// text returns what was found, for people.
func (r *exploredRecord) text(verbose bool) string {
	var b strings.Builder
	b.WriteString(agentShown(r.Agent) + cli.FitText(r.extent(), checkColumns) + "\n")
	if verbose {
		b.WriteString(cli.FitText("States that differ only in this are one: "+r.LeftOut+".", checkColumns) + "\n")
	}
	b.WriteString("\n" + r.Bound.tables() + r.covered())
	for i := range r.Violations {
		v := &r.Violations[i]
		b.WriteString("\n" + cli.FitText("Broken: "+v.Law+": "+plaintext.OneLine(v.Problem), checkColumns) + "\n" + steps(v.Path) + story(v.Story))
	}
	if len(r.Violations) == 0 {
		b.WriteString("\nEvery law holds in every state that was tried.\n")
	}
	return b.String()
}

// extent says how much was tried.
func (r *exploredRecord) extent() string {
	text := fmt.Sprintf("Tried %s to %s, of up to %s", plaintext.Counted(r.Paths, "path"), plaintext.Counted(r.States, "state"), plaintext.Counted(r.Depth, "event"))
	if r.Caps > 0 {
		text += fmt.Sprintf(", with caps of %d", r.Caps)
	}
	bounds := inEvents.Replace(r.Bounds)
	switch {
	case r.Exhausted && bounds == "":
		text += ": everything."
	case r.Exhausted:
		text += ": everything within " + bounds + "."
	case bounds == "":
		text += ", and not everything: it ended early because of what is wrong."
	default:
		text += ", and not everything: it ended with the bounds " + bounds + ". --states tries more."
		if r.Caps == 0 {
			text += " --caps 2 leaves less to try."
		}
	}
	if !r.Exact {
		text += " A strategy cannot say what it remembers, so each path to it counts as a state."
	}
	return text
}

// inEvents says bounds in the words of the command.
var inEvents = strings.NewReplacer("reaction", "event")

// covered returns the table of what was covered.
func (r *exploredRecord) covered() string {
	rows, never := []string{"COVERED\tSTATES\tTRANSITIONS\tOF"}, ""
	for i := range r.Coverage {
		t := &r.Coverage[i]
		rows = append(rows, fmt.Sprintf("%s\t%d of %d\t%d of %d\t%s", t.Table, t.StatesCovered, t.States, t.TransitionsTaken, t.Transitions,
			plaintext.Head(plaintext.OneLine(strings.Join(t.Agents, ", ")), checkColumns/3)))
		if len(t.Never) > 0 {
			never += fmt.Sprintf("Never taken in %s:\n", t.Table)
		}
		for _, m := range t.Never {
			never += fmt.Sprintf("  %s -> %s on %s\n", m.From, m.To, m.On)
		}
	}
	if r.Untabled != nil {
		never += cli.FitText("Without a table: "+plaintext.OneLine(strings.Join(r.Untabled, ", "))+".", checkColumns) + "\n"
	}
	return "\n" + cli.Table(rows) + never
}

// steps returns the events of a path, one a line.
func steps(path []string) string {
	var b strings.Builder
	for _, e := range path {
		b.WriteString("  " + plaintext.OneLine(e) + "\n")
	}
	return b.String()
}

// story returns a story to be saved.
func story(text string) string {
	if text == "" {
		return ""
	}
	return "As a story for strategytest.Stories:\n\n" + text
}
