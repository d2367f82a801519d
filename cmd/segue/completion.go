package main

import (
	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// wordCompletion has the command for completions, which cobra makes, speak as the others do, and
// refuse a shell that it does not know.
func wordCompletion(root *cobra.Command) {
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	cmd.Use = "completion SHELL"
	cmd.Short = "Write the completions for a shell"
	cmd.Long = "Completion writes a script by which a shell completes commands, flags, and what flags take: names of agents, models, strategies, conversations and runs. The help of each shell says where the script goes."
	cmd.Args = cli.KnownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range cmd.Commands() {
		shell.Short = "Write the completions for " + shell.Name()
		shell.Args = cli.NoArguments
		if f := shell.Flags().Lookup("no-descriptions"); f != nil {
			f.Usage = "names alone, without what they mean"
		}
	}
}
