package frame

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/tools"
)

// Count returns a limit of a Config: zero means the default, negative means none.
func Count(n, otherwise int) int { return max(0, cmp.Or(n, otherwise)) }

// OneOf checks a choice in a field of a package's Config. An empty choice is set to the first.
func OneOf[C ~string](pkg, field string, c *C, allowed ...C) error {
	*c = cmp.Or(*c, allowed[0])
	if slices.Contains(allowed, *c) {
		return nil
	}
	return fmt.Errorf("%s: %s: %q is not one of %q", pkg, field, *c, allowed)
}

// Distinct checks names in a field of a package's Config: none may occur twice.
func Distinct(pkg, field string, names []string) error {
	var twice []string
	for i, name := range names {
		if slices.Contains(names[:i], name) && !slices.Contains(twice, name) {
			twice = append(twice, name)
		}
	}
	if twice != nil {
		return fmt.Errorf("%s: %s: names %q more than once: leave out all but one", pkg, field, twice)
	}
	return nil
}

// Tools returns the tools of a frame that a Config names in its field Tools, in the order of the
// names; nil names mean all. The error lists the missing names and the repeated ones. A tool that
// is named twice is returned once.
func Tools(pkg string, may []tools.Definition, names []string) ([]tools.Definition, error) {
	if names == nil {
		return may, nil
	}
	var chosen []tools.Definition
	var missing []string
	twice := Distinct(pkg, "Tools", names)
	for _, name := range names {
		at := slices.IndexFunc(may, func(d tools.Definition) bool { return d.Name == name })
		if at < 0 {
			missing = append(missing, name)
			continue
		}
		if !slices.ContainsFunc(chosen, func(d tools.Definition) bool { return d.Name == name }) {
			chosen = append(chosen, may[at])
		}
	}
	if missing != nil {
		return chosen, errors.Join(twice, fmt.Errorf("%s: may not use the tools %q: the run has none of that name, or the frame may not use them", pkg, missing))
	}
	return chosen, twice
}
