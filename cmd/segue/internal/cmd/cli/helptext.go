package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpColumns is how wide help texts are.
const HelpColumns = 80

// FitHelp makes the help texts of a command, and of those below it, fit a terminal of 80 columns.
// Examples stay as they are, so that they can be copied.
func FitHelp(cmd *cobra.Command) {
	cmd.Long = FitText(cmd.Long, HelpColumns)
	for _, child := range cmd.Commands() {
		FitHelp(child)
	}
}

// HelpUsage is the template of cobra for the usage of a command, with flags in groups that fit.
func HelpUsage(template string) string {
	local := "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	if !strings.Contains(template, local) {
		panic("cobra has another template for the usage of commands")
	}
	template = strings.Replace(template, local, "{{flagGroups .LocalFlags 80 | trimTrailingWhitespaces}}", 1)
	return strings.ReplaceAll(template, "FlagUsages ", fmt.Sprintf("FlagUsagesWrapped %d ", HelpColumns))
}

func init() { cobra.AddTemplateFunc("flagGroups", FlagGroups) }

// groupedFlags are the flags of commands that have many, by what they are about. A flag that is in
// no group comes last.
var groupedFlags = []struct {
	title string
	names []string
}{
	{"Task", []string{"agent", "config", "profile", "session", "source", "stdin", "strategy", "system", "file"}},
	{"Model", []string{"model", "api", "base-url", "policy", "idle-timeout"}},
	{"Files and approval", []string{"approve", "ask", "dir", "no-ask", "protect"}},
	{"Limits", []string{"max-steps"}},
	{"Evaluation", []string{"repeat", "parallel", "case", "variant", "against", "new", "require"}},
	{"Output", []string{"out", "junit", "markdown", "json", "output", "plain", "quiet", "verbose"}},
	{"Runs", []string{"store", "take-over"}},
}

// manyFlags is how many flags are shown in groups.
const manyFlags = 12

// FlagGroups describes flags, in groups if there are many.
func FlagGroups(all *pflag.FlagSet, columns int) string {
	count := 0
	all.VisitAll(func(*pflag.Flag) { count++ })
	if count < manyFlags {
		return "Flags:\n" + flagUsages(all, columns)
	}
	var shown []string
	grouped := map[string]bool{}
	show := func(title string, has func(*pflag.Flag) bool) {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.VisitAll(func(f *pflag.Flag) {
			if has(f) {
				group.AddFlag(f)
				grouped[f.Name] = true
			}
		})
		if group.HasAvailableFlags() {
			shown = append(shown, title+":\n"+flagUsages(group, columns))
		}
	}
	for _, g := range groupedFlags {
		show(g.title, func(f *pflag.Flag) bool { return slices.Contains(g.names, f.Name) })
	}
	show("Other", func(f *pflag.Flag) bool { return !grouped[f.Name] })
	return strings.Join(shown, "\n")
}

// valueNames are the names of what flags take in help texts, for flags of which the usage names
// none.
var valueNames = map[string]string{
	"base-url": "URL", "config": "FILE", "dir": "PATH", "protect": "GLOB", "system": "TEXT", "task": "TEXT", "tools": "FILE",
}

// flagUsages describes flags, by names of what they take that are no types of Go.
func flagUsages(flags *pflag.FlagSet, columns int) string {
	named := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		shown := *f
		if !strings.Contains(f.Usage, "`") {
			shown.Value = namedValue{f.Value, valueName(f)}
		}
		named.AddFlag(&shown)
	})
	return named.FlagUsagesWrapped(columns)
}

// valueName returns the name of what a flag takes.
func valueName(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "string", "stringArray", "stringSlice":
		return cmp.Or(valueNames[f.Name], "NAME")
	case "int", "int64", "uint", "uint64":
		return "N"
	default:
		return kind
	}
}

// namedValue is a value of a flag by another name of its type.
type namedValue struct {
	pflag.Value
	name string
}

// Type implements pflag.Value.
func (v namedValue) Type() string { return v.name }

// FitText breaks the lines of a text anew. Lines that begin with a letter are one paragraph up to a
// blank or an indented line. A line that is indented by two blanks is an entry of a list: a name,
// two blanks or more, and what it means; lines that are indented further go on with it.
func FitText(text string, columns int) string {
	var all []string
	var entry []string // the lines of a paragraph, or of an entry of a list
	end := func() {
		all = append(all, fitLines(entry, columns)...)
		entry = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		listed := strings.HasPrefix(line, "  ")
		goesOn := strings.HasPrefix(line, "   ") || !listed && len(entry) > 0 && !strings.HasPrefix(entry[0], " ")
		if line == "" || !goesOn {
			end()
		}
		if line == "" {
			all = append(all, "")
			continue
		}
		entry = append(entry, line)
	}
	end()
	return strings.Join(all, "\n")
}

// fitLines breaks the lines of a paragraph, or of an entry of a list, anew.
func fitLines(lines []string, columns int) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return len(l) > columns }) || len(lines) == 0 {
		return lines
	}
	first, indent := lines[0], ""
	if strings.HasPrefix(first, "  ") {
		indent = strings.Repeat(" ", meaningOf(first))
	}
	var fitted []string
	line := first[:len(indent)]
	for word := range strings.FieldsSeq(first[len(indent):] + " " + strings.Join(lines[1:], " ")) {
		switch {
		case strings.TrimSpace(line) == "" || len(line) == len(indent):
			line += word
		case len(line)+1+len(word) > columns:
			fitted = append(fitted, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(fitted, line)
}

// meaningOf returns where the meaning begins in an entry of a list: behind a name and two blanks or
// more; without a name where the text begins.
func meaningOf(line string) int {
	text := strings.TrimLeft(line, " ")
	begin := len(line) - len(text)
	if gap := strings.Index(text, "  "); gap > 0 {
		return begin + gap + len(text[gap:]) - len(strings.TrimLeft(text[gap:], " "))
	}
	return begin
}
