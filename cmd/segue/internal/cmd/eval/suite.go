package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/eval"
)

// suite is a suite in a file; docs/evaluation.md describes it.
type suite struct {
	Suite    string        `json:"suite,omitempty"`
	Config   string        `json:"config,omitempty"`
	Repeat   int           `json:"repeat,omitempty"`
	Parallel int           `json:"parallel,omitempty"`
	MaxCost  float64       `json:"max_cost,omitempty"` // in dollars
	Defaults eval.Case     `json:"defaults,omitzero"`
	Variants []variantFile `json:"variants,omitempty"`
	Judge    judgeFile     `json:"judge,omitzero"`
	Require  float64       `json:"require,omitempty"`
	Allow    struct {
		Pass    float64  `json:"pass,omitempty"`
		Tokens  *float64 `json:"tokens,omitempty"`
		Cost    *float64 `json:"cost,omitempty"`
		Seconds *float64 `json:"seconds,omitempty"`
		Steps   *float64 `json:"steps,omitempty"`
	} `json:"allow,omitzero"`
	Cases []eval.Case `json:"cases"`
}

type variantFile struct {
	Name        string            `json:"name"`
	Agent       string            `json:"agent,omitempty"`
	Model       string            `json:"model,omitempty"`
	Policy      string            `json:"policy,omitempty"`
	Strategy    string            `json:"strategy,omitempty"`
	System      string            `json:"system,omitempty"`
	Temperature *float64          `json:"temperature,omitempty"`
	Limits      delegation.Limits `json:"limits,omitzero"`
}

type judgeFile struct {
	Agent  string `json:"agent"`
	Labels string `json:"labels,omitempty"`
}

// readSuite reads a suite in YAML, or cases in JSON Lines. The paths in it are then whole, or
// relative to the working folder.
func readSuite(path string) (s suite, err error) {
	within := func(name string) string {
		if name != "" && !filepath.IsAbs(name) {
			return filepath.Join(filepath.Dir(path), name)
		}
		return name
	}
	kind := filepath.Ext(path)
	if kind == ".jsonl" {
		s.Cases, err = readLines(path, eval.ReadCases)
	} else {
		s, err = readYAML(path, within)
	}
	if s.Suite == "" {
		s.Suite = strings.TrimSuffix(filepath.Base(path), kind)
	}
	if len(s.Variants) == 0 {
		s.Variants = []variantFile{{Name: "default"}}
	}
	s.Config, s.Judge.Labels = within(s.Config), within(s.Judge.Labels)
	return s, err
}

func readYAML(path string, within func(string) string) (s suite, err error) {
	doc, err := config.ReadDocument(path)
	if err != nil {
		return s, err
	}
	said, _ := doc.Value.(map[string]any)
	file, elsewhere := said["cases"].(string)
	if elsewhere {
		said["cases"] = []any{}
	}
	list, _ := said["cases"].([]any)
	for i := range list {
		list[i] = merged(said["defaults"], list[i])
	}
	if s, err = config.Decode[suite](doc); err == nil && elsewhere {
		s.Cases, err = readCases(within(file), said["defaults"])
	}
	return s, err
}

// readCases reads the cases of a file, with what the defaults say. Their tools stay as they are:
// models read parameters in their order.
func readCases(path string, defaults any) ([]eval.Case, error) {
	cases, err := readLines(path, eval.ReadCases)
	if err != nil || defaults == nil {
		return cases, err
	}
	for i, c := range cases {
		var own any
		if err := recode(c, &own); err != nil {
			return nil, err
		}
		var k eval.Case
		if err := recode(merged(defaults, own), &k); err != nil {
			return nil, err
		}
		copy(k.Tools[len(k.Tools)-len(c.Tools):], c.Tools)
		cases[i] = k
	}
	return cases, nil
}

// merged returns a value with what the defaults say: of objects each member, of lists both; else
// the value counts.
func merged(usual, own any) any {
	switch usual := usual.(type) {
	case map[string]any:
		if said, ok := own.(map[string]any); ok {
			all := maps.Clone(said)
			for key, value := range usual {
				all[key] = merged(value, said[key])
			}
			return all
		}
	case []any:
		if said, ok := own.([]any); ok {
			return slices.Concat(usual, said)
		}
	}
	if own == nil {
		return usual
	}
	return own
}

// recode decodes into a value what another one is as JSON.
func recode(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// readLines reads a file of JSON Lines.
func readLines[T any](path string, read func(io.Reader) ([]T, error)) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	all, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// keep keeps the cases and the variants whose names fit.
func (s *suite) keep(cases, variants string) error {
	fit, errC := regexp.Compile(cases)
	own, errV := regexp.Compile(variants)
	if err := errors.Join(errC, errV); err != nil {
		return fmt.Errorf("--case or --variant: %w", err)
	}
	s.Cases = slices.DeleteFunc(s.Cases, func(c eval.Case) bool { return !fit.MatchString(c.Name) })
	s.Variants = slices.DeleteFunc(s.Variants, func(v variantFile) bool { return !own.MatchString(v.Name) })
	if len(s.Cases) == 0 || len(s.Variants) == 0 {
		return errors.New("there is no such case, or no such variant")
	}
	return nil
}
