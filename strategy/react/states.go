package react

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	awaitingModel strategy.State = "awaiting_model" // a turn: a thought, and an action or the answer
	awaitingTools strategy.State = "awaiting_tools" // the result of the action
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	acted     strategy.Trigger = "acted"    // the model named an action
	mistaken  strategy.Trigger = "mistaken" // it named an unknown tool, and is told so
	searched  strategy.Trigger = "searched" // it searched for tools
	observed  strategy.Trigger = "observed" // the tool answered
	reasked   strategy.Trigger = "reasked"  // the reply was not a turn, and the model is told why
	noted     strategy.Trigger = "noted"    // the model has answered, and is asked again because of a note
	exhausted                  = frame.Exhausted
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	finished  strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxSteps and Config.MaxRetries.
const (
	capSteps   = "steps"
	capRetries = "retries"
)

// Table is the state machine of this strategy.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: awaitingModel, Awaits: nextstep.KindGetChatCompletion, Phase: "Thought"},
		{Name: awaitingTools, Awaits: nextstep.KindExecuteTools, Phase: "Action"},
		{Name: frame.Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: frame.Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: awaitingModel},
		{From: frame.In(awaitingModel), On: acted, To: awaitingTools},
		{From: frame.In(awaitingTools), On: observed, To: awaitingModel, Cap: capSteps},
		{From: frame.In(awaitingModel), On: mistaken, To: awaitingModel, Cap: capSteps},
		{From: frame.In(awaitingModel), On: searched, To: awaitingModel, Cap: capSteps},
		{From: frame.In(awaitingModel), On: noted, To: awaitingModel, Cap: capSteps},
		{From: frame.In(awaitingModel), On: reasked, To: awaitingModel, Cap: capRetries},
		{From: frame.In(awaitingModel, awaitingTools), On: exhausted, To: frame.Concluding},
		{From: frame.In(awaitingModel, awaitingTools), On: gaveUp, To: frame.Limited},
		{From: frame.In(frame.Ready, awaitingModel, awaitingTools), On: frame.Filled, To: frame.Compacting, Cap: frame.CapSummaries},
		{From: frame.In(frame.Compacting), On: started, To: awaitingModel},
		{From: frame.In(frame.Compacting), On: observed, To: awaitingModel, Cap: capSteps},
		{From: frame.In(frame.Compacting), On: mistaken, To: awaitingModel, Cap: capSteps},
		{From: frame.In(frame.Compacting), On: reasked, To: awaitingModel, Cap: capRetries},
		{From: frame.In(frame.Compacting), On: frame.Shortened, To: awaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(frame.Compacting), On: exhausted, To: frame.Concluding},
		{From: frame.In(awaitingModel), On: frame.Trimmed, To: awaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: frame.Trimmed, To: frame.Concluding, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: concluded, To: frame.Limited},
		{From: frame.In(awaitingModel), On: finished, To: frame.Done},
	},
)
