package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/internal/similar"
)

// suiteFile is a suite in a file. C is a list of cases, or the name of a file with them.
type suiteFile[C any] struct {
	Suite    string        `json:"suite,omitempty"`
	Config   string        `json:"config,omitempty"`
	Repeat   int           `json:"repeat,omitempty"`
	Parallel int           `json:"parallel,omitempty"`
	MaxCost  float64       `json:"max_cost,omitempty"` // in dollars
	Defaults eval.Case     `json:"defaults,omitzero"`
	Variants []variantFile `json:"variants,omitempty"`
	Judge    judgeFile     `json:"judge,omitzero"`
	Require  float64       `json:"require,omitempty"`
	Allow    eval.Allowed  `json:"allow,omitempty"`
	Cases    C             `json:"cases"`
}

// suite is a suite that was read.
type suite = suiteFile[[]eval.Case]

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

// maxSuite is the most bytes of a suite in YAML.
const maxSuite = 16 << 20

// readSuite reads a suite in YAML, or cases in JSON Lines. Paths in it are made relative to the
// working folder.
func readSuite(path string) (*suite, error) {
	s, name := &suite{}, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	var err error
	if filepath.Ext(path) == ".jsonl" {
		s.Cases, err = readLines(path, eval.ReadCases)
	} else {
		s, err = readYAML(path)
	}
	if err != nil {
		return nil, err
	}
	if s.Suite == "" {
		s.Suite = name
	}
	if len(s.Variants) == 0 {
		s.Variants = []variantFile{{Name: "default"}}
	}
	for _, p := range []*string{&s.Config, &s.Judge.Labels} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(path), *p)
		}
	}
	for name := range s.Allow {
		if !slices.Contains(eval.Measures(), name) {
			return nil, fmt.Errorf("%s: allow: there is no measure %q%s", path, name, similar.Hint(name, eval.Measures()))
		}
	}
	return s, nil
}

func readYAML(path string) (*suite, error) {
	text, err := regularfile.Read(path, maxSuite)
	if err != nil {
		return nil, fmt.Errorf("cannot read the suite: %w", err)
	}
	doc, err := config.ReadDocument(path, text)
	if err != nil {
		return nil, err
	}
	said, _ := doc.Value.(map[string]any)
	raw, listed := said["cases"].([]any)
	s := &suite{}
	if _, elsewhere := said["cases"].(string); elsewhere {
		var of suiteFile[string]
		if of, err = config.Decode[suiteFile[string]](doc); err == nil {
			file := of.Cases
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(path), file)
			}
			if said["cases"], err = readLines(file, eval.ReadCases); err == nil {
				err = recode(said, s)
			}
		}
	} else {
		*s, err = config.Decode[suite](doc)
	}
	if err != nil || said["defaults"] == nil {
		return s, err
	}
	if !listed {
		if err := recode(s.Cases, &raw); err != nil {
			return nil, err
		}
	}
	for i := range raw {
		raw[i] = merged(said["defaults"], raw[i])
	}
	s.Cases = nil
	return s, recode(raw, &s.Cases)
}

// merged returns a value of a case with what the defaults say: of objects each member, of lists
// both; else the case counts.
func merged(usual, own any) any {
	switch usual := usual.(type) {
	case map[string]any:
		if said, ok := own.(map[string]any); ok {
			all := map[string]any{}
			for key, value := range said {
				all[key] = value
			}
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
		return nil, fmt.Errorf("cannot read the cases: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	all, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// choose keeps the cases and the variants whose names fit.
func choose(s *suite, cases, variants string) error {
	fits := func(flag, pattern string) (func(string) bool, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		return func(name string) bool { return !re.MatchString(name) }, nil
	}
	drop, err := fits("case", cases)
	if err != nil {
		return err
	}
	s.Cases = slices.DeleteFunc(s.Cases, func(c eval.Case) bool { return drop(c.Name) })
	if drop, err = fits("variant", variants); err != nil {
		return err
	}
	s.Variants = slices.DeleteFunc(s.Variants, func(v variantFile) bool { return drop(v.Name) })
	if len(s.Cases) == 0 || len(s.Variants) == 0 {
		return errors.New("no case or no variant has such a name")
	}
	return nil
}
