package explore_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
)

// These tests explore sound strategies. They fail when a defect of an early core is put back, as
// the table of defects in internal/archtest does. SEGUE_WITHOUT_LAW names a law that is not checked
// then.

// unbounded are caps of a pupil that only the limits of its run bound.
var unbounded = strategy.Caps{"retries": 1, "rounds": strategy.Unbounded, "children": strategy.Unbounded}

// sound explores a pupil, with more reactions, and requires that it breaks no law.
func sound(t *testing.T, tw *twist, change func(*explore.Options), more ...func(*machine.Effect) explore.Reaction) {
	t.Helper()
	b := broken{world: change}
	o := b.options()
	without := o.Without
	o.World = func(e *machine.Effect) (list []explore.Reaction) {
		for _, f := range more {
			if r := f(e); r.Record != nil {
				list = append(list, r)
			}
		}
		return list
	}
	o.Without = func(e *machine.Effect, reaction string) bool { return reaction[0] != '+' && without(e, reaction) }
	o.States = prove.DepthOr(min(25, o.States), o.States)
	require.Empty(t, explored(t, tw, o.WithoutLaw(os.Getenv("SEGUE_WITHOUT_LAW"))))
}

// says is a reaction of a model.
func says(name string, r llmclient.Response) func(*machine.Effect) explore.Reaction {
	return func(e *machine.Effect) explore.Reaction {
		if e.Kind != machine.EffectModel {
			return explore.Reaction{}
		}
		return explore.Reaction{Name: "+" + name, Record: func(e *machine.Effect) machine.Record {
			return e.Answered(nextstep.APIResponse{Response: &r}, time.Time{}, 0)
		}}
	}
}

// comesTo is a reaction of a child.
func comesTo(name string, out func(delegation.Limits) delegation.Output) func(*machine.Effect) explore.Reaction {
	return func(e *machine.Effect) explore.Reaction {
		if e.Kind != machine.EffectRemote {
			return explore.Reaction{}
		}
		return explore.Reaction{Name: "+" + name, Record: func(e *machine.Effect) machine.Record {
			return e.Answered(nextstep.DelegationResult{Output: out(e.Step.(nextstep.Delegate).Limits)}, time.Time{}, 0)
		}}
	}
}

// helped makes an agent of a tool: a pupil that may use no tool.
func helped(o *explore.Options) {
	o.Strategies = strategy.Set{"helper": newPupil(&twist{factory: capped(strategy.Caps{"retries": 0, "rounds": 1, "children": 0}, &twist{})})}
	o.Agents = map[string]*machine.Agent{"look": {Strategy: "helper", Tools: []string{}, Inputs: func(string) ([]delegation.Input, bool, error) {
		return []delegation.Input{{Goal: "help"}}, false, nil
	}}}
	o.Tools[1].NeedsApproval = false
}

func TestDefects_limits(t *testing.T) {
	sound(t, &twist{factory: capped(unbounded, &twist{})}, func(o *explore.Options) {
		o.Limits = delegation.Limits{ModelCalls: 5, ToolCalls: 2}
	}, func(e *machine.Effect) explore.Reaction {
		if e.Kind != machine.EffectTool {
			return explore.Reaction{}
		}
		return explore.Answer("+tool breaks", nextstep.Failure{Source: nextstep.SourceTool, Code: delegation.CodeFailed, Message: "no"})
	})
}

func TestDefects_limitsOfChildren(t *testing.T) {
	sound(t, &twist{factory: capped(unbounded, &twist{})}, func(o *explore.Options) {
		o.Limits = delegation.Limits{ModelCalls: 3}
	}, comesTo("child spends what it may", func(l delegation.Limits) delegation.Output {
		return delegation.Output{Result: new("done"), Counts: delegation.Counts{Steps: 1, ModelCalls: max(0, l.ModelCalls)}}
	}))
}

func TestDefects_raw(t *testing.T) {
	sound(t, new(reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if r.Raw != nil {
			return p.giveUp("what is that?")
		}
		return p.replied(r)
	})), nil, says("raw", llmclient.Response{Message: messages.AssistantText("an answer"), Raw: json.RawMessage(`{"secret":1}`)}))
}

func TestDefects_text(t *testing.T) {
	sound(t, new(reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if len(p.History) > 1 || len(r.Message.Calls()) > 0 {
			return p.replied(r)
		}
		p.say(r.Message)
		p.say(messages.UserText("Are you sure?"))
		return p.fsm.Then("again", nextstep.GetChatCompletion{Request: llmclient.Request{Messages: p.History.Clip(), Tools: p.tools, MaxTokens: len(r.Message.Text())}})
	})), nil, says("no text", llmclient.Response{Message: messages.AssistantText("an \xff\xfe answer")}))
}

func TestDefects_toolsOfAgents(t *testing.T) {
	sound(t, &twist{}, helped)
}

func TestDefects_misfits(t *testing.T) {
	sound(t, &twist{}, nil)
}

func TestDefects_stops(t *testing.T) {
	sound(t, &twist{conclude: func(p *pupil) delegation.Output { return delegation.Output{Messages: p.History.Clip()} }},
		func(o *explore.Options) { o.States = 400 })
}

// An agent that was stopped says what it came to; the strategy that called it has not made a
// success of it.
func TestDefects_stoppedAgents(t *testing.T) {
	sound(t, new(results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		p.acted(r)
		return p.fsm.Then("answered", p.done("that is all"))
	})), helped)
}

func TestDefects_textFromOutside(t *testing.T) {
	sound(t, &twist{}, func(o *explore.Options) {
		o.Without = func(_ *machine.Effect, reaction string) bool {
			return !slices.Contains(append(lively, "tool untrusted"), reaction)
		}
	}, comesTo("child reads", func(delegation.Limits) delegation.Output {
		return delegation.Output{Result: new("done"), Untrusted: true, Counts: delegation.Counts{Steps: 1}}
	}))
}
