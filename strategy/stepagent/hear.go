package stepagent

import "github.com/segue-go/segue/strategy"

var _ strategy.Listener = (*stepAgent)(nil)

// Heard returns the notes that came for the run since the step before, in the order in which they
// came; see [strategy.Listener]. A note that comes during a step is one of the next step. Notes
// that no step has seen are in the metadata of the output, as "unused_notes".
func (s Step) Heard() []string { return s.heard }
