// Package models is about models and what they write: segue models, doctor, parse and policies.
package models

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/llmclient"
)

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{modelsCommand(c), doctorCommand(c), parseCommand(c), policiesCommand(c)}
}

func modelsCommand(c *cli.CLI) *cobra.Command {
	f := &serverFlags{all: true}
	cmd := &cobra.Command{
		Use:   "models [WORD]...",
		Short: "List the models of the server",
		Long: `Models lists the models of the server that segue run would ask, those with each
WORD in their name, with their context in tokens and their price in dollars per
million tokens of input and output, where they are known. The context, and some
prices, are what the server says. The model that segue run would ask is marked
with *.`,
		Example: `  segue models
  segue models mini --output json
  segue models --base-url https://openrouter.ai/api/v1 claude`,
		RunE: func(cmd *cobra.Command, args []string) error { return listModels(cmd.Context(), c, f, args) },
	}
	f.offer(c, cmd)
	return cmd
}

// listModels executes segue models.
func listModels(ctx context.Context, c *cli.CLI, f *serverFlags, words []string) error {
	cfg, err := serverAsked(ctx, c, f)
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	all, err := doctor.Models(ctx, cfg)
	if ctx.Err() != nil {
		return errGivenUp
	}
	if failure, ok := errors.AsType[*doctor.ListError](err); ok {
		return &cli.ExitError{Code: cli.ExitProvider, Err: fmt.Errorf("cannot list the models of %s: %w; segue doctor says more", doctor.Shown(cfg.Client.BaseURL), failure)}
	}
	if err != nil {
		return err
	}
	list := []doctor.Model{}
	for _, m := range all {
		if hasAll(m.ID, words) {
			list = append(list, m)
		}
	}
	switch {
	case f.form.Value == cli.FormJSON:
	case len(all) == 0:
		c.Screen(cli.Output{}).Warn("the server lists no models")
	case len(list) == 0:
		c.Screen(cli.Output{}).Warn("none of the " + plaintext.Counted(len(all), "model") + " of the server has " + strings.Join(words, " and ") + " in its name")
	}
	return c.Print(f.form.Value, list, modelTable(list, cfg.Client.Model))
}

// hasAll reports whether a name has each word, in capitals or not.
func hasAll(name string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(strings.ToLower(name), strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// modelTable returns a table of models. The model that is asked is marked.
func modelTable(list []doctor.Model, asked string) string {
	var rows []string
	for _, m := range list {
		mark := " "
		if m.ID == asked {
			mark = "*"
		}
		tokens := "-"
		if m.Context > 0 {
			tokens = plaintext.Thousands(m.Context)
		}
		rows = append(rows, fmt.Sprintf("%s %s\t%s\t%s", mark, plaintext.OneLine(m.ID), tokens, priceShown(m.Price)))
	}
	return cli.Table(rows)
}

// priceShown returns a price in dollars per million tokens of input and of output.
func priceShown(p *llmclient.Price) string {
	if p == nil {
		return "-"
	}
	return "$" + strconv.FormatFloat(p.Input, 'f', -1, 64) + " / $" + strconv.FormatFloat(p.Output, 'f', -1, 64)
}
