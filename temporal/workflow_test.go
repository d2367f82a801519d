package temporal

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/machine"
)

// A workflow refuses replies only by what the store says, and not while it has to ask the store.
func TestAnswerable(t *testing.T) {
	for name, c := range map[string]struct {
		i       interpreter
		problem string
	}{
		"it waits for another":    {interpreter{State: State{Waits: []string{"other"}}}, `the run has no wait "w"`},
		"it waits for it":         {interpreter{State: State{Waits: []string{"w"}}}, ""},
		"it has ended":            {interpreter{State: State{Status: machine.StatusDone}}, "the run has ended"},
		"effects in progress":     {interpreter{flying: map[string]workflow.CancelFunc{"1/1": nil}}, ""},
		"the store is asked":      {interpreter{looking: true}, ""},
		"it will be asked":        {interpreter{look: true}, ""},
		"effects have no outcome": {interpreter{unclear: true}, ""},
	} {
		if err := c.i.answerable(nil, "w"); c.problem == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.problem, name)
		}
	}
}
