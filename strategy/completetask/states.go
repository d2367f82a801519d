package completetask

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready         strategy.State = "ready"
	AwaitingModel strategy.State = "awaiting_model" // a reply, with or without calls
	AwaitingTools strategy.State = "awaiting_tools" // the results of the calls
	Concluding    strategy.State = "concluding"     // the last reply, asked for without tools
	Done          strategy.State = "done"
	Limited       strategy.State = "limited" // out of model calls: an error, with what was reached
	Failed        strategy.State = "failed"
)

// The triggers: what happened.
const (
	started   strategy.Trigger = "started"
	called    strategy.Trigger = "called"    // the model called tools
	answered  strategy.Trigger = "answered"  // the tools answered
	reasked   strategy.Trigger = "reasked"   // the reply was no answer, and the model is told why
	unforced  strategy.Trigger = "unforced"  // the provider does not take a forced tool choice: ask again without
	exhausted strategy.Trigger = "exhausted" // no model call with tools is left
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	finished  strategy.Trigger = "finished"
	failed    strategy.Trigger = "failed"
)

// The caps of the table; see Config.MaxModelCalls, Config.MaxRetries and Config.OnRefusedChoice.
const (
	capRounds   = "rounds"
	capRetries  = "retries"
	capUnforced = "unforced" // once in a run, where a choice is forced
)

// Table is the state machine of this strategy.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: AwaitingModel, Awaits: nextstep.KindGetChatCompletion},
		{Name: AwaitingTools, Awaits: nextstep.KindExecuteTools},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Limited, Awaits: nextstep.KindReportError},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{Ready}, On: started, To: AwaitingModel},
		{From: []strategy.State{AwaitingModel}, On: called, To: AwaitingTools},
		{From: []strategy.State{AwaitingTools}, On: answered, To: AwaitingModel, Cap: capRounds},
		{From: []strategy.State{AwaitingModel}, On: reasked, To: AwaitingModel, Cap: capRetries},
		{From: []strategy.State{AwaitingModel}, On: unforced, To: AwaitingModel, Cap: capUnforced},
		{From: []strategy.State{AwaitingTools}, On: exhausted, To: Concluding},
		{From: []strategy.State{AwaitingTools}, On: gaveUp, To: Limited},
		{From: []strategy.State{Concluding}, On: concluded, To: Limited},
		{From: []strategy.State{AwaitingModel}, On: finished, To: Done},
		{From: []strategy.State{Ready, AwaitingModel, AwaitingTools, Concluding}, On: failed, To: Failed},
	},
}
