package completetask

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	awaitingModel strategy.State = "awaiting_model" // a reply, with or without calls
	awaitingTools strategy.State = "awaiting_tools" // the results of the calls
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
		{Name: awaitingModel, Awaits: nextstep.KindGetChatCompletion},
		{Name: awaitingTools, Awaits: nextstep.KindExecuteTools},
		{Name: frame.Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: frame.Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: awaitingModel},
		{From: frame.In(awaitingModel), On: called, To: awaitingTools},
		{From: frame.In(awaitingTools), On: answered, To: awaitingModel, Cap: capRounds},
		{From: frame.In(awaitingModel), On: searched, To: awaitingModel, Cap: capRounds},
		{From: frame.In(awaitingModel), On: reasked, To: awaitingModel, Cap: capRetries},
		{From: frame.In(awaitingModel), On: unforced, To: awaitingModel, Cap: capUnforced},
		{From: frame.In(awaitingModel), On: unformatted, To: awaitingModel, Cap: capUnformatted},
		{From: frame.In(awaitingModel), On: lastSearch, To: frame.Concluding},
		{From: frame.In(awaitingModel), On: noted, To: awaitingModel, Cap: capRounds},
		{From: frame.In(awaitingTools), On: exhausted, To: frame.Concluding},
		{From: frame.In(awaitingModel, awaitingTools), On: gaveUp, To: frame.Limited},
		{From: frame.In(frame.Ready, awaitingModel, awaitingTools), On: frame.Filled, To: frame.Compacting, Cap: frame.CapSummaries},
		{From: frame.In(frame.Compacting), On: started, To: awaitingModel},
		{From: frame.In(frame.Compacting), On: answered, To: awaitingModel, Cap: capRounds},
		{From: frame.In(frame.Compacting), On: reasked, To: awaitingModel, Cap: capRetries},
		{From: frame.In(frame.Compacting), On: frame.Shortened, To: awaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(frame.Compacting), On: exhausted, To: frame.Concluding},
		{From: frame.In(awaitingModel), On: frame.Trimmed, To: awaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: frame.Trimmed, To: frame.Concluding, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: concluded, To: frame.Limited},
		{From: frame.In(awaitingModel), On: handed, To: frame.Done},
		{From: frame.In(awaitingModel), On: finished, To: frame.Done},
	},
	awaitingTools,    // a call that fails has a result like any other
	frame.Compacting, // without a summary old messages are left out
)
