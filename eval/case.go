package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Case is something that an agent is to do, and what shows that it was done. A trial of a case
// passes if everything that the case expects holds. A Case is read-only once it is in use.
type Case struct {
	Name    string            `json:"name,omitempty"`    // unique in a suite
	Goal    string            `json:"goal,omitempty"`    // as in delegation.Input
	History messages.History  `json:"history,omitempty"` // the conversation before the goal, as messages.History has it in JSON
	Files   map[string]string `json:"files,omitzero"`    // texts by their paths in the folder of the trial
	Tools   []Tool            `json:"tools,omitempty"`   // tools of this case alone
	Limits  delegation.Limits `json:"limits,omitzero"`   // of each trial; zero fields are those of the variant
	Tags    []string          `json:"tags,omitempty"`

	// Calls are calls of tools that have to be made, by whichever strategy of the run. Tools that a
	// strategy brings itself, such as that for its plan, do not count. Each matches a call of its
	// own. Ordered says that they come in this order; Only, that no other call is
	// made; Forbid names tools that must not be called at all.
	Calls   []Call   `json:"calls,omitempty"`
	Ordered bool     `json:"ordered,omitempty"`
	Only    bool     `json:"only,omitempty"`
	Forbid  []string `json:"forbid,omitempty"`

	Answer *Answer `json:"answer,omitempty"`
	Judge  string  `json:"judge,omitempty"` // a criterion for the Judge of the suite
	Score  Scorer  `json:"-"`               // besides; may be nil
}

// Tool is a tool that has one result, whatever its arguments are.
type Tool struct {
	tools.Definition
	Returns *string `json:"returns,omitempty"` // nil: the trial ends once the calls of the reply are made
}

// Call is an expected call. Arguments that are not said are free.
type Call struct {
	Tool      string                     `json:"tool"`
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"` // equal to these, by value
	Schema    json.RawMessage            `json:"schema,omitempty"`    // a JSON Schema of all arguments
}

// Answer says what the answer has to be. Everything that is given must hold.
type Answer struct {
	Equals  *string         `json:"equals,omitempty"`  // blanks before and behind do not count
	Matches []string        `json:"matches,omitempty"` // regular expressions of Go, each of which matches a part
	Lacks   []string        `json:"lacks,omitempty"`   // those of which none does
	Schema  json.RawMessage `json:"schema,omitempty"`  // the answer is JSON that fits this JSON Schema
}

// MaxCase is the most bytes that a case has as JSON.
const MaxCase = 16 << 20

// ReadCases reads cases as JSON Lines: an object a line. Empty lines do not count. An error names
// the line.
func ReadCases(r io.Reader) ([]Case, error) { return readLines[Case](r) }

func readLines[T any](r io.Reader) ([]T, error) {
	var all []T
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxCase)
	n := 1
	for ; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var one T
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil {
			return nil, fmt.Errorf("eval: line %d: %w%s", n, err, meantKey(err, reflect.TypeFor[T]()))
		}
		if d.More() {
			return nil, fmt.Errorf("eval: line %d: more than one object", n)
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("eval: line %d: %w", n, err)
	}
	return all, nil
}

// meantKey returns a question about the key of a type that somebody may have meant by an unknown
// one.
func meantKey(err error, t reflect.Type) string {
	_, key, unknown := strings.Cut(err.Error(), "unknown field ")
	if !unknown {
		return ""
	}
	return similar.Hint(strings.Trim(key, `"`), keysOf(t))
}

// keysOf returns the keys of a type, and of the types of this package within it.
func keysOf(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(append(keys, key), keysOf(f.Type)...)
	}
	return keys
}

// checked is a case with what its expectations are compiled to.
type checked struct {
	Case
	digest         string // of the case as JSON
	calls          []*tools.Schema
	matches, lacks []*regexp.Regexp
	answer         *tools.Schema
}

// check compiles the expectations of a case.
func check(c Case) (*checked, error) {
	k := checked{Case: c}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	k.digest = digest(data)
	var problems []error
	if c.Name == "" {
		problems = append(problems, errors.New("it has no name"))
	}
	if c.Goal == "" && len(c.History) == 0 {
		problems = append(problems, errors.New("it has neither a goal nor a history"))
	}
	if c.expectsNothing() {
		problems = append(problems, errors.New("it expects nothing: say calls, only, forbid, answer or judge"))
	}
	for i, call := range c.Calls {
		s, err := call.compile()
		if err != nil {
			problems = append(problems, fmt.Errorf("calls[%d]: %w", i, err))
		}
		k.calls = append(k.calls, s)
	}
	if a := c.Answer; a != nil {
		var errs [3]error
		k.matches, errs[0] = compileAll("answer.matches", a.Matches)
		k.lacks, errs[1] = compileAll("answer.lacks", a.Lacks)
		if a.Schema != nil {
			k.answer, errs[2] = tools.CompileSchema(a.Schema)
		}
		problems = append(problems, errs[:]...)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("eval: case %q: %w", c.Name, err)
	}
	return &k, nil
}

func (c *Case) expectsNothing() bool {
	return len(c.Calls) == 0 && !c.Only && len(c.Forbid) == 0 && c.Answer == nil && c.Judge == "" && c.Score == nil
}

// compile returns a schema of the arguments.
func (c *Call) compile() (*tools.Schema, error) {
	if c.Tool == "" {
		return nil, errors.New("it names no tool")
	}
	equal := map[string]any{}
	required := []string{}
	for name, value := range c.Arguments {
		equal[name] = map[string]any{"const": value}
		required = append(required, name)
	}
	schema := map[string]any{"type": "object", "properties": equal, "required": required}
	if c.Schema != nil {
		schema["allOf"] = []any{c.Schema}
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	return tools.CompileSchema(data)
}

func compileAll(place string, patterns []string) (all []*regexp.Regexp, err error) {
	for i, p := range patterns {
		compiled, wrong := regexp.Compile(p)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s[%d]: %w", place, i, wrong))
		}
		all = append(all, compiled)
	}
	return all, err
}

// made returns the tool, which is never called in earnest.
func (t Tool) made() tools.Tool {
	return tools.NewRaw(t.Definition, func(ctx context.Context, _ string) (string, error) {
		if t.Returns != nil {
			return *t.Returns, nil
		}
		return "", tools.Suspend(ctx, nil, tools.Question{Text: "the trial ends here"})
	})
}

// waits reports whether a trial may end at a call.
func (c *Case) waits() bool {
	for _, t := range c.Tools {
		if t.Returns == nil {
			return true
		}
	}
	return false
}

// scoreCalls scores the calls that were made.
func (k *checked) scoreCalls(made []messages.ToolCall) (Score, bool) {
	if len(k.Calls) == 0 && !k.Only && len(k.Forbid) == 0 {
		return Score{}, false
	}
	s := Score{Name: "calls"}
	switch forbidden, missing := k.forbidden(made), k.missing(made); {
	case forbidden != "":
		s.Why = "called " + forbidden + ", which is forbidden"
	case missing >= 0:
		s.Why = "no call of " + k.Calls[missing].Tool + " as expected"
		if k.Ordered {
			s.Why += " at its place"
		}
	case k.Only && len(made) > len(k.Calls):
		s.Why = fmt.Sprintf("%d calls, and not only the %d that are expected", len(made), len(k.Calls))
	default:
		s.Value = 1
	}
	return s, true
}

func (k *checked) forbidden(made []messages.ToolCall) string {
	for _, m := range made {
		for _, name := range k.Forbid {
			if m.Name == name {
				return name
			}
		}
	}
	return ""
}

// missing returns the index of an expected call that no made call is left for, or -1.
func (k *checked) missing(made []messages.ToolCall) int {
	if k.Ordered {
		next := 0
		for _, m := range made {
			if next < len(k.Calls) && k.fits(next, m) {
				next++
			}
		}
		if next < len(k.Calls) {
			return next
		}
		return -1
	}
	taken := make([]int, len(made)) // by which expected call, from 1
	for want := range k.Calls {
		if !k.place(want, made, taken, make([]bool, len(made))) {
			return want
		}
	}
	return -1
}

// place finds a made call for an expected one; an expected call that had it takes another, as in
// the augmenting paths of bipartite matching.
func (k *checked) place(want int, made []messages.ToolCall, taken []int, seen []bool) bool {
	for i, m := range made {
		if seen[i] || !k.fits(want, m) {
			continue
		}
		seen[i] = true
		if taken[i] == 0 || k.place(taken[i]-1, made, taken, seen) {
			taken[i] = want + 1
			return true
		}
	}
	return false
}

func (k *checked) fits(want int, m messages.ToolCall) bool {
	arguments := m.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return k.Calls[want].Tool == m.Name && k.calls[want].Check(arguments) == nil
}

// scoreAnswer scores the answer.
func (k *checked) scoreAnswer(text string) (Score, bool) {
	if k.Answer == nil {
		return Score{}, false
	}
	s := Score{Name: "answer"}
	if want := k.Answer.Equals; want != nil && strings.TrimSpace(text) != strings.TrimSpace(*want) {
		s.Why = "it is not " + *want
		return s, true
	}
	for i, m := range k.matches {
		if !m.MatchString(text) {
			s.Why = "nothing matches " + k.Answer.Matches[i]
			return s, true
		}
	}
	for _, l := range k.lacks {
		if found := l.FindString(text); found != "" {
			s.Why = "it holds " + found
			return s, true
		}
	}
	if k.answer != nil {
		if err := k.answer.Check(text); err != nil {
			s.Why = err.Error()
			return s, true
		}
	}
	s.Value = 1
	return s, true
}
