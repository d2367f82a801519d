package checkpointtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
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
