package reasonactobserve

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready      strategy.State = "ready"
	Reasoning  strategy.State = "reasoning"   // a reply that calls agent_decide_next
	Deciding   strategy.State = "deciding"    // after a reply of nothing: a plain one that holds the decision as JSON
	AskingUser strategy.State = "asking_user" // what the user answers
	Retrieving strategy.State = "retrieving"  // what the data sources hold
	Acting     strategy.State = "acting"      // a reply that calls tools, or answers
	Executing  strategy.State = "executing"   // the results of the calls
	Observing  strategy.State = "observing"   // a reply that calls agent_observe_decide
	Answering  strategy.State = "answering"   // the answer in plain words: the model said that it is done, and no more
	Concluding strategy.State = "concluding"  // the answer in plain words: no step is left
	Done       strategy.State = "done"
	Limited    strategy.State = "limited" // out of steps: an error, with what was reached
	Failed     strategy.State = "failed"
)

// The triggers: what happened.
const (
	started   strategy.Trigger = "started"
	unforced  strategy.Trigger = "unforced"  // the provider does not take a forced tool choice: ask again without
	silent    strategy.Trigger = "silent"    // the reply was empty
	asked     strategy.Trigger = "asked"     // the model wants to know something of the user
	consulted strategy.Trigger = "consulted" // the data sources are to be looked at first
	decided   strategy.Trigger = "decided"   // it is time to act
	called    strategy.Trigger = "called"    // the model called tools
	acted     strategy.Trigger = "acted"     // there is something to observe, or nothing was done
	again     strategy.Trigger = "again"     // the next step
	exhausted strategy.Trigger = "exhausted" // no step is left
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	satisfied strategy.Trigger = "satisfied" // the model is done, and has not said the answer yet
	finished  strategy.Trigger = "finished"
	failed    strategy.Trigger = "failed"
)

// The caps of the table; see Config.MaxSteps.
const (
	capSteps    = "steps"
	capUnforced = "unforced" // once in a run: from then on no choice is forced
)

func in(states ...strategy.State) []strategy.State { return states }

// Table is the state machine of this strategy.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Reasoning, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: Deciding, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: AskingUser, Awaits: nextstep.KindExecuteTools, Phase: "Reason"},
		{Name: Retrieving, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: Acting, Awaits: nextstep.KindGetChatCompletion, Phase: "Act"},
		{Name: Executing, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: Observing, Awaits: nextstep.KindGetChatCompletion, Phase: "Observe"},
		{Name: Answering, Awaits: nextstep.KindGetChatCompletion},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Limited, Awaits: nextstep.KindReportError},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: in(Ready), On: started, To: Reasoning},

		{From: in(Reasoning), On: unforced, To: Reasoning, Cap: capUnforced},
		{From: in(Reasoning), On: silent, To: Deciding},
		{From: in(Reasoning, Deciding), On: asked, To: AskingUser},
		{From: in(Reasoning, Deciding), On: consulted, To: Retrieving},
		{From: in(Reasoning, Deciding, Retrieving), On: decided, To: Acting},
		{From: in(Acting), On: called, To: Executing},
		{From: in(Reasoning, Deciding, Retrieving, Acting, Executing), On: acted, To: Observing},
		{From: in(Observing), On: unforced, To: Observing, Cap: capUnforced},

		{From: in(AskingUser, Observing), On: again, To: Reasoning, Cap: capSteps},
		{From: in(AskingUser, Observing), On: exhausted, To: Concluding},
		{From: in(AskingUser, Observing), On: gaveUp, To: Limited},
		{From: in(Concluding), On: concluded, To: Limited},

		{From: in(Reasoning, Deciding, Observing), On: satisfied, To: Answering},
		{From: in(Reasoning, Deciding, Acting, Observing, Answering, Concluding), On: finished, To: Done},
		{
			From: in(Ready, Reasoning, Deciding, AskingUser, Retrieving, Acting, Executing, Observing, Answering, Concluding),
			On:   failed, To: Failed,
		},
	},
}
