package reflection

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states: what the strategy waits for.
const (
	Ready              strategy.State = "ready"
	Generating         strategy.State = "generating"          // a reply with the first draft, or with calls
	GeneratingTools    strategy.State = "generating_tools"    // the results of those calls
	DelegatingDraft    strategy.State = "delegating_draft"    // the first draft of another strategy
	Critiquing         strategy.State = "critiquing"          // a judgement on the draft
	Revising           strategy.State = "revising"            // a reply with a better draft, or with calls
	RevisingTools      strategy.State = "revising_tools"      // the results of those calls
	DelegatingRevision strategy.State = "delegating_revision" // a better draft of another strategy
	Concluding         strategy.State = "concluding"          // a last draft, asked for without tools
	Done               strategy.State = "done"
	Limited            strategy.State = "limited" // out of tool rounds: an error, with the last draft
	Failed             strategy.State = "failed"
)

// The triggers: what happened.
const (
	started   strategy.Trigger = "started"
	delegated strategy.Trigger = "delegated" // the first draft is left to another strategy
	called    strategy.Trigger = "called"    // the model called tools
	answered  strategy.Trigger = "answered"  // the tools answered
	reasked   strategy.Trigger = "reasked"   // the reply was no draft, and the model is told why
	drafted   strategy.Trigger = "drafted"   // there is a draft to judge
	rejected  strategy.Trigger = "rejected"  // the draft is to be revised here
	returned  strategy.Trigger = "returned"  // the draft is to be revised by another strategy
	approved  strategy.Trigger = "approved"
	accepted  strategy.Trigger = "accepted"  // the last draft was rejected, and is taken as it is
	exhausted strategy.Trigger = "exhausted" // no tool round is left
	concluded strategy.Trigger = "concluded"
	failed    strategy.Trigger = "failed"
)

// The caps of the table; see Config.MaxIterations, Config.MaxToolRounds and Config.MaxRetries.
const (
	capRevisions = "revisions"
	capRounds    = "rounds"
	capRetries   = "retries"
)

func in(states ...strategy.State) []strategy.State { return states }

// Table is the state machine of this strategy.
var Table = &strategy.Table{
	Name:    Name,
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Generating, Awaits: nextstep.KindGetChatCompletion, Phase: "Generate"},
		{Name: GeneratingTools, Awaits: nextstep.KindExecuteTools, Phase: "Generate"},
		{Name: DelegatingDraft, Awaits: nextstep.KindDelegate, Phase: "Generate"},
		{Name: Critiquing, Awaits: nextstep.KindGetChatCompletion, Phase: "Critique"},
		{Name: Revising, Awaits: nextstep.KindGetChatCompletion, Phase: "Revise"},
		{Name: RevisingTools, Awaits: nextstep.KindExecuteTools, Phase: "Revise"},
		{Name: DelegatingRevision, Awaits: nextstep.KindDelegate, Phase: "Revise"},
		{Name: Concluding, Awaits: nextstep.KindGetChatCompletion},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Limited, Awaits: nextstep.KindReportError},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: in(Ready), On: started, To: Generating},
		{From: in(Ready), On: delegated, To: DelegatingDraft},

		{From: in(Generating), On: called, To: GeneratingTools},
		{From: in(GeneratingTools), On: answered, To: Generating, Cap: capRounds},
		{From: in(Generating), On: reasked, To: Generating, Cap: capRetries},

		{From: in(Revising), On: called, To: RevisingTools},
		{From: in(RevisingTools), On: answered, To: Revising, Cap: capRounds},
		{From: in(Revising), On: reasked, To: Revising, Cap: capRetries},

		{From: in(Generating, Revising, DelegatingDraft, DelegatingRevision), On: drafted, To: Critiquing},
		{From: in(Critiquing), On: rejected, To: Revising, Cap: capRevisions},
		{From: in(Critiquing), On: returned, To: DelegatingRevision, Cap: capRevisions},
		{From: in(Critiquing), On: approved, To: Done},
		{From: in(Critiquing), On: accepted, To: Done},

		{From: in(GeneratingTools, RevisingTools), On: exhausted, To: Concluding},
		{From: in(Concluding), On: concluded, To: Limited},
		{
			From: in(Ready, Generating, GeneratingTools, DelegatingDraft, Critiquing, Revising, RevisingTools, DelegatingRevision, Concluding),
			On:   failed, To: Failed,
		},
	},
}
