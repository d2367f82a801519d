// Package config is about the configuration: segue config, agents and trust.
package config

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{configCommand(c), agentsCommand(c), trustCommand(c)}
}

func configCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and show a configuration, or write the JSON Schema of one",
		Long: `Config is about segue.yaml: models and agents by name, and rules that choose the agent of a task. segue run reads the first
of these:
  the file of --config; '' is none
  the file that SEGUE_CONFIG names
  your own, ` + cli.OwnConfigShown + ` (XDG_CONFIG_HOME says another folder than ~/.config)
  segue.yaml in the working folder or the nearest folder above, once you trust it; see segue trust
segue config show --origin says which it is, and what a run would use.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configCheckCommand(c), configShowCommand(c), &cobra.Command{
		Use:     "schema",
		Short:   "Write the JSON Schema of a configuration",
		Example: "  segue config schema > segue.schema.json",
		Args:    cli.NoArguments,
		RunE:    func(*cobra.Command, []string) error { return cli.Write(c.Stdout, string(config.Schema())+"\n") },
	})
	return cmd
}

// checkRecord is a configuration in the form json of segue config check.
type checkRecord struct {
	File     string        `json:"file"`
	Usable   bool          `json:"usable"`
	Tried    bool          `json:"tried"` // its prompts and schemas were tried, too
	Models   int           `json:"models"`
	Agents   int           `json:"agents"`
	Rules    int           `json:"rules"`
	Problems []faultRecord `json:"problems"`
	Warnings []faultRecord `json:"warnings"`
}

// faultRecord is a problem of a configuration.
type faultRecord struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Pointer string `json:"pointer"` // the JSON pointer of the value; "": the whole file
	Text    string `json:"text"`
}

func configCheckCommand(c *cli.CLI) *cobra.Command {
	f, strict := &cli.FileFlag{}, false
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say everything that is wrong with a configuration",
		Long: `Check reads a configuration and writes everything that is wrong with it to standard error, a line for each problem:
FILE:LINE:COLUMN: PATH: what is wrong. Then the exit code is 2. Nothing is asked, and no key is needed.

Variables of keys that are not set, and a default that is missing, are warnings: only with --strict they count as problems.`,
		Args: cli.AtMostOneFile,
		RunE: func(_ *cobra.Command, args []string) error { return checkConfig(c, f, args, strict, form.Value) },
	}
	f.Offer(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "let warnings count as problems")
	form.Offer(cmd, "output", "a text to read, or a JSON object with the problems")
	return cmd
}

// checkConfig executes segue config check.
func checkConfig(c *cli.CLI, f *cli.FileFlag, args []string, strict bool, form string) error {
	cfg, tried, err := c.ReadConfig(f, args)
	if e, ok := errors.AsType[*config.Error](err); ok {
		if err := writeProblems(c, checkRecord{File: e.Path}, e.Problems, false, form); err != nil {
			return err
		}
		return fmt.Errorf("%s cannot be used: %s", plaintext.Visible(e.Path), plaintext.Counted(len(e.Problems), "problem"))
	}
	if err != nil {
		return err
	}
	if !tried {
		c.Screen(cli.Output{}).Warn(plaintext.Visible(cfg.Path) + " was found and is not trusted: its prompts and schemas are not tried; name it to try them")
	}
	warnings := cfg.Warnings(c.Getenv)
	r := checkRecord{File: cfg.Path, Usable: true, Tried: tried, Models: len(cfg.Models), Agents: len(cfg.Agents), Rules: len(cfg.Rules)}
	if err := writeProblems(c, r, warnings, true, form); err != nil {
		return err
	}
	if strict && len(warnings) > 0 {
		return fmt.Errorf("%s has %s, and --strict lets none pass", plaintext.Visible(cfg.Path), plaintext.Counted(len(warnings), "warning"))
	}
	if form == cli.FormJSON {
		return nil
	}
	return cli.Write(c.Stdout, fmt.Sprintf("%s can be used: %s, %s, %s\n", plaintext.Visible(cfg.Path),
		plaintext.Counted(len(cfg.Models), "model"), plaintext.Counted(len(cfg.Agents), "agent"), plaintext.Counted(len(cfg.Rules), "rule")))
}

// writeProblems writes problems of a configuration, or warnings: for people to standard error, a
// line for each, as JSON to standard output.
func writeProblems(c *cli.CLI, r checkRecord, problems []config.Problem, warnings bool, form string) error {
	r.Problems, r.Warnings = []faultRecord{}, []faultRecord{}
	for _, p := range problems {
		fault := faultRecord{p.At.Line, p.At.Column, p.Pointer, p.Text}
		if warnings {
			r.Warnings = append(r.Warnings, fault)
			p.Text = "warning: " + p.Text
		} else {
			r.Problems = append(r.Problems, fault)
		}
		if form == cli.FormJSON {
			continue
		}
		if err := cli.Write(c.Stderr, plaintext.Visible(r.File)+":"+plaintext.OneLine(p.String())+"\n"); err != nil {
			return err
		}
	}
	if form == cli.FormJSON {
		return cli.Encode(c.Stdout, r)
	}
	return nil
}
