package main

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

// noArguments returns an error if a command has arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, and got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

// atMostOneFile returns an error if a command has more than one argument, the FILE.
func atMostOneFile(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return fmt.Errorf("%s takes one FILE, and got %d; see %s --help", cmd.Name(), len(args), cmd.CommandPath())
}

// flagError says in words what is wrong with a flag, and where the flags are described.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		what := "--" + e.GetFlag().Name + " takes " + taken(e.GetFlag())
		hint := ""
		if c, ok := e.GetFlag().Value.(*choice); ok {
			hint = similar.Hint(e.GetValue(), c.words)
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
	if c, ok := f.Value.(*choice); ok {
		return listed(c.words)
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

// listed joins words: "a, b or c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// exclusive is how cobra says that flags exclude each other.
var exclusive = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// inOurWords says in words what cobra says about groups of flags, for which it has no types.
func inOurWords(err error) error {
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
