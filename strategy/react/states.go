package react

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                        = frame.Ready
	AwaitingModel strategy.State = "awaiting_model" // a turn: a thought, and an action or the answer
	AwaitingTools strategy.State = "awaiting_tools" // the result of the action
	Compacting                   = frame.Compacting // a summary of old messages
	Concluding                   = frame.Concluding // an answer, requested when no step is left
	Done                         = frame.Done
	Limited                      = frame.Limited // out of steps: an error, with the work done so far
	Failed                       = frame.Failed
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
		{Name: AwaitingModel, Awaits: nextstep.KindGetChatCompletion, Phase: "Thought"},
		{Name: AwaitingTools, Awaits: nextstep.KindExecuteTools, Phase: "Action"},
		{Name: Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: AwaitingModel},
		{From: frame.In(AwaitingModel), On: acted, To: AwaitingTools},
		{From: frame.In(AwaitingTools), On: observed, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(AwaitingModel), On: mistaken, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(AwaitingModel), On: searched, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(AwaitingModel), On: noted, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(AwaitingModel), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(AwaitingModel, AwaitingTools), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingModel, AwaitingTools), On: gaveUp, To: Limited},
		{From: frame.In(Ready, AwaitingModel, AwaitingTools), On: frame.Filled, To: Compacting, Cap: frame.CapSummaries},
		{From: frame.In(Compacting), On: started, To: AwaitingModel},
		{From: frame.In(Compacting), On: observed, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(Compacting), On: mistaken, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(Compacting), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(Compacting), On: frame.Shortened, To: AwaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(Compacting), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingModel), On: frame.Trimmed, To: AwaitingModel, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: frame.Trimmed, To: Concluding, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: concluded, To: Limited},
		{From: frame.In(AwaitingModel), On: finished, To: Done},
	},
)
