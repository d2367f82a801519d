// Package config checks the Configs of the built-in strategies and fills in their defaults. What
// several of them have to know of a field while they run stands here too, once.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/segue-go/segue/tools"
)

// Or returns v, or otherwise if v is zero.
func Or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Count is a bound from a Config: zero means the default, negative means none.
func Count(n, otherwise int) int { return max(0, Or(n, otherwise)) }

// OneOf checks a choice in a field of a package's Config; an empty one becomes the first.
func OneOf[C ~string](pkg, field string, c *C, allowed ...C) error {
	*c = Or(*c, allowed[0])
	if slices.Contains(allowed, *c) {
		return nil
	}
	return fmt.Errorf("%s: %s: %q is not one of %q", pkg, field, *c, allowed)
}

// Distinct checks names in a field of a package's Config: none may stand there twice.
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

// Tools returns those of the tools that a frame may use that a Config names in its field Tools, in
// the order of the names; nil names mean all. The error says which there are not, or which are
// named twice; such are returned once.
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

// Prompt is the template of something that a strategy says to a model.
type Prompt struct {
	Name    string
	Text    string // from the Config; "" means Default
	Default string
	Sample  any // what it is tried on, so that a field that does not exist is found at set-up; nil: a prompt without data
}

// Prompts are templates by name.
type Prompts struct {
	pkg       string
	templates map[string]*template.Template
}

// Parse parses the prompts of a package's Config, and tries each.
func Parse(pkg string, prompts ...Prompt) (*Prompts, error) {
	p := &Prompts{pkg: pkg, templates: map[string]*template.Template{}}
	var problems []error
	for _, prompt := range prompts {
		t, err := template.New(prompt.Name).Option("missingkey=error").Parse(Or(prompt.Text, prompt.Default))
		if err == nil {
			err = t.Execute(&strings.Builder{}, prompt.Sample)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: Prompts: %w", pkg, err))
		}
		p.templates[prompt.Name] = t
	}
	return p, errors.Join(problems...)
}

// Fill fills in a prompt. It was tried at set-up, so an error is rare: data that a template of the
// user's cannot take.
func (p *Prompts) Fill(name string, data any) (string, error) {
	var b strings.Builder
	if err := p.templates[name].Execute(&b, data); err != nil {
		return "", fmt.Errorf("%s: prompt %s: %w", p.pkg, name, err)
	}
	return strings.TrimSpace(b.String()), nil
}
