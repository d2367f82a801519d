package explore_test

import (
	"errors"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// compacting returns strategies whose conversations outgrow a window, or are refused as too long.
func compacting() []subject {
	tool := []tools.Definition{look}
	retrying := explore.Options{Input: spoken(150), Tools: tool, World: alphabet.Summaries}
	acting := explore.Options{Input: spoken(150), Tools: tool, World: alphabet.Join(alphabet.Summaries, alphabet.ReAct)}
	deciding := explore.Options{Input: spoken(150), Tools: tool, World: alphabet.Join(alphabet.Summaries, alphabet.Decisions)}
	return []subject{
		{"complete-task, compacting", completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1, OnEmpty: completetask.EmptyAsk, Compact: within(compaction.Summarize, 1)}), retrying},
		{"complete-task, compacting, from its beginning", completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, Compact: within(compaction.Summarize, 1)}), explore.Options{Input: spoken(600), Tools: tool, World: alphabet.Summaries}},
		{"complete-task, compacting if refused", completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, Compact: &compaction.Config{How: compaction.Trim, Keep: 1, Prompts: few}}), retrying},
		{"react, compacting", react.New(react.Config{MaxSteps: 2, MaxRetries: 1, Policy: markdownpolicy.ReAct{}, Compact: within(compaction.Summarize, 6)}), acting},
		{"reason-act-observe, compacting", rao.New(rao.Config{MaxSteps: 2, Compact: within(compaction.Summarize, 3)}), deciding},
		{"a plan of compacting tasks", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 1, MaxRetries: -1, Evaluation: pre.EvaluateNever}), explore.Options{
			Tools: tool, World: alphabet.Join(alphabet.Plans, alphabet.Summaries),
			Strategies: strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: 3, MaxRetries: -1, System: strings.Repeat("Be brief. ", 20), Compact: within(compaction.Summarize, 1)})},
		}},
	}
}

// rareCompacting returns the configurations and inputs that take the transitions which those of
// compacting do not.
func rareCompacting() []subject {
	tool := []tools.Definition{look}
	turns := alphabet.Join(alphabet.Summaries, alphabet.ReAct)
	texts := alphabet.Join(alphabet.Summaries, decidedInTexts)
	silent := alphabet.Join(texts, func(e *machine.Effect) []explore.Reaction {
		if !offers(e, "agent_decide_next") {
			return nil
		}
		return []explore.Reaction{explore.Reply("is silent", llmclient.FinishStop)}
	})
	refused := func(how compaction.How) *compaction.Config {
		return &compaction.Config{How: how, Keep: 1, Prompts: few}
	}
	long := rao.Prompts{Conclude: strings.Repeat("Conclude. ", 120)}
	return []subject{
		{"react, compacting from its beginning", react.New(react.Config{MaxSteps: 1, MaxRetries: -1, Compact: within(compaction.Summarize, 6)}), explore.Options{Input: spoken(1500), Tools: tool, World: turns}},
		{"react, compacting in each step", react.New(react.Config{MaxSteps: 4, MaxRetries: 1, Policy: curt{}, Compact: within(compaction.Summarize, 1)}), explore.Options{Input: spoken(150), Tools: tool, World: turns}},
		{"react, compacting replies that are no turns", react.New(react.Config{MaxSteps: 1, MaxRetries: 2, Policy: curt{}, Compact: within(compaction.Summarize, 1)}), explore.Options{Input: spoken(220), Tools: tool, World: turns}},
		{"react, compacting if refused", react.New(react.Config{MaxSteps: 1, MaxRetries: -1, Compact: refused(compaction.Trim)}), explore.Options{Input: spoken(150), Tools: tool, World: turns}},
		{"react, that cannot write summaries", react.New(react.Config{MaxSteps: 1, Policy: unsummarized{}, Compact: within(compaction.Summarize, 6)}), explore.Options{Input: spoken(1500), Tools: tool, World: turns}},
		{"reason-act-observe, compacting if refused", rao.New(rao.Config{MaxSteps: 1, Compact: refused(compaction.Summarize)}), explore.Options{Input: spoken(150), Tools: tool, World: silent}},
		{"reason-act-observe, trimming if refused", rao.New(rao.Config{MaxSteps: 1, Compact: refused(compaction.Trim)}), explore.Options{Input: spoken(150), Tools: tool, World: silent}},
		{"reason-act-observe, compacting at its end", rao.New(rao.Config{MaxSteps: 1, Prompts: long, Compact: within(compaction.Summarize, 5)}), explore.Options{Input: spoken(300), Tools: tool, World: texts}},
		{"reason-act-observe, compacting after answers", rao.New(rao.Config{MaxSteps: 2, Compact: within(compaction.Summarize, 4)}), explore.Options{Input: spoken(300), Tools: tool, World: texts}},
	}
}

// curt is ReAct with a line of instructions.
type curt struct{ markdownpolicy.ReAct }

func (curt) FormatInstructions([]tools.Definition) string { return "Act." }

func (c curt) WithTools(defs []tools.Definition) markdownpolicy.Policy {
	c.ReAct, _ = c.ReAct.WithTools(defs).(markdownpolicy.ReAct)
	return c
}

// few are prompts that are hardly longer than a summary.
var few = compaction.Prompts{System: "S", Request: "{{.Transcript}}", Summary: "{{.Summary}}", Gap: "…"}

// within is a compaction within some hundred tokens.
func within(how compaction.How, hundreds int) *compaction.Config {
	return &compaction.Config{Window: 100 * hundreds, Keep: 1, How: how, MaxTokens: 8, MaxSummaries: 2, Prompts: few}
}

// spoken is a task after a conversation of so many bytes.
func spoken(bytes int) delegation.Input {
	return delegation.Input{Goal: "a task", Messages: messages.History{messages.UserText(strings.Repeat("x", bytes)), messages.AssistantText("yes")}}
}

// unsummarized is ReAct that cannot write summaries.
type unsummarized struct{ markdownpolicy.ReAct }

func (u unsummarized) FormatQuery(h messages.History) (messages.History, error) {
	for _, m := range h {
		if u, ok := m.(messages.User); ok && u.Summary {
			return nil, errors.New("no summaries")
		}
	}
	return u.ReAct.FormatQuery(h)
}

func (u unsummarized) WithTools(defs []tools.Definition) markdownpolicy.Policy {
	u.ReAct, _ = u.ReAct.WithTools(defs).(markdownpolicy.ReAct)
	return u
}
