package completetask

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                        = frame.Ready
	AwaitingModel strategy.State = "awaiting_model" // a reply, with or without calls
	AwaitingTools strategy.State = "awaiting_tools" // the results of the calls
	Concluding    strategy.State = "concluding"     // the last reply, requested without tools
	Done                         = frame.Done
	Limited                      = frame.Limited // out of model calls: an error, with the work done so far
	Failed                       = frame.Failed
)

// The triggers name what happened.
const (
	started     strategy.Trigger = "started"
	called      strategy.Trigger = "called"      // the model called tools
	answered    strategy.Trigger = "answered"    // the tools answered
	reasked     strategy.Trigger = "reasked"     // the reply was not an answer, and the model is told why
	unforced    strategy.Trigger = "unforced"    // the provider refuses a forced tool choice: ask again without one
	unformatted strategy.Trigger = "unformatted" // the provider refuses a response format: ask again with the final tool
	noted       strategy.Trigger = "noted"       // the model has answered, and is asked again because of a note
	handed      strategy.Trigger = "handed_over" // the model hands the conversation over to another strategy
	exhausted   strategy.Trigger = "exhausted"   // no model call with tools is left
	concluded   strategy.Trigger = "concluded"
	gaveUp      strategy.Trigger = "gave_up"
	finished    strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxModelCalls, Config.MaxRetries, Config.OnRefusedChoice and
// Config.Answer.
const (
	capRounds      = "rounds"
	capRetries     = "retries"
	capUnforced    = "unforced"    // once in a run, if a choice is forced
	capUnformatted = "unformatted" // once in a run, if an answer of a schema may be requested in either way
)

// Table is the state machine of this strategy.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: AwaitingModel, Awaits: nextstep.KindGetChatCompletion},
		{Name: AwaitingTools, Awaits: nextstep.KindExecuteTools},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: AwaitingModel},
		{From: frame.In(AwaitingModel), On: called, To: AwaitingTools},
		{From: frame.In(AwaitingTools), On: answered, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(AwaitingModel), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(AwaitingModel), On: unforced, To: AwaitingModel, Cap: capUnforced},
		{From: frame.In(AwaitingModel), On: unformatted, To: AwaitingModel, Cap: capUnformatted},
		{From: frame.In(AwaitingModel), On: noted, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(AwaitingTools), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingTools), On: gaveUp, To: Limited},
		{From: frame.In(Concluding), On: concluded, To: Limited},
		{From: frame.In(AwaitingModel), On: handed, To: Done},
		{From: frame.In(AwaitingModel), On: finished, To: Done},
	},
	AwaitingTools, // a call that fails has a result like any other
)
