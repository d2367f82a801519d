package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
)

// The languages of diagrams.
const (
	formatMermaid = "mermaid"
	formatDOT     = "dot"
)

// tableRecord is the state machine of a strategy in the form json.
type tableRecord struct {
	Strategy string        `json:"strategy"`
	Initial  string        `json:"initial"`
	States   []stateRecord `json:"states"`
	Rules    []ruleRecord  `json:"rules"`
}

// stateRecord is a state of a strategy.
type stateRecord struct {
	Name   string `json:"name"`
	Awaits string `json:"awaits,omitempty"` // the kind of step that is pending in it; "" for the initial state
	Phase  string `json:"phase,omitempty"`
}

// ruleRecord says that in each of the states From the trigger On leads to the state To.
type ruleRecord struct {
	From []string `json:"from"`
	On   string   `json:"on"`
	To   string   `json:"to"`
	Cap  string   `json:"cap,omitempty"` // what limits how often it is taken
}

func newTableRecord(name string, t *strategy.Table) tableRecord {
	r := tableRecord{Strategy: name, Initial: string(t.Initial)}
	for _, s := range t.States {
		state := stateRecord{Name: string(s.Name), Phase: s.Phase}
		if s.Awaits != 0 {
			state.Awaits = s.Awaits.String()
		}
		r.States = append(r.States, state)
	}
	for _, rule := range t.Rules {
		from := []string{}
		for _, s := range rule.From {
			from = append(from, string(s))
		}
		r.Rules = append(r.Rules, ruleRecord{from, string(rule.On), string(rule.To), rule.Cap})
	}
	return r
}

func (c *cli) graphCommand() *cobra.Command {
	names := strings.Join(strategies.Names(), ", ")
	format, form := oneOf(formatMermaid, formatDOT), oneOf(formText, formJSON)
	cmd := &cobra.Command{
		Use:               "graph STRATEGY",
		Short:             "Draw the state machine of a strategy",
		Long:              "Graph writes the state machine of a strategy as a Mermaid or Graphviz diagram.\n\nStrategies: " + names,
		Example:           "  segue graph complete-task --format dot | dot -Tsvg > complete-task.svg",
		ValidArgsFunction: cobra.FixedCompletions(strategies.Names(), cobra.ShellCompDirectiveNoFileComp),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("graph takes the name of one strategy: " + names)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			table := builtin.Table(args[0])
			if table == nil {
				return fmt.Errorf("no strategy %q; there are: %s", args[0], names)
			}
			if form.value == formJSON {
				return encode(c.stdout, newTableRecord(args[0], table))
			}
			diagram := table.Mermaid
			if format.value == formatDOT {
				diagram = table.DOT
			}
			return write(c.stdout, diagram())
		},
	}
	format.offer(cmd, "format", "the language of the diagram")
	form.offer(cmd, "output", "a diagram, or a JSON object with the states and the transitions")
	cmd.MarkFlagsMutuallyExclusive("format", "output")
	return cmd
}
