package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpColumns is how wide help texts are.
const helpColumns = 80

// fitHelp makes the help texts of a command, and of those below it, fit a terminal of 80 columns.
// Examples stay as they are, so that they can be copied.
func fitHelp(cmd *cobra.Command) {
	cmd.Long = fitText(cmd.Long)
	for _, child := range cmd.Commands() {
		fitHelp(child)
	}
}

// helpUsage is the template of cobra for the usage of a command, with flags that fit.
func helpUsage(template string) string {
	return strings.ReplaceAll(template, "FlagUsages", "FlagUsagesWrapped 80")
}

// fitText breaks the lines of a text anew. Lines that begin with a letter are one paragraph up to a
// blank or an indented line. A line that is indented by two blanks is an entry of a list: a name,
// two blanks or more, and what it means; lines that are indented further go on with it.
func fitText(text string) string {
	var all []string
	var entry []string // the lines of a paragraph, or of an entry of a list
	end := func() {
		all = append(all, fitLines(entry)...)
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
func fitLines(lines []string) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return len(l) > helpColumns }) || len(lines) == 0 {
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
		case len(line)+1+len(word) > helpColumns:
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
