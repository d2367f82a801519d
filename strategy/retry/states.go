package retry

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready      strategy.State = "ready"
	Attempting strategy.State = "attempting" // the output of the strategy that is tried
	Done       strategy.State = "done"
	Failed     strategy.State = "failed"
)

// The triggers: what happened.
const (
	started   strategy.Trigger = "started"
	retried   strategy.Trigger = "retried" // the attempt failed, and there is another
	succeeded strategy.Trigger = "succeeded"
	failed    strategy.Trigger = "failed"
)

// capRetries is the cap of the table; see Config.MaxRetries.
const capRetries = "retries"

// Table is the state machine of this strategy.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Attempting, Awaits: nextstep.KindDelegate},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{Ready}, On: started, To: Attempting},
		{From: []strategy.State{Attempting}, On: retried, To: Attempting, Cap: capRetries},
		{From: []strategy.State{Attempting}, On: succeeded, To: Done},
		{From: []strategy.State{Ready, Attempting}, On: failed, To: Failed},
	},
}
