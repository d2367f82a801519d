package checkpointtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
)

// The population of lists, and when some of it is due.
var (
	Population = population
	DueSoon    = dueSoon
	DueLate    = dueLate
)

// Broken makes the checks of those names, or all if there are none, and returns what they say.
func Broken(ctx context.Context, names []string, open func() checkpoint.Store) map[string]error {
	found := map[string]error{}
	for _, c := range checks {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		err := c.run(ctx, open())
		if _, without := errors.AsType[lacking](err); err != nil && !without {
			found[c.name] = err
		}
		cancel()
	}
	return found
}

// Checks returns the names of all checks.
func Checks() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Lacking returns what checks are skipped for, by their names. It panics if another fails.
func Lacking(ctx context.Context, open func() checkpoint.Store) map[string]string {
	found := map[string]string{}
	for _, c := range checks {
		err := c.run(ctx, open())
		if without, ok := errors.AsType[lacking](err); ok {
			found[c.name] = without.Error()
		} else if err != nil {
			panic(err)
		}
	}
	return found
}

// ModelOf drives a store as Model does.
func ModelOf(t rapid.TB, s checkpoint.Store) { model(t, s) }

// FoundFaults makes the checks of Faults, and returns what they say.
func FoundFaults(ctx context.Context, open func() Faulty) map[string]error {
	found := map[string]error{}
	for _, f := range faults {
		err := f.run(ctx, open())
		if _, without := errors.AsType[lacking](err); err != nil && !without {
			found[f.name] = err
		}
	}
	for name := range open().DamageStands {
		if err := damagedStand(ctx, open(), name); err != nil {
			found["damaged stand"] = err
		}
	}
	for name := range open().Damages {
		for _, seq := range damagedPlaces {
			if err := damaged(ctx, open(), name, seq); err != nil {
				found["damage"] = err
			}
		}
	}
	return found
}
