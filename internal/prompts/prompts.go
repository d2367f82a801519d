// Package prompts holds the templates of texts for a model. A user's templates replace the
// defaults. All are executed once at set-up, so that errors in them are found early.
package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// Set is a set of parsed templates by name. It is safe for concurrent use.
type Set struct {
	pkg       string
	templates map[string]*template.Template
}

// Parse parses a struct of type P, whose fields are strings; the name of a field is that of its
// template. A field that is "" is replaced by the one in defaults. Each template is executed with
// the sample of its name, or else that of "", so that a wrong field name is an error; a nil sample
// is for a template without data. The error names pkg and every invalid template.
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

// Fill executes a template and removes surrounding blanks. The template was tested at set-up, so an
// error is rare: a user's template that fails on certain data.
func (s *Set) Fill(name string, data any) (string, error) {
	var b strings.Builder
	if err := s.templates[name].Execute(&b, data); err != nil {
		return "", fmt.Errorf("%s: prompt %s: %w", s.pkg, name, err)
	}
	return strings.TrimSpace(b.String()), nil
}
