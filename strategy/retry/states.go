package retry

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                     = frame.Ready
	Attempting strategy.State = "attempting" // the output of the strategy that is tried
	Done                      = frame.Done
	Failed                    = frame.Failed
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	retried   strategy.Trigger = "retried" // the attempt failed, and there is another
	succeeded strategy.Trigger = "succeeded"
)

// capRetries is the cap of the table; see Config.MaxRetries.
const capRetries = "retries"

// Table is the state machine of this strategy.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: Attempting, Awaits: nextstep.KindDelegate},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: Attempting},
		{From: frame.In(Attempting), On: retried, To: Attempting, Cap: capRetries},
		{From: frame.In(Attempting), On: succeeded, To: Done},
	},
)
