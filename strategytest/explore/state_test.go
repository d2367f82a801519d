package explore_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// What the world does next may depend on which child was asked, though the parent remembers alike.
func TestNever_whichChild(t *testing.T) {
	o := school
	o.Children, o.Depth, o.States = []string{"billing", "tech"}, 0, 1000
	o.World = func(e *machine.Effect) []explore.Reaction {
		switch step := e.Step.(type) {
		case nextstep.GetChatCompletion:
			return []explore.Reaction{
				explore.Reply("billing", llmclient.FinishStop, messages.Text{Text: "billing"}),
				explore.Reply("tech", llmclient.FinishStop, messages.Text{Text: "tech"}),
			}
		case nextstep.Delegate:
			if step.Strategy == "tech" {
				return []explore.Reaction{explore.Answer("escalates", nextstep.DelegationResult{Output: delegation.Output{Result: new("escalate")}})}
			}
		}
		return nil
	}
	o.Without = allBut("billing", "tech", "child result", "escalates")
	o.Queries = []explore.Query{explore.CanReach(func(s *explore.State) bool { return s.Done() && s.Output().Text() == "escalate" })}
	r, err := explore.Run(newPupil(&twist{
		reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
			if !p.fsm.Can("handed over") {
				return p.fsm.Then("answered", p.done("enough"))
			}
			return p.fsm.Then("handed over", nextstep.Delegate{Strategy: r.Message.Text(), Input: delegation.Input{Goal: "help"}})
		},
		child: func(p *pupil, out delegation.Output) nextstep.NextStep {
			return p.fsm.Then("answered", p.done(out.Text()))
		},
	}), o)
	require.NoError(t, err)
	require.True(t, r.Results[0].Holds, "%+v", r)
}

// What a strategy does next may depend on which of its branches failed, and in what way, though it
// hears of all of them together.
func TestCanReach_whichBranchFailed(t *testing.T) {
	part := func(name string) workflow.Part {
		return workflow.Part{Name: name, Strategy: "worker", OnFailure: workflow.FailureContinue}
	}
	ends := func(parts ...string) explore.Query {
		return explore.CanReach(func(s *explore.State) bool {
			var all map[string]string
			_ = json.Unmarshal(s.Output().Data, &all)
			return s.Done() && slices.Equal(parts, slices.Sorted(maps.Keys(all)))
		})
	}
	r, err := explore.Run(workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{part("a"), part("b"), part("c")}}), explore.Options{
		Strategies: strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail})},
		World:      failing, Without: allBut("text", "has no luck"),
		Queries: []explore.Query{ends(), ends("a"), ends("b"), ends("c"), ends("a", "b"), ends("a", "c"), ends("b", "c"), ends("a", "b", "c")},
	})
	require.NoError(t, err)
	require.True(t, r.Exhausted)
	for i, result := range r.Results {
		require.True(t, result.Holds, i)
	}
}

// untabled asks the model as long as it is answered. It has no table.
type untabled struct {
	History messages.History `json:"history"`
	fails   func(*untabled) nextstep.NextStep
}

func (u *untabled) Initialize(in delegation.Input) nextstep.NextStep {
	u.History, _ = in.Conversation("")
	return u.ask()
}

func (u *untabled) ask() nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: u.History.Clip()}}
}

func (u *untabled) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if r.Message.Empty() || len(r.Message.Calls()) > 0 {
		return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "no text"}}
	}
	u.History = append(u.History, r.Message, messages.UserText("go on"))
	return u.ask()
}

func (u *untabled) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeDefect, Message: "out of turn"}}
}

func (u *untabled) ProcessDelegationResult(delegation.Output) nextstep.NextStep {
	return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeDefect, Message: "out of turn"}}
}

func (u *untabled) ProcessFailure(f nextstep.Failure) nextstep.NextStep { return u.fails(u) }

func (u *untabled) Snapshot() (json.RawMessage, error) { return json.Marshal(u) }

func (u *untabled) Restore(data json.RawMessage) error { return json.Unmarshal(data, u) }

func newUntabled(fails func(*untabled) nextstep.NextStep) func() strategy.Strategy {
	return func() strategy.Strategy { return &untabled{fails: fails} }
}

// What is left of a small limit on tokens is part of the state: the run does not go on for ever.
func TestLeads_limitOnTokens(t *testing.T) {
	gives := func(*untabled) nextstep.NextStep {
		return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "no answer"}}
	}
	r, err := explore.Run(newUntabled(gives), explore.Options{
		Limits: delegation.Limits{TotalTokens: 12}, Without: allBut("text", "failure unavailable"),
		Queries: []explore.Query{explore.Leads(func(*explore.State) bool { return true }, explore.Ended)},
	})
	require.NoError(t, err)
	require.True(t, r.Exhausted)
	require.True(t, r.Results[0].Holds, "%+v", r)
}

// A strategy without a table that goes on for ever once it was answered has no states that tell.
func TestRun_endlessWithoutTable(t *testing.T) {
	r, err := explore.Run(newUntabled(func(u *untabled) nextstep.NextStep {
		if len(u.History) > 1 {
			return u.ask()
		}
		return nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeFailed, Message: "no answer"}}
	}), explore.Options{Without: allBut("text", "failure unavailable")})
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	require.Equal(t, explore.Ends, r.Violations[0].Law)
}

// Where all reactions to an effect are left out, nothing was explored, and no query is certain.
func TestLeads_nothingCanHappen(t *testing.T) {
	o := school
	o.Depth, o.States, o.Without = 0, 1000, allBut("text", "call look")
	o.Queries = []explore.Query{explore.Leads(func(*explore.State) bool { return true }, explore.Ended)}
	r, err := explore.Run(newPupil(&twist{}), o)
	require.NoError(t, err)
	require.Equal(t, "effects whose reactions were all left out", r.Bounds)
	require.Equal(t, 1, r.Results[0].Undecided)
}

// Data is an answer, also after a failure.
func TestRun_dataAfterAFailure(t *testing.T) {
	r, err := explore.Run(newUntabled(func(u *untabled) nextstep.NextStep {
		return nextstep.Complete{Output: delegation.Output{Messages: u.History.Clip(), Data: json.RawMessage(`{"known":false}`)}}
	}), explore.Options{Limits: delegation.Limits{ModelCalls: 3}, Without: allBut("text", "failure unavailable")})
	require.NoError(t, err)
	require.Empty(t, r.Violations)
}

// Tools is called before UseTools, as a Machine calls them, also where Bounds are read.
func TestRun_toolsBeforeUse(t *testing.T) {
	r, err := explore.Run(newPupil(&twist{
		brings: func(p *pupil) []tools.Tool {
			p.kept = map[string]bool{}
			return nil
		},
		uses: func(p *pupil, defs []tools.Definition) {
			for i := range defs {
				p.kept.(map[string]bool)[defs[i].Name] = true
			}
		},
		factory: saying(strategy.Bounds{}).factory,
	}), school)
	require.NoError(t, err)
	require.Empty(t, r.Violations)
}

// Bounds are about the tools of the run, not about one that a strategy answers itself.
func TestRun_offersWhatItAnswers(t *testing.T) {
	r, err := explore.Run(newPupil(&twist{
		start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
			ask := p.request()
			ask.Request.Tools = append(slices.Clip(ask.Request.Tools), tools.Definition{Name: "decide"})
			return p.fsm.Then("start", ask)
		},
		factory: saying(strategy.Bounds{Offers: []string{"look", "pay"}}).factory,
	}), school)
	require.NoError(t, err)
	for _, v := range r.Violations {
		require.NotEqual(t, explore.Bounds, v.Law, v.Problem)
	}
}

// A report is the same each time, whatever is wrong in several places.
func TestRun_sameReport(t *testing.T) {
	one := newPupil(&twist{})()
	same := func() strategy.Strategy { return one }
	first := ""
	for range 10 {
		o := school
		o.Strategies = strategy.Set{"a": same, "b": same, "c": same}
		r, err := explore.Run(newPupil(&twist{}), o)
		require.NoError(t, err)
		if first == "" {
			first = r.Violations[0].Error()
		}
		require.Equal(t, first, r.Violations[0].Error())
	}
}
