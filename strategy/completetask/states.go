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
	Compacting                   = frame.Compacting // a summary of old messages
	Concluding                   = frame.Concluding // the last reply, requested without tools
	Done                         = frame.Done
	Limited                      = frame.Limited // out of model calls: an error, with the work done so far
	Failed                       = frame.Failed
)

// The triggers name what happened.
const (
	started     strategy.Trigger = "started"
	called      strategy.Trigger = "called"      // the model called tools
	answered    strategy.Trigger = "answered"    // the tools answered
	searched    strategy.Trigger = "searched"    // the model searched for tools, and called no other
	lastSearch  strategy.Trigger = "last_search" // it did so when no model call with tools is left
	reasked     strategy.Trigger = "reasked"     // the reply was not an answer, and the model is told why
	unforced    strategy.Trigger = "unforced"    // the provider refuses a forced tool choice: ask again without one
	unformatted strategy.Trigger = "unformatted" // the provider refuses a response format: ask again with the final tool
	noted       strategy.Trigger = "noted"       // the model has answered, and is asked again because of a note
	handed      strategy.Trigger = "handed_over" // the model hands the conversation over to another strategy
	exhausted                    = frame.Exhausted
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
		{Name: Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: AwaitingModel},
		{From: frame.In(AwaitingModel), On: called, To: AwaitingTools},
		{From: frame.In(AwaitingTools), On: answered, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(AwaitingModel), On: searched, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(AwaitingModel), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(AwaitingModel), On: unforced, To: AwaitingModel, Cap: capUnforced},
		{From: frame.In(AwaitingModel), On: unformatted, To: AwaitingModel, Cap: capUnformatted},
		{From: frame.In(AwaitingModel), On: lastSearch, To: Concluding},
		{From: frame.In(AwaitingModel), On: noted, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(AwaitingTools), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingModel, AwaitingTools), On: gaveUp, To: Limited},
		{From: frame.In(Ready, AwaitingModel, AwaitingTools), On: frame.Filled, To: Compacting, Cap: frame.CapSummaries},
		{From: frame.In(Compacting), On: started, To: AwaitingModel},
		{From: frame.In(Compacting), On: answered, To: AwaitingModel, Cap: capRounds},
		{From: frame.In(Compacting), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(Compacting), On: frame.Shortened, To: AwaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(Compacting), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingModel), On: frame.Trimmed, To: AwaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: frame.Trimmed, To: Concluding, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: concluded, To: Limited},
		{From: frame.In(AwaitingModel), On: handed, To: Done},
		{From: frame.In(AwaitingModel), On: finished, To: Done},
	},
	AwaitingTools, // a call that fails has a result like any other
	Compacting,    // without a summary old messages are left out
)
