// Package builtin makes the built-in strategies by name, from JSON. The JSON of a strategy is the
// JSON form of the Config of its package. JSON cannot express functions; to set those, use the
// packages directly.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Spec describes a strategy to make.
type Spec struct {
	Strategy string          `json:"strategy"`         // one of Names, or an alias
	Config   json.RawMessage `json:"config,omitempty"` // nil: {}
}

// Set makes a set of strategies, each under its own name. The error names every invalid Spec.
func Set(specs map[string]Spec) (strategy.Set, error) {
	set := strategy.Set{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		factory, err := New(specs[name].Strategy, specs[name].Config)
		if err != nil {
			problems = append(problems, fmt.Errorf("builtin: %q: %w", name, err))
			continue
		}
		set[name] = factory
	}
	return set, errors.Join(problems...)
}

// All makes all built-in strategies, with their zero Configs, under their names and their aliases.
func All() strategy.Set {
	set := strategy.Set{}
	for _, m := range makers {
		factory, err := m.make("{}")
		if err != nil {
			continue // every zero Config is valid, as a test shows
		}
		set[m.name] = factory
	}
	for alias, name := range aliases {
		set[alias] = set[name]
	}
	return set
}

// New returns a factory for the strategy with this name or alias, from the JSON of its Config. The
// error is one of three. A [*strategy.UnknownError] lists the known names. A [*tools.ArgumentError]
// gives the path of each key that is unknown, has the wrong type, or contradicts the name
// ([ToolFirst], [LLMOnly]). Any other error comes from the strategy itself and describes its
// Config.
func New(name string, config json.RawMessage) (func() strategy.Strategy, error) {
	m, ok := find(name)
	if !ok {
		return nil, &strategy.UnknownError{Name: name, Known: append(Names(), slices.Sorted(maps.Keys(aliases))...)}
	}
	text := string(config)
	if strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "null" {
		text = "{}"
	}
	return m.make(text)
}

// check returns the error of a strategy about its Config.
func check(st strategy.Strategy) error {
	if c, ok := st.(strategy.Checker); ok {
		return c.Check()
	}
	return nil
}

// Names returns the names of the strategies, sorted.
func Names() []string {
	names := make([]string, 0, len(makers))
	for _, m := range makers {
		names = append(names, m.name)
	}
	slices.Sort(names)
	return names
}

// Aliases returns the aliases, and the name that each stands for.
func Aliases() map[string]string { return maps.Clone(aliases) }

// Schema returns the JSON Schema of the Config of a strategy, or nil if the name is unknown.
func Schema(name string) json.RawMessage {
	m, ok := find(name)
	if !ok {
		return nil
	}
	return m.schema()
}

// Keys returns the keys of the Config of a strategy, sorted, or nil if the name is unknown: the
// properties of its [Schema], which takes longer to make.
func Keys(name string) []string {
	m, ok := find(name)
	if !ok {
		return nil
	}
	return m.keys()
}

// Table returns the state machine of a strategy, or nil if the name is unknown. Those of package
// workflow depend on the Config: it returns that of an example.
func Table(name string) *strategy.Table {
	m, ok := find(name)
	if !ok {
		return nil
	}
	return m.table
}

func find(name string) (maker, bool) {
	if real, ok := aliases[name]; ok {
		name = real
	}
	for _, m := range makers {
		if m.name == name {
			return m, true
		}
	}
	return maker{}, false
}

// maker makes a strategy from the JSON of its Config.
type maker struct {
	name   string
	table  *strategy.Table
	schema func() json.RawMessage
	keys   func() []string
	make   func(config string) (func() strategy.Strategy, error)
}

// promise checks that a Config of type C does not contradict the name of a preset, and returns
// where it does.
type promise[C any] func(C) []tools.Problem

// of returns the maker of a strategy with a Config of type C; preset is the Config for empty JSON.
func of[C any](name string, table *strategy.Table, build func(C) func() strategy.Strategy, preset C, kept ...promise[C]) maker {
	reader := sync.OnceValue(func() tools.Tool { // only few are needed in a program
		return tools.New(tools.Definition{Name: "config"}, func(context.Context, C) (string, error) { return "", nil })
	})
	return maker{
		name: name, table: table, schema: func() json.RawMessage { return reader().Definition().Parameters },
		keys: func() []string { return keysOf(reflect.TypeFor[C]()) },
		make: func(config string) (func() strategy.Strategy, error) {
			if config != "{}" { // the zero Config is valid, and making a reader takes longer than all the rest
				if _, err := reader().Call(context.Background(), config); err != nil { // its error says where it is wrong
					return nil, named(err, name)
				}
			}
			cfg, err := over(preset, config)
			if err != nil {
				return nil, fmt.Errorf("builtin: config of %s: %w", name, err)
			}
			factory := build(cfg)
			if err := check(factory()); err != nil {
				return nil, err
			}
			var broken []tools.Problem
			for _, p := range kept {
				broken = append(broken, p(cfg)...)
			}
			if broken != nil {
				return nil, named(&tools.ArgumentError{Problems: broken}, name)
			}
			return factory, nil
		},
	}
}

// keysOf returns the names of the members of the JSON of a struct type, sorted.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// over returns the preset with the fields of a config in place of its own. Each field is replaced
// as a whole: inner fields are not merged.
func over[C any](preset C, config string) (C, error) {
	var cfg C
	var fields, said map[string]json.RawMessage
	text, err := json.Marshal(preset)
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &fields), json.Unmarshal([]byte(config), &said))
	}
	if err != nil {
		return cfg, err
	}
	maps.Copy(fields, said)
	if text, err = json.Marshal(fields); err == nil {
		err = json.Unmarshal(text, &cfg)
	}
	return cfg, err
}

// named converts an error about the arguments of a tool to one about the config of a strategy.
func named(err error, name string) error {
	if e, ok := errors.AsType[*tools.ArgumentError](err); ok {
		e.Tool = "the config of " + name
		return e
	}
	return fmt.Errorf("builtin: config of %s: %w", name, err)
}
