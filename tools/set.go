package tools

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/segue-go/segue/internal/guard"
)

// DefinitionError says what is wrong with the definition of a tool.
type DefinitionError struct {
	Name string // of the tool, as it was given
	Err  error
}

// Error names the tool and what is wrong.
func (e *DefinitionError) Error() string {
	return fmt.Sprintf("tools: tool %.64q: %s", e.Name, guard.Bare(e.Err))
}

// Unwrap returns what is wrong.
func (e *DefinitionError) Unwrap() error { return e.Err }

// DuplicateError says that two tools of a [Set] have one name.
type DuplicateError struct {
	Name          string
	First, Second int // their places in the arguments of NewSet
}

// Error names the tools.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("tools: tools %d and %d have the same name, %q: rename one", e.First, e.Second, e.Name)
}

var (
	errNoFunction = errors.New("no function: give it the one that a call runs")
	errNoTool     = errors.New("nil: leave it out")
	errName       = errors.New(`a name is 1 to 64 of letters, digits, "_" and "-"`)
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// Set is tools by their names. It never changes, and is safe for concurrent use. A nil *Set is
// empty.
type Set struct {
	tools  []Tool
	defs   []Definition
	names  []string
	byName map[string]int
}

// NewSet returns a set of tools. It asks each for its Definition once. It fails, naming every tool
// concerned, with a [*DefinitionError] for a tool that is nil or a nil pointer, has a bad name, has
// parameters that are no JSON Schema of type object, or whose Check fails; and with a
// [*DuplicateError] for two tools of one name.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools), byName: make(map[string]int, len(tools))}
	var problems []error
	for i, t := range tools {
		if t == nil {
			problems = append(problems, &DefinitionError{Name: fmt.Sprintf("#%d", i), Err: errNoTool})
			continue
		}
		def, err := define(t)
		if err != nil {
			problems = append(problems, &DefinitionError{Name: fmt.Sprintf("#%d", i), Err: err})
			continue
		}
		s.defs, s.names = append(s.defs, def), append(s.names, def.Name)
		if err := checkTool(t, def); err != nil {
			problems = append(problems, err)
		}
		if first, taken := s.byName[def.Name]; taken {
			problems = append(problems, &DuplicateError{Name: def.Name, First: first, Second: i})
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

// define asks a tool for its Definition. A nil pointer in a Tool is not nil, and panics when it is
// asked.
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
		return &DefinitionError{Name: def.Name, Err: errName}
	}
	if err := checkChain(t); err != nil {
		if _, ok := errors.AsType[*DefinitionError](err); ok {
			return err
		}
		return &DefinitionError{Name: def.Name, Err: err}
	}
	if def.Parameters == nil {
		return nil
	}
	if _, err := compileParameters(def.Parameters); err != nil {
		return &DefinitionError{Name: def.Name, Err: err}
	}
	return nil
}

// checkChain asks a tool, and what it wraps, whether they are put together rightly.
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

// Lookup returns the tool of that name.
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

// Names returns the names, sorted. The slice is the set's own: read-only.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Definitions returns the definitions in the order in which the tools were given. The slice is the
// set's own: read-only.
func (s *Set) Definitions() []Definition {
	if s == nil {
		return nil
	}
	return s.defs
}

// Len returns the number of tools.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}
