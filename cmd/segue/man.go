package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// manColumns is how wide the text of a man page is on a terminal of 80 columns.
const manColumns = 72

// manCommand returns segue man, for the commands below root.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the man pages into a folder",
		Long: `Man writes the man pages of segue and of its commands into a folder, which is made if need be. Then man finds them, if it looks
there.`,
		Example: `  segue man ~/.local/share/man/man1
  man segue-run`,
		Args: cli.OneArgument("FOLDER"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("cannot make the folder of the man pages: %w", err)
			}
			if err := writePages(root, args[0], manualDate()); err != nil {
				return cli.Failed(fmt.Errorf("cannot write the man pages: %w", err))
			}
			return nil
		},
	}
}

// manualDate is the date that pages bear: that of SOURCE_DATE_EPOCH, or else today.
func manualDate() string {
	date := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0)
	}
	return date.UTC().Format("Jan 2006")
}

// writePages writes a page for a command, and one for each below it.
func writePages(cmd *cobra.Command, folder, date string) error {
	cmd.InitDefaultHelpFlag()
	name := pageName(cmd)
	if err := os.WriteFile(filepath.Join(folder, name+".1"), []byte(page(cmd, name, date)), 0o644); err != nil {
		return err
	}
	for _, child := range cmd.Commands() {
		if !child.IsAvailableCommand() {
			continue
		}
		if err := writePages(child, folder, date); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the page of a command, in roff.
func page(cmd *cobra.Command, name, date string) string {
	var b strings.Builder
	write := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format, args...) }
	write(".nh\n.TH %q \"1\" %q \"segue\" \"Segue\"\n", strings.ToUpper(name), date)
	write(".SH NAME\n%s - %s\n.SH SYNOPSIS\n\\fB%s\\fP\n", name, roff(cmd.Short), roff(cmd.UseLine()))
	about := strings.ReplaceAll(cli.FitText(cmp.Or(cmd.Long, cmd.Short), manColumns), "#### ", "") // cobra's headings
	write(".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(about))
	flags := strings.TrimRight(cli.FlagGroups(cmd.LocalFlags(), manColumns), "\n")
	write(".SH OPTIONS\n.EX\n%s\n.EE\n", roff(flags))
	if cmd.HasExample() {
		write(".SH EXAMPLE\n.EX\n%s\n.EE\n", roff(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")[1:]))
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, pageName(cmd.Parent()))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			others = append(others, pageName(child))
		}
	}
	write(".SH SEE ALSO\n\\fB%s(1)\\fP\n", strings.Join(others, "(1)\\fP, \\fB"))
	return b.String()
}

// roff keeps roff from reading a meaning into lines.
func roff(lines string) string {
	lines = "\n" + strings.ReplaceAll(lines, `\`, `\e`)
	return strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'").Replace(lines)[1:]
}
