package reasonactobserve

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                     = frame.Ready
	Reasoning  strategy.State = "reasoning"      // a reply that calls agent_decide_next
	Deciding   strategy.State = "deciding"       // after an empty reply: a plain one that holds the decision as JSON
	AskingUser strategy.State = "asking_user"    // what the user answers
	Retrieving strategy.State = "retrieving"     // what the data sources return
	Acting     strategy.State = "acting"         // a reply that calls tools, or answers
	Executing  strategy.State = "executing"      // the results of the calls
	Observing  strategy.State = "observing"      // a reply that calls agent_observe_decide
	Answering  strategy.State = "answering"      // the answer in plain words: the model only said that it is done
	Compacting                = frame.Compacting // a summary of old messages
	Concluding                = frame.Concluding // the answer in plain words: no step is left
	Done                      = frame.Done
	Limited                   = frame.Limited // out of steps: an error, with the work done so far
	Failed                    = frame.Failed
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	unforced  strategy.Trigger = "unforced"  // the provider refuses a forced tool choice: ask again without one
	silent    strategy.Trigger = "silent"    // the reply was empty
	asked     strategy.Trigger = "asked"     // the model has a question for the user
	consulted strategy.Trigger = "consulted" // the data sources are to be searched first
	decided   strategy.Trigger = "decided"   // it is time to act
	called    strategy.Trigger = "called"    // the model called tools
	acted     strategy.Trigger = "acted"     // there is something to observe, or nothing was done
	again     strategy.Trigger = "again"     // the next step
	noted     strategy.Trigger = "noted"     // the model has answered, and there is another step because of a note
	exhausted                  = frame.Exhausted
	concluded strategy.Trigger = "concluded"
	gaveUp    strategy.Trigger = "gave_up"
	satisfied strategy.Trigger = "satisfied" // the model is done, but has not given the answer
	finished  strategy.Trigger = "finished"
)

// The caps of the table; see Config.MaxSteps.
const (
	capSteps    = "steps"
	capUnforced = "unforced" // once in a run: after that no choice is forced
)

// Table is the state machine of this strategy.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: Reasoning, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: Deciding, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: AskingUser, Awaits: nextstep.KindExecuteTools, Phase: "Reason"},
		{Name: Retrieving, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: Acting, Awaits: nextstep.KindGetChatCompletion, Phase: "Act"},
		{Name: Executing, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: Observing, Awaits: nextstep.KindGetChatCompletion, Phase: "Observe"},
		{Name: Answering, Awaits: nextstep.KindGetChatCompletion},
		{Name: Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: Reasoning},

		{From: frame.In(Reasoning), On: unforced, To: Reasoning, Cap: capUnforced},
		{From: frame.In(Reasoning), On: silent, To: Deciding},
		{From: frame.In(Reasoning, Deciding), On: asked, To: AskingUser},
		{From: frame.In(Reasoning, Deciding), On: consulted, To: Retrieving},
		{From: frame.In(Reasoning, Deciding, Retrieving), On: decided, To: Acting},
		{From: frame.In(Acting), On: called, To: Executing},
		{From: frame.In(Reasoning, Deciding, Retrieving, Acting, Executing), On: acted, To: Observing},
		{From: frame.In(Observing), On: unforced, To: Observing, Cap: capUnforced},

		{From: frame.In(AskingUser, Observing), On: again, To: Reasoning, Cap: capSteps},
		{From: frame.In(Reasoning, Deciding, Acting, Observing), On: noted, To: Reasoning, Cap: capSteps},
		{From: frame.In(AskingUser, Executing, Observing), On: exhausted, To: Concluding},
		{From: frame.In(AskingUser, Executing, Observing), On: gaveUp, To: Limited},
		{From: frame.In(Ready, Reasoning, Deciding, AskingUser, Acting, Observing, Answering), On: frame.Filled, To: Compacting, Cap: frame.CapSummaries},
		{From: frame.In(Compacting), On: started, To: Reasoning},
		{From: frame.In(Compacting), On: again, To: Reasoning, Cap: capSteps},
		{From: frame.In(Compacting), On: frame.Shortened, To: Reasoning, Cap: frame.CapRefusals},
		{From: frame.In(Compacting), On: exhausted, To: Concluding},
		{From: frame.In(Reasoning, Deciding, Acting, Observing, Answering), On: frame.Trimmed, To: Reasoning, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: frame.Trimmed, To: Concluding, Cap: frame.CapRefusals},
		{From: frame.In(Concluding), On: concluded, To: Limited},

		{From: frame.In(Reasoning, Deciding, Observing), On: satisfied, To: Answering},
		{From: frame.In(Reasoning, Deciding, Acting, Observing, Answering, Concluding), On: finished, To: Done},
	},
	Compacting, // without a summary old messages are left out
)
