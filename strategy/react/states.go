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
	Compacting    strategy.State = "compacting"     // a summary of old messages
	Concluding    strategy.State = "concluding"     // an answer, requested when no step is left
	Done                         = frame.Done
	Limited                      = frame.Limited // out of steps: an error, with the work done so far
	Failed                       = frame.Failed
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	acted     strategy.Trigger = "acted"     // the model named an action
	mistaken  strategy.Trigger = "mistaken"  // it named an unknown tool, and is told so
	searched  strategy.Trigger = "searched"  // it searched for tools
	observed  strategy.Trigger = "observed"  // the tool answered
	reasked   strategy.Trigger = "reasked"   // the reply was not a turn, and the model is told why
	noted     strategy.Trigger = "noted"     // the model has answered, and is asked again because of a note
	exhausted strategy.Trigger = "exhausted" // no step is left, and the model is asked for an answer
	filled    strategy.Trigger = "filled"    // the conversation is too long: a summary is asked for
	shortened strategy.Trigger = "shortened" // there is one: a request that was refused is made again
	trimmed   strategy.Trigger = "trimmed"   // a request was refused, and is made again without old messages
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	finished  strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxSteps and Config.MaxRetries.
const (
	capSteps   = "steps"
	capRetries = "retries"

	capSummaries = "summaries" // see compaction.Config
	capRefusals  = "refusals"  // compaction.MaxRefusals
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
		{From: frame.In(Ready, AwaitingModel, AwaitingTools), On: filled, To: Compacting, Cap: capSummaries},
		{From: frame.In(Compacting), On: started, To: AwaitingModel},
		{From: frame.In(Compacting), On: observed, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(Compacting), On: mistaken, To: AwaitingModel, Cap: capSteps},
		{From: frame.In(Compacting), On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: frame.In(Compacting), On: shortened, To: AwaitingModel, Cap: capRefusals},
		{From: frame.In(Compacting), On: exhausted, To: Concluding},
		{From: frame.In(AwaitingModel), On: trimmed, To: AwaitingModel, Cap: capRefusals},
		{From: frame.In(Concluding), On: trimmed, To: Concluding, Cap: capRefusals},
		{From: frame.In(Concluding), On: concluded, To: Limited},
		{From: frame.In(AwaitingModel), On: finished, To: Done},
	},
)
