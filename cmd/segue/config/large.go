package config

import "github.com/segue-go/segue/orchestrator"

// LargeResults says what becomes of results of tools that are too large for a model. Without any of
// its fields they are kept if an agent uses MCP servers, else they are cut.
type LargeResults struct {
	Keep *int64 `json:"keep,omitempty" jsonschema:"most bytes of large results that are kept with a run; 0: none are kept; not given: 67108864 if show or max is given or an agent uses MCP servers, else none are kept"`
	Show int    `json:"show,omitempty" jsonschema:"bytes that a model is shown of a larger result, at least 256; not given: 16384"`
	Max  int    `json:"max,omitempty" jsonschema:"most bytes that are kept of one result; not given: 16777216"`
}

// usualKept is how much is kept of a run if the file does not say how much.
const usualKept = 64 << 20

// KeepLarge returns the bounds for the [orchestrator.Config].
func (f *File) KeepLarge() orchestrator.LargeResults {
	l := orchestrator.LargeResults{Show: f.LargeResults.Show, Max: f.LargeResults.Max}
	switch {
	case f.LargeResults.Keep != nil:
		l.Keep = *f.LargeResults.Keep
	case f.LargeResults != (LargeResults{}) || f.usesMCP():
		l.Keep = usualKept
	}
	return l
}

// usesMCP reports whether an agent uses MCP servers, whose results can have any size.
func (f *File) usesMCP() bool {
	for _, a := range f.Agents {
		if len(a.MCP) > 0 {
			return true
		}
	}
	return false
}

// leastShown is the least that a model is shown of a result.
const leastShown = 256
