package react

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready         strategy.State = "ready"
	AwaitingModel strategy.State = "awaiting_model" // a turn: a thought, and an action or the answer
	AwaitingTools strategy.State = "awaiting_tools" // the result of the action
	Concluding    strategy.State = "concluding"     // an answer, asked for when no step is left
	Done          strategy.State = "done"
	Limited       strategy.State = "limited" // out of steps: an error, with what was reached
	Failed        strategy.State = "failed"
)

// The triggers: what happened.
const (
	started   strategy.Trigger = "started"
	acted     strategy.Trigger = "acted"     // the model named an action
	mistaken  strategy.Trigger = "mistaken"  // it named a tool that there is none of, and is told so
	observed  strategy.Trigger = "observed"  // the tool answered
	reasked   strategy.Trigger = "reasked"   // the reply was no turn, and the model is told why
	exhausted strategy.Trigger = "exhausted" // no step is left, and the model is asked for an answer
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	finished  strategy.Trigger = "finished"
	failed    strategy.Trigger = "failed"
)

// The caps of the table; see Config.MaxSteps and Config.MaxRetries.
const (
	capSteps   = "steps"
	capRetries = "retries"
)

// Table is the state machine of this strategy.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: AwaitingModel, Awaits: nextstep.KindGetChatCompletion, Phase: "Thought"},
		{Name: AwaitingTools, Awaits: nextstep.KindExecuteTools, Phase: "Action"},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Limited, Awaits: nextstep.KindReportError},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{Ready}, On: started, To: AwaitingModel},
		{From: []strategy.State{AwaitingModel}, On: acted, To: AwaitingTools},
		{From: []strategy.State{AwaitingTools}, On: observed, To: AwaitingModel, Cap: capSteps},
		{From: []strategy.State{AwaitingModel}, On: mistaken, To: AwaitingModel, Cap: capSteps},
		{From: []strategy.State{AwaitingModel}, On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: []strategy.State{AwaitingModel, AwaitingTools}, On: exhausted, To: Concluding},
		{From: []strategy.State{AwaitingModel, AwaitingTools}, On: gaveUp, To: Limited},
		{From: []strategy.State{Concluding}, On: concluded, To: Limited},
		{From: []strategy.State{AwaitingModel}, On: finished, To: Done},
		{From: []strategy.State{Ready, AwaitingModel, AwaitingTools, Concluding}, On: failed, To: Failed},
	},
}
