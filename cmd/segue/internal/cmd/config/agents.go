package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// agentRecord is an agent in the form json.
type agentRecord struct {
	Name        string   `json:"name"`
	Strategy    string   `json:"strategy"`
	Model       string   `json:"model"` // "" means the model of the environment, or none if executors do all of the work
	Description string   `json:"description"`
	Default     bool     `json:"default"`
	Children    []string `json:"children"`
	Successors  []string `json:"successors,omitempty"` // that it may hand over to
}

func agentsCommand(c *cli.CLI) *cobra.Command {
	f := &cli.FileFlag{}
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "agents [FILE]",
		Short: "List the agents of the configuration",
		Long: `Agents lists the agents of the configuration with their strategies, models and descriptions. The default is marked with *;
a model - is that of the environment, or none where executors do all of the work.`,
		Args: cli.AtMostOneFile,
	}
	f.Offer(cmd)
	form.Offer(cmd, "output", "a text to read, or a JSON array of objects")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		cfg, _, err := c.ReadConfig(f, args)
		if err != nil {
			return err
		}
		return listAgents(c, cfg, form.Value)
	}
	return cmd
}

func listAgents(c *cli.CLI, cfg *config.Config, form string) error {
	records := []agentRecord{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		a := cfg.Agents[name]
		r := agentRecord{
			Name: name, Strategy: a.StrategyName(), Model: cfg.ModelOf(a), Description: a.Description,
			Default: name == cfg.Default || len(cfg.Agents) == 1, Children: []string{}, Successors: a.HandsOffTo(),
		}
		for _, child := range a.Children {
			r.Children = append(r.Children, child.Agent)
		}
		records = append(records, r)
	}
	var rows []string
	for _, r := range records {
		mark := " "
		if r.Default {
			mark = "*"
		}
		rows = append(rows, fmt.Sprintf("%s %s\t%s\t%s\t%s", mark, r.Name, r.Strategy, cmp.Or(r.Model, "-"), plaintext.OneLine(r.Description)))
	}
	return c.Print(form, records, cli.Table(rows))
}
