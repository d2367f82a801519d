package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
)

func trustCommand(c *cli.CLI) *cobra.Command {
	var list bool
	var remove string
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Trust a configuration that was found, and not named",
		Long: `Trust shows the servers that a configuration asks, the keys that it sends them, the MCP servers that it starts or asks, and what it
says of approval, and asks whether you trust it. FILE is the segue.yaml in the working folder or the nearest folder above.

A segue.yaml that was found there may be somebody else's, such as that of a repository. segue run uses it once you trust it, in
this place and as it is now: after a change it asks again, and shows what changed. What --config or SEGUE_CONFIG names, and your
own, need no trust.

Even one that is trusted cannot approve tool calls by itself, and cannot send the key of one server to another: OPENAI_API_KEY
goes to the server that OPENAI_BASE_URL names, or to OpenAI.

What is trusted is kept in ~/.local/state/segue/trust.json (XDG_STATE_HOME says another folder than ~/.local/state).`,
		Example: `  segue trust
  segue trust --list
  segue trust --remove segue.yaml`,
		Args: cli.AtMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case list:
				return listTrusted(c, form.Value)
			case form.Value == cli.FormJSON:
				return errors.New("--output json is for --list")
			case cmd.Flags().Changed("remove"):
				return removeTrusted(c, remove)
			default:
				return trustFile(cmd.Context(), c, strings.Join(args, ""))
			}
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list what is trusted, and whether it still is as it was")
	cmd.Flags().StringVar(&remove, "remove", "", "trust this `FILE` no more")
	cmd.MarkFlagsMutuallyExclusive("list", "remove")
	form.Offer(cmd, "output", "with --list: a text to read, or a JSON array of objects")
	_ = cmd.MarkFlagFilename("remove", "yaml", "yml") // the only error is an unknown flag
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	return cmd
}

// trustFile executes segue trust; "" means the file that is found.
func trustFile(ctx context.Context, c *cli.CLI, path string) error {
	if path == "" {
		found, err := locate.Find()
		if err != nil {
			return err
		}
		if found == "" {
			return errors.New("there is no " + locate.FileName + " here or in a folder above")
		}
		path = found
	}
	if filepath.Base(path) != locate.FileName {
		return fmt.Errorf("only a %s that is found needs trust; name %s with --config", locate.FileName, path)
	}
	cfg, err := locate.Place{Path: path, Origin: locate.Found}.Read()
	if err != nil {
		return err
	}
	r, err := trust.NewReview(cfg, c.Getenv)
	if err != nil {
		return err
	}
	s := c.Screen(cli.Output{})
	lines, err := r.Lines(terminal.SizeOf(c.Stderr).Columns - 1)
	if err != nil {
		return err
	}
	if r.Trusted() {
		s.Show(lines...)
		return nil
	}
	if !c.Interactive {
		s.Show(lines...)
		return errors.New("nobody can be asked here; run segue trust in a terminal, or name the file with --config")
	}
	return c.AskTrust(ctx, r, s)
}

// trustRecord is a configuration that is trusted, in the form json.
type trustRecord struct {
	File  string `json:"file"`
	State string `json:"state"` // trusted, or as it is no more: changed or unreadable
}

// listTrusted executes segue trust --list.
func listTrusted(c *cli.CLI, form string) error {
	store, err := trust.UserStore(c.Getenv)
	if err != nil {
		return err
	}
	record, err := store.Load()
	if err != nil {
		return err
	}
	all := []trustRecord{}
	for _, f := range record.Files {
		how := "trusted"
		switch text, err := regularfile.Read(f.Path, config.MaxSize); {
		case err != nil:
			how = "unreadable"
		case trust.FileOf(f.Path, text, "").SHA256 != f.SHA256:
			how = "changed"
		}
		all = append(all, trustRecord{f.Path, how})
	}
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%-10s  %s\n", r.State, plaintext.Visible(r.File))
	}
	return c.Print(form, all, b.String())
}

// removeTrusted executes segue trust --remove. The file need not exist any more.
func removeTrusted(c *cli.CLI, path string) error {
	whole, err := trust.Path(path)
	if err != nil {
		whole, err = filepath.Abs(path)
	}
	if err != nil {
		return err
	}
	store, err := trust.UserStore(c.Getenv)
	if err != nil {
		return err
	}
	return store.Remove(whole)
}
