// Package prompts holds the templates of what is said to a model. A user's own take the place of
// the defaults, and all are tried once, so that a mistake in one is found at set-up.
package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// Set is parsed templates by name. It may be used from any number of goroutines.
type Set struct {
	pkg       string
	templates map[string]*template.Template
}

// Parse parses a struct of type P, whose fields are strings: the name of a field is that of its
// template. A field that is "" takes its text from defaults. Each template is tried on the sample
// of its name, or else that of "", so that a field of the data that does not exist is an error; nil
// is for a template without data. The error names pkg and every template that cannot be used.
func Parse[P any](pkg string, own, defaults P, samples map[string]any) (*Set, error) {
	s := &Set{pkg: pkg, templates: map[string]*template.Template{}}
	var problems []error
	texts, otherwise := reflect.ValueOf(own), reflect.ValueOf(defaults)
	for i := range texts.NumField() {
		name := texts.Type().Field(i).Name
		t, err := template.New(name).Option("missingkey=error").Parse(cmp.Or(texts.Field(i).String(), otherwise.Field(i).String()))
		sample, named := samples[name]
		if !named {
			sample = samples[""]
		}
		if err == nil {
			err = t.Execute(&strings.Builder{}, sample)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: Prompts: %w", pkg, err))
		}
		s.templates[name] = t
	}
	return s, errors.Join(problems...)
}

// Fill fills in a template, without blanks around it. It was tried at set-up, so an error is rare:
// data that a template of the user's cannot take.
func (s *Set) Fill(name string, data any) (string, error) {
	var b strings.Builder
	if err := s.templates[name].Execute(&b, data); err != nil {
		return "", fmt.Errorf("%s: prompt %s: %w", s.pkg, name, err)
	}
	return strings.TrimSpace(b.String()), nil
}
