package config

import "github.com/segue-go/segue/orchestrator"

// LargeResults says what becomes of results of tools that are too large for a model. Without any of
// its fields they are cut.
type LargeResults struct {
	Keep int64 `json:"keep,omitempty" jsonschema:"most bytes of large results that are kept with a run; not given: 67108864 if show or max is given, else none are kept"`
	Show int   `json:"show,omitempty" jsonschema:"bytes that a model is shown of a larger result, at least 256; not given: 16384"`
	Max  int   `json:"max,omitempty" jsonschema:"most bytes that are kept of one result; not given: 16777216"`
}

// usualKept is how much is kept of a run if only the other bounds are given.
const usualKept = 64 << 20

// KeepLarge returns the bounds for the [orchestrator.Config].
func (f *File) KeepLarge() orchestrator.LargeResults {
	l := orchestrator.LargeResults{Keep: f.LargeResults.Keep, Show: f.LargeResults.Show, Max: f.LargeResults.Max}
	if l.Keep == 0 && f.LargeResults != (LargeResults{}) {
		l.Keep = usualKept
	}
	return l
}

// checkLarge finds bounds that make no sense.
func (c *Config) checkLarge() []Problem {
	var found []Problem
	for name, n := range map[string]int64{"keep": c.LargeResults.Keep, "max": int64(c.LargeResults.Max)} {
		if n < 0 {
			found = append(found, c.problem("/large_results/"+name, "must not be negative"))
		}
	}
	if n := c.LargeResults.Show; n != 0 && n < leastShown {
		found = append(found, c.problem("/large_results/show", "must be at least %d", leastShown))
	}
	return found
}

// leastShown is the least that a model is shown of a result.
const leastShown = 256
