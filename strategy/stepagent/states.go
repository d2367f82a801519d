package stepagent

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	planning  strategy.State = "planning"  // a plan
	asking    strategy.State = "asking"    // the reply that a step asked for
	executing strategy.State = "executing" // the results of a step's calls
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
		{Name: planning, Awaits: nextstep.KindGetChatCompletion},
		{Name: asking, Awaits: nextstep.KindGetChatCompletion},
		{Name: executing, Awaits: nextstep.KindExecuteTools},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: due, To: planning},
		{From: frame.In(frame.Ready, planning), On: asked, To: asking},
		{From: frame.In(frame.Ready, planning, asking), On: called, To: executing},
		{From: frame.In(asking), On: reasked, To: asking, Cap: capAsks},
		{From: frame.In(planning, asking, executing), On: due, To: planning, Cap: capIterations},
		{From: frame.In(asking, executing), On: asked, To: asking, Cap: capIterations},
		{From: frame.In(executing), On: called, To: executing, Cap: capIterations},
		{From: frame.In(frame.Ready, planning, asking, executing), On: gaveUp, To: frame.Limited},
		{From: frame.In(frame.Ready, planning, asking, executing), On: finished, To: frame.Done},
	},
)
