package check

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
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
	Agent    string        `json:"agent,omitempty"`
	Strategy string        `json:"strategy"`
	Initial  string        `json:"initial"`
	States   []stateRecord `json:"states"`
	Rules    []ruleRecord  `json:"rules"`

	Successors []string `json:"successors,omitempty"` // the agents that the agent may hand over to
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

// draw fills in the table of a strategy.
func (r *tableRecord) draw(name string, t *strategy.Table) {
	r.Strategy, r.Initial = name, string(t.Initial)
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
}

// graphFlags are the flags of segue graph.
type graphFlags struct {
	config       cli.FileFlag
	agent        string
	format, form cli.Choice
}

func graphCommand(c *cli.CLI) *cobra.Command {
	names := strings.Join(strategies.Names(), ", ")
	f := &graphFlags{format: cli.OneOf(formatMermaid, formatDOT), form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "graph STRATEGY|--agent NAME",
		Short: "Draw the state machine of a strategy",
		Long: `Graph writes the state machine of a strategy as a Mermaid or Graphviz diagram. With --agent it is that of the strategy of an agent
of the configuration, with the agents that it may hand over to; that of a composition has its parts as states.

Strategies: ` + names,
		Example: `  segue graph complete-task --format dot | dot -Tsvg > complete-task.svg
  segue graph --agent triage`,
		Args: func(_ *cobra.Command, args []string) error {
			if f.agent == "" && len(args) != 1 || f.agent != "" && len(args) > 0 {
				return errors.New("graph takes the name of one strategy, or --agent: " + names)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runGraph(c, f, args) },
	}
	f.config.Offer(cmd)
	cmd.ValidArgsFunction = cobra.FixedCompletions(strategies.Names(), cobra.ShellCompDirectiveNoFileComp)
	cmd.Flags().StringVar(&f.agent, "agent", "", "the `NAME` of an agent of the configuration")
	_ = cmd.RegisterFlagCompletionFunc("agent", c.CompleteAgentFlag(&f.config.Path))
	f.format.Offer(cmd, "format", "the language of the diagram")
	f.form.Offer(cmd, "output", "a diagram, or a JSON object with the states and the transitions")
	cmd.MarkFlagsMutuallyExclusive("format", "output")
	return cmd
}

// runGraph executes segue graph.
func runGraph(c *cli.CLI, f *graphFlags, args []string) error {
	if f.agent == "" && f.config.Given("config") {
		return errors.New("--config needs --agent: the state machine of a strategy is the same in every configuration")
	}
	record := tableRecord{}
	var table *strategy.Table
	if f.agent != "" {
		cfg, _, err := c.ReadConfig(&f.config, nil)
		if err != nil {
			return err
		}
		if _, _, err := cfg.Choose(config.Request{Agent: f.agent}); err != nil {
			return err
		}
		agent := cfg.Agents[f.agent]
		record.Agent, record.Successors = f.agent, agent.HandsOffTo()
		args, table = []string{agent.StrategyName()}, agent.Table()
	}
	if table == nil {
		table = builtin.Table(args[0])
	}
	if table == nil {
		return fmt.Errorf("no strategy %q; there are: %s", args[0], strings.Join(strategies.Names(), ", "))
	}
	switch {
	case f.form.Value == cli.FormJSON:
		record.draw(args[0], table)
		return cli.Encode(c.Stdout, record)
	case f.format.Value == formatDOT:
		return cli.Write(c.Stdout, table.DOT(record.Successors...))
	default:
		return cli.Write(c.Stdout, table.Mermaid(record.Successors...))
	}
}
