package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

func versionCommand(c *cli.CLI) *cobra.Command {
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say what was built, and of what",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			if form.Value == cli.FormJSON {
				return cli.Encode(c.Stdout, cli.NewVersionRecord(info))
			}
			return cli.Write(c.Stdout, cli.VersionText(info))
		},
	}
	form.Offer(cmd, "output", "a text to read, or a JSON object")
	return cmd
}
