package reflection

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	Ready                             = frame.Ready
	Generating         strategy.State = "generating"          // a reply with the first draft, or with calls
	GeneratingTools    strategy.State = "generating_tools"    // the results of those calls
	DelegatingDraft    strategy.State = "delegating_draft"    // the first draft of another strategy
	Critiquing         strategy.State = "critiquing"          // a judgement on the draft
	Revising           strategy.State = "revising"            // a reply with a better draft, or with calls
	RevisingTools      strategy.State = "revising_tools"      // the results of those calls
	DelegatingRevision strategy.State = "delegating_revision" // a better draft of another strategy
	Concluding                        = frame.Concluding      // a last draft, requested without tools
	Done                              = frame.Done
	Limited                           = frame.Limited // out of tool rounds: an error, with the last draft
	Failed                            = frame.Failed
)

// The triggers name what happened.
const (
	started   strategy.Trigger = "started"
	delegated strategy.Trigger = "delegated"      // another strategy writes the first draft
	called    strategy.Trigger = "called"         // the model called tools
	answered  strategy.Trigger = "answered"       // the tools answered
	reasked   strategy.Trigger = "reasked"        // the reply was not a draft, and the model is told why
	drafted   strategy.Trigger = "drafted"        // there is a draft to judge
	rejected  strategy.Trigger = "rejected"       // this strategy revises the draft
	returned  strategy.Trigger = "returned"       // another strategy revises the draft
	noted     strategy.Trigger = "noted"          // this strategy revises an approved draft because of a note
	notedBack strategy.Trigger = "returned_noted" // another strategy revises an approved draft because of a note
	approved  strategy.Trigger = "approved"
	accepted  strategy.Trigger = "accepted" // the last draft was rejected, and is used as it is
	exhausted                  = frame.Exhausted
	concluded strategy.Trigger = "concluded"
)

// The caps of the table; see Config.MaxIterations, Config.MaxToolRounds and Config.MaxRetries.
const (
	capRevisions = "revisions"
	capRounds    = "rounds"
	capRetries   = "retries"
)

// Table is the state machine of this strategy.
var Table = frame.Table(Name,
	[]strategy.StateRule{
		{Name: Generating, Awaits: nextstep.KindGetChatCompletion, Phase: "Generate"},
		{Name: GeneratingTools, Awaits: nextstep.KindExecuteTools, Phase: "Generate"},
		{Name: DelegatingDraft, Awaits: nextstep.KindDelegate, Phase: "Generate"},
		{Name: Critiquing, Awaits: nextstep.KindGetChatCompletion, Phase: "Critique"},
		{Name: Revising, Awaits: nextstep.KindGetChatCompletion, Phase: "Revise"},
		{Name: RevisingTools, Awaits: nextstep.KindExecuteTools, Phase: "Revise"},
		{Name: DelegatingRevision, Awaits: nextstep.KindDelegate, Phase: "Revise"},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(Ready), On: started, To: Generating},
		{From: frame.In(Ready), On: delegated, To: DelegatingDraft},

		{From: frame.In(Generating), On: called, To: GeneratingTools},
		{From: frame.In(GeneratingTools), On: answered, To: Generating, Cap: capRounds},
		{From: frame.In(Generating), On: reasked, To: Generating, Cap: capRetries},

		{From: frame.In(Revising), On: called, To: RevisingTools},
		{From: frame.In(RevisingTools), On: answered, To: Revising, Cap: capRounds},
		{From: frame.In(Revising), On: reasked, To: Revising, Cap: capRetries},

		{From: frame.In(Generating, Revising, DelegatingDraft, DelegatingRevision), On: drafted, To: Critiquing},
		{From: frame.In(Critiquing), On: rejected, To: Revising, Cap: capRevisions},
		{From: frame.In(Critiquing), On: returned, To: DelegatingRevision, Cap: capRevisions},
		{From: frame.In(Critiquing), On: noted, To: Revising, Cap: capRevisions},
		{From: frame.In(Critiquing), On: notedBack, To: DelegatingRevision, Cap: capRevisions},
		{From: frame.In(Critiquing), On: approved, To: Done},
		{From: frame.In(Critiquing), On: accepted, To: Done},

		{From: frame.In(GeneratingTools, RevisingTools), On: exhausted, To: Concluding},
		{From: frame.In(Concluding), On: concluded, To: Limited},
	},
)
