package stepagent

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready     strategy.State = "ready"
	Planning  strategy.State = "planning"  // a plan
	Asking    strategy.State = "asking"    // the reply that a step asked for
	Executing strategy.State = "executing" // the results of a step's calls
	Done      strategy.State = "done"
	Limited   strategy.State = "limited" // out of iterations: an error, with what was reached
	Failed    strategy.State = "failed"
)

// The triggers: what happened.
const (
	due      strategy.Trigger = "due"     // a plan is to be made
	asked    strategy.Trigger = "asked"   // a step asks a model
	reasked  strategy.Trigger = "reasked" // the same step asks again
	called   strategy.Trigger = "called"  // a step calls tools
	gaveUp   strategy.Trigger = "gave_up"
	finished strategy.Trigger = "finished"
	failed   strategy.Trigger = "failed"
)

// The caps of the table; see Config.MaxIterations and Config.MaxAsks.
const (
	capIterations = "iterations"
	capAsks       = "asks"
)

func in(states ...strategy.State) []strategy.State { return states }

// Table is the state machine of this strategy. An iteration whose step wants nothing of the outside
// passes within a state.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Planning, Awaits: nextstep.KindGetChatCompletion},
		{Name: Asking, Awaits: nextstep.KindGetChatCompletion},
		{Name: Executing, Awaits: nextstep.KindExecuteTools},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Limited, Awaits: nextstep.KindReportError},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: in(Ready), On: due, To: Planning},
		{From: in(Ready, Planning), On: asked, To: Asking},
		{From: in(Ready, Planning, Asking), On: called, To: Executing},
		{From: in(Asking), On: reasked, To: Asking, Cap: capAsks},
		{From: in(Planning, Asking, Executing), On: due, To: Planning, Cap: capIterations},
		{From: in(Asking, Executing), On: asked, To: Asking, Cap: capIterations},
		{From: in(Executing), On: called, To: Executing, Cap: capIterations},
		{From: in(Ready, Planning, Asking, Executing), On: gaveUp, To: Limited},
		{From: in(Ready, Planning, Asking, Executing), On: finished, To: Done},
		{From: in(Ready, Planning, Asking, Executing), On: failed, To: Failed},
	},
}
