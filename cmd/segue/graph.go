package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/strategy/builtin"
)

// The languages of diagrams.
const (
	formatMermaid = "mermaid"
	formatDOT     = "dot"
)

func (c *cli) graphCommand() *cobra.Command {
	names := strings.Join(strategies.Names(), ", ")
	format := oneOf(formatMermaid, formatDOT)
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
			diagram := table.Mermaid
			if format.value == formatDOT {
				diagram = table.DOT
			}
			return write(c.stdout, diagram())
		},
	}
	format.offer(cmd, "format", "the language of the diagram")
	return cmd
}
