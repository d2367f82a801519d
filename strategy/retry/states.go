package retry

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	attempting strategy.State = "attempting" // the output of the strategy that is tried
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
		{Name: attempting, Awaits: nextstep.KindDelegate},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: attempting},
		{From: frame.In(attempting), On: retried, To: attempting, Cap: capRetries},
		{From: frame.In(attempting), On: succeeded, To: frame.Done},
	},
)
