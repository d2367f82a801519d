package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/segue-go/segue/internal/similar"
)

// NoArguments returns an error if a command has arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, and got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

// AtMostOneFile returns an error if a command has more than one argument, the FILE.
func AtMostOneFile(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return fmt.Errorf("%s takes one FILE, and got %d; see %s --help", cmd.Name(), len(args), cmd.CommandPath())
}

// FlagError says in words what is wrong with a flag, and where the flags are described.
func FlagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		what := "--" + e.GetFlag().Name + " takes " + taken(e.GetFlag())
		hint := ""
		if c, ok := e.GetFlag().Value.(*Choice); ok {
			hint = similar.Hint(e.GetValue(), c.Words)
		}
		err = fmt.Errorf("%s, not %q%s", what, e.GetValue(), hint)
	} else if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		err = fmt.Errorf("%s needs a value", dashed(e.GetSpecifiedName()))
	} else if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		err = fmt.Errorf("there is no flag %s%s", dashed(e.GetSpecifiedName()), meantFlag(cmd, err))
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// dashed returns the name of a flag as it is written: a letter behind one dash, a word behind two.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// taken says what a flag takes.
func taken(f *pflag.Flag) string {
	if c, ok := f.Value.(*Choice); ok {
		return Listed(c.Words)
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a time such as 90s or 5m"
	default:
		return "another value"
	}
}

// Listed joins words: "a, b or c".
func Listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// exclusive is how cobra says that flags exclude each other.
var exclusive = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// InOurWords says in words what cobra says about groups of flags, for which it has no types.
func InOurWords(err error) error {
	if err == nil {
		return nil
	}
	m := exclusive.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	flags := strings.Fields(m[1])
	slices.Sort(flags)
	for i, name := range flags {
		flags[i] = "--" + name
	}
	return fmt.Errorf("%s exclude each other: give one of them", strings.Join(flags, " and "))
}

// KnownCommand returns an error for an unknown command.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var near string
	cmd.SuggestionsMinimumDistance = 2 // maximum of different letters
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		near = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return fmt.Errorf("no command %q%s; see %s --help", args[0], near, cmd.CommandPath())
}

// meantFlag returns a question about the flag that was meant, if an error is about one that a
// command does not have.
func meantFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := similar.Nearest(unknown.GetSpecifiedName(), names)
	if near == "" {
		return ""
	}
	return "; did you mean --" + near + "?"
}
