package reflection

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states name what the strategy waits for.
const (
	generating         strategy.State = "generating"          // a reply with the first draft, or with calls
	generatingTools    strategy.State = "generating_tools"    // the results of those calls
	delegatingDraft    strategy.State = "delegating_draft"    // the first draft of another strategy
	critiquing         strategy.State = "critiquing"          // a judgement on the draft
	revising           strategy.State = "revising"            // a reply with a better draft, or with calls
	revisingTools      strategy.State = "revising_tools"      // the results of those calls
	delegatingRevision strategy.State = "delegating_revision" // a better draft of another strategy
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
		{Name: generating, Awaits: nextstep.KindGetChatCompletion, Phase: "Generate"},
		{Name: generatingTools, Awaits: nextstep.KindExecuteTools, Phase: "Generate"},
		{Name: delegatingDraft, Awaits: nextstep.KindDelegate, Phase: "Generate"},
		{Name: critiquing, Awaits: nextstep.KindGetChatCompletion, Phase: "Critique"},
		{Name: revising, Awaits: nextstep.KindGetChatCompletion, Phase: "Revise"},
		{Name: revisingTools, Awaits: nextstep.KindExecuteTools, Phase: "Revise"},
		{Name: delegatingRevision, Awaits: nextstep.KindDelegate, Phase: "Revise"},
		{Name: frame.Concluding, Awaits: nextstep.KindGetChatCompletion},
	},
	[]strategy.Rule{
		{From: frame.In(frame.Ready), On: started, To: generating},
		{From: frame.In(frame.Ready), On: delegated, To: delegatingDraft},

		{From: frame.In(generating), On: called, To: generatingTools},
		{From: frame.In(generatingTools), On: answered, To: generating, Cap: capRounds},
		{From: frame.In(generating), On: reasked, To: generating, Cap: capRetries},

		{From: frame.In(revising), On: called, To: revisingTools},
		{From: frame.In(revisingTools), On: answered, To: revising, Cap: capRounds},
		{From: frame.In(revising), On: reasked, To: revising, Cap: capRetries},

		{From: frame.In(generating, revising, delegatingDraft, delegatingRevision), On: drafted, To: critiquing},
		{From: frame.In(critiquing), On: rejected, To: revising, Cap: capRevisions},
		{From: frame.In(critiquing), On: returned, To: delegatingRevision, Cap: capRevisions},
		{From: frame.In(critiquing), On: noted, To: revising, Cap: capRevisions},
		{From: frame.In(critiquing), On: notedBack, To: delegatingRevision, Cap: capRevisions},
		{From: frame.In(critiquing), On: approved, To: frame.Done},
		{From: frame.In(critiquing), On: accepted, To: frame.Done},

		{From: frame.In(generatingTools, revisingTools), On: exhausted, To: frame.Concluding},
		{From: frame.In(frame.Concluding), On: concluded, To: frame.Limited},
	},
)
