package stepagent

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                    = frame.Ready
	Planning  strategy.State = "planning"  // a plan
	Asking    strategy.State = "asking"    // the reply that a step asked for
	Executing strategy.State = "executing" // the results of a step's calls
	Done                     = frame.Done
	Limited                  = frame.Limited // out of iterations: an error, with the work done so far
	Failed                   = frame.Failed
)

// The triggers name what happened.
const (
	due      strategy.Trigger = "due"     // a plan should be made
	asked    strategy.Trigger = "asked"   // a step asks a model
	reasked  strategy.Trigger = "reasked" // the same step asks again
	called   strategy.Trigger = "called"  // a step calls tools
	gaveUp   strategy.Trigger = "gave_up"
	finished strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxIterations and Config.MaxAsks.
const (
	capIterations = "iterations"
	capAsks       = "asks"
)

// Table is the state machine of this strategy. An iteration whose step needs no effect happens
// within one state.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: Planning, Awaits: nextstep.KindGetChatCompletion},
		{Name: Asking, Awaits: nextstep.KindGetChatCompletion},
		{Name: Executing, Awaits: nextstep.KindExecuteTools},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: due, To: Planning},
		{From: frame.In(Ready, Planning), On: asked, To: Asking},
		{From: frame.In(Ready, Planning, Asking), On: called, To: Executing},
		{From: frame.In(Asking), On: reasked, To: Asking, Cap: capAsks},
		{From: frame.In(Planning, Asking, Executing), On: due, To: Planning, Cap: capIterations},
		{From: frame.In(Asking, Executing), On: asked, To: Asking, Cap: capIterations},
		{From: frame.In(Executing), On: called, To: Executing, Cap: capIterations},
		{From: frame.In(Ready, Planning, Asking, Executing), On: gaveUp, To: Limited},
		{From: frame.In(Ready, Planning, Asking, Executing), On: finished, To: Done},
	},
)
