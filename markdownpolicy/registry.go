package markdownpolicy

import (
	"fmt"
	"slices"
	"strings"
)

// builtins are the policies by name, the default first.
var builtins = []struct {
	name  string
	build func(Options) Policy
}{
	{"fenced", func(o Options) Policy { return Fenced{o} }},
	{"xml", func(o Options) Policy { return XML{o} }},
	{"react", func(o Options) Policy { return ReAct{o} }},
	{"hermes", func(o Options) Policy { return Hermes{Options: o} }},
	{"llama", func(o Options) Policy { return Llama{o} }},
	{"pythonic", func(o Options) Policy { return Pythonic{o} }},
	{"mistral", func(o Options) Policy { return Mistral{o} }},
}

// Names returns the names of the built-in policies, the default first.
func Names() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	return names
}

// New returns the built-in policy of that name; "" is the default. The error is an [*UnknownError].
func New(name string, o Options) (Policy, error) {
	for _, b := range builtins {
		if b.name == name || name == "" {
			return b.build(o), nil
		}
	}
	return nil, &UnknownError{Name: name, Known: Names()}
}

// UnknownError says that there is no policy of some name.
type UnknownError struct {
	Name  string
	Known []string
}

// Error lists the policies that there are.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("markdownpolicy: there is no policy %q; there are: %s", e.Name, strings.Join(slices.Clone(e.Known), ", "))
}
