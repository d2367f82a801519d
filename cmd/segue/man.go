package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

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
		RunE: func(_ *cobra.Command, args []string) error { return writeManual(root, args[0]) },
	}
}

// writeManual writes a page for each command. It changes the commands. The pages bear the date of
// SOURCE_DATE_EPOCH, or else of today.
func writeManual(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot make the folder of the man pages: %w", err)
	}
	root.DisableAutoGenTag = true
	markUp(root)
	err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "segue", Manual: "Segue"}, folder)
	if err != nil {
		return cli.Failed(fmt.Errorf("cannot write the man pages: %w", err))
	}
	return nil
}

// markUp makes the texts of a command, and of those below it, Markdown, from which the pages are
// made.
func markUp(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	flags := strings.TrimRight(cli.FlagGroups(cmd.LocalFlags(), manColumns), "\n")
	cmd.Long = markedUp(cmd.Long) + "\n# OPTIONS\n\n    " + strings.ReplaceAll(flags, "\n", "\n    ")
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // the library describes them by types of Go
	cmd.Example = strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")[1:]
	for _, child := range cmd.Commands() {
		markUp(child)
	}
}

// literally keeps Markdown from reading a meaning into a text.
var literally = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "`", "\\`")

// markedUp returns a help text as Markdown: a paragraph is one line, and indented lines stay as
// they are.
func markedUp(text string) string {
	var all []string
	inside := false // of a paragraph
	for line := range strings.SplitSeq(cli.FitText(text, manColumns), "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case line == "":
			all, inside = append(all, ""), false
		case indented && inside:
			all, inside = append(all, "", "    "+line), false
		case indented:
			all = append(all, "    "+line)
		case inside:
			all[len(all)-1] += " " + literally.Replace(line)
		default:
			all, inside = append(all, literally.Replace(line)), true
		}
	}
	return strings.Join(all, "\n")
}
