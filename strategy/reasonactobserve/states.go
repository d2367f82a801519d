package reasonactobserve

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	reasoning  strategy.State = "reasoning"   // a reply that calls agent_decide_next
	deciding   strategy.State = "deciding"    // after an empty reply: a plain one that holds the decision as JSON
	askingUser strategy.State = "asking_user" // what the user answers
	retrieving strategy.State = "retrieving"  // what the data sources return
	acting     strategy.State = "acting"      // a reply that calls tools, or answers
	executing  strategy.State = "executing"   // the results of the calls
	observing  strategy.State = "observing"   // a reply that calls agent_observe_decide
	answering  strategy.State = "answering"   // the answer in plain words: the model only said that it is done
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
		{Name: reasoning, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: deciding, Awaits: nextstep.KindGetChatCompletion, Phase: "Reason"},
		{Name: askingUser, Awaits: nextstep.KindExecuteTools, Phase: "Reason"},
		{Name: retrieving, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: acting, Awaits: nextstep.KindGetChatCompletion, Phase: "Act"},
		{Name: executing, Awaits: nextstep.KindExecuteTools, Phase: "Act"},
		{Name: observing, Awaits: nextstep.KindGetChatCompletion, Phase: "Observe"},
		{Name: answering, Awaits: nextstep.KindGetChatCompletion},
		{Name: frame.Compacting, Awaits: nextstep.KindGetChatCompletion},
		{Name: frame.Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: reasoning},

		{From: frame.In(reasoning), On: unforced, To: reasoning, Cap: capUnforced},
		{From: frame.In(reasoning), On: silent, To: deciding},
		{From: frame.In(reasoning, deciding), On: asked, To: askingUser},
		{From: frame.In(reasoning, deciding), On: consulted, To: retrieving},
		{From: frame.In(reasoning, deciding, retrieving), On: decided, To: acting},
		{From: frame.In(acting), On: called, To: executing},
		{From: frame.In(reasoning, deciding, retrieving, acting, executing), On: acted, To: observing},
		{From: frame.In(observing), On: unforced, To: observing, Cap: capUnforced},

		{From: frame.In(askingUser, observing), On: again, To: reasoning, Cap: capSteps},
		{From: frame.In(reasoning, deciding, acting, observing), On: noted, To: reasoning, Cap: capSteps},
		{From: frame.In(askingUser, executing, observing), On: exhausted, To: frame.Concluding},
		{From: frame.In(askingUser, executing, observing), On: gaveUp, To: frame.Limited},
		{From: frame.In(frame.Ready, reasoning, deciding, askingUser, acting, observing, answering), On: frame.Filled, To: frame.Compacting, Cap: frame.CapSummaries},
		{From: frame.In(frame.Compacting), On: started, To: reasoning},
		{From: frame.In(frame.Compacting), On: again, To: reasoning, Cap: capSteps},
		{From: frame.In(frame.Compacting), On: frame.Shortened, To: reasoning, Cap: frame.CapRefusals},
		{From: frame.In(frame.Compacting), On: exhausted, To: frame.Concluding},
		{From: frame.In(reasoning, deciding, acting, observing, answering), On: frame.Trimmed, To: reasoning, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: frame.Trimmed, To: frame.Concluding, Cap: frame.CapRefusals},
		{From: frame.In(frame.Concluding), On: concluded, To: frame.Limited},

		{From: frame.In(reasoning, deciding, observing), On: satisfied, To: answering},
		{From: frame.In(reasoning, deciding, acting, observing, answering, frame.Concluding), On: finished, To: frame.Done},
	},
	frame.Compacting, // without a summary old messages are left out
)
