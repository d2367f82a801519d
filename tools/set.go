package tools

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/segue-go/segue/internal/guard"
)

// definitionError is an error in the definition of a tool.
type definitionError struct {
	name string // the name of the tool, as given
	err  error
}

func (e *definitionError) Error() string {
	return fmt.Sprintf("tools: tool %.64q: %s", e.name, guard.Bare(e.err))
}

func (e *definitionError) Unwrap() error { return e.err }

var (
	errNoFunction = errors.New("no function: give it the function to call")
	errNoTool     = errors.New("nil: leave it out")
	errName       = errors.New(`a name is 1 to 64 of letters, digits, "_" and "-"`)
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// Set holds tools by name. A Set is immutable and safe for concurrent use. A nil *Set is empty.
type Set struct {
	tools  []Tool
	defs   []Definition
	names  []string
	byName map[string]int
}

// NewSet returns a set of tools. It calls Definition once for each tool. It reports all errors, not
// only the first: a tool that is nil or a nil pointer, has an invalid name, has parameters that are
// not a JSON Schema of type object, or fails its Check; and two tools with the same name.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools), byName: make(map[string]int, len(tools))}
	var problems []error
	for i, t := range tools {
		if t == nil {
			problems = append(problems, &definitionError{name: fmt.Sprintf("#%d", i), err: errNoTool})
			continue
		}
		def, err := define(t)
		if err != nil {
			problems = append(problems, &definitionError{name: fmt.Sprintf("#%d", i), err: err})
			continue
		}
		s.defs, s.names = append(s.defs, def), append(s.names, def.Name)
		if err := checkTool(t, def); err != nil {
			problems = append(problems, err)
		}
		if first, taken := s.byName[def.Name]; taken {
			problems = append(problems, fmt.Errorf("tools: tools %d and %d have the same name, %q: rename one", first, i, def.Name))
			continue
		}
		s.byName[def.Name] = i
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	slices.Sort(s.names)
	s.defs, s.names = slices.Clip(s.defs), slices.Clip(s.names)
	return s, nil
}

// define calls Definition. A Tool that holds a nil pointer is not nil, and panics here.
func define(t Tool) (def Definition, err error) {
	defer func() {
		if recover() == nil {
			return
		}
		if err = fmt.Errorf("the Definition of a %T panics", t); isNil(t) {
			err = fmt.Errorf("a nil %T: make one, or leave it out", t)
		}
	}()
	return t.Definition(), nil
}

func isNil(t Tool) bool {
	v := reflect.ValueOf(t)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func checkTool(t Tool, def Definition) error {
	if !namePattern.MatchString(def.Name) {
		return &definitionError{name: def.Name, err: errName}
	}
	if err := checkChain(t); err != nil {
		if _, ok := errors.AsType[*definitionError](err); ok {
			return err
		}
		return &definitionError{name: def.Name, err: err}
	}
	if def.Parameters == nil {
		return nil
	}
	if _, err := compileParameters(def.Parameters); err != nil {
		return &definitionError{name: def.Name, err: err}
	}
	return nil
}

// checkChain calls Check of a tool and of the tools that it wraps.
func checkChain(t Tool) error {
	for t != nil {
		if c, ok := t.(interface{ Check() error }); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
		w, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
	return nil
}

// Lookup returns the tool with that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	if s == nil {
		return nil, false
	}
	i, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

// Names returns the names, sorted. The set owns the slice: it is read-only.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Definitions returns the definitions in the order of the arguments of NewSet. The set owns the
// slice: it is read-only.
func (s *Set) Definitions() []Definition {
	if s == nil {
		return nil
	}
	return s.defs
}
