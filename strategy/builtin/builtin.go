// Package builtin makes the built-in strategies by name, from JSON. The JSON of a strategy is that
// of its package's Config: a field is its json tag. Functions cannot be said in JSON; for those,
// use the packages.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Spec is a strategy to make.
type Spec struct {
	Strategy string          `json:"strategy"`         // one of Names, or an alias
	Config   json.RawMessage `json:"config,omitempty"` // nil: {}
}

// Set makes a set of strategies, each under a name of its own. The error names every Spec that
// cannot be used.
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

// All makes all of them, with their zero Configs, under their names and their aliases.
func All() strategy.Set {
	set := strategy.Set{}
	for _, m := range makers {
		factory, err := m.make("{}")
		if err != nil {
			continue // every zero Config is useful: a test shows it
		}
		set[m.name] = factory
	}
	for alias, name := range aliases {
		set[alias] = set[name]
	}
	return set
}

// New returns a factory for the strategy of a name, or of an alias, from the JSON of its Config.
// The error is a [*strategy.UnknownError] that lists the names; a [*tools.ArgumentError] with the
// path of each key that is unknown, of the wrong type, or undoes what the name says ([ToolFirst],
// [LLMOnly]); or what the strategy itself has against its Config.
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

// check returns what a strategy has against its Config.
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

// Aliases returns the other names, and what each stands for.
func Aliases() map[string]string { return maps.Clone(aliases) }

// Schema returns the JSON Schema of the Config of a strategy; nil if there is none of that name.
func Schema(name string) json.RawMessage {
	m, ok := find(name)
	if !ok {
		return nil
	}
	return m.schema()
}

// Table returns the state machine of a strategy; nil if there is none of that name.
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
	make   func(config string) (func() strategy.Strategy, error)
}

// promise checks that a Config of type C leaves what the name of a preset says, and returns where
// it does not.
type promise[C any] func(C) []tools.Problem

// of returns the maker of a strategy with a Config of type C; preset is what an empty Config says.
func of[C any](name string, table *strategy.Table, build func(C) func() strategy.Strategy, preset C, kept ...promise[C]) maker {
	reader := sync.OnceValue(func() tools.Tool { // a program needs few of them
		return tools.New(tools.Definition{Name: "config"}, func(context.Context, C) (string, error) { return "", nil })
	})
	return maker{
		name: name, table: table, schema: func() json.RawMessage { return reader().Definition().Parameters },
		make: func(config string) (func() strategy.Strategy, error) {
			if _, err := reader().Call(context.Background(), config); err != nil { // which says where it is wrong
				return nil, named(err, name)
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

// over returns the preset with what a config says in its place, each field whole: fields within
// fields are not mixed.
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

// named makes an error about the arguments of a tool one about the config of a strategy.
func named(err error, name string) error {
	if e, ok := errors.AsType[*tools.ArgumentError](err); ok {
		e.Tool = "the config of " + name
		return e
	}
	return fmt.Errorf("builtin: config of %s: %w", name, err)
}
