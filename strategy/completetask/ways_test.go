package completetask_test

import (
	"testing"

	"github.com/segue-go/segue/strategytest"
)

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, "../../testdata/stories/completetask", set) }
