package orchestrator

import (
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// defaultLimits hold for each field of a run's limits that is zero, as delegation.Limits says.
var defaultLimits = delegation.Limits{
	Depth:        16,
	Steps:        1000,
	ModelCalls:   500,
	ToolCalls:    2000,
	InputTokens:  -1,
	OutputTokens: -1,
	TotalTokens:  -1,
}

// overlay returns the limits with each zero field taken from base.
func overlay(l, base delegation.Limits) delegation.Limits {
	return delegation.Limits{
		Depth:        either(l.Depth, base.Depth),
		Steps:        either(l.Steps, base.Steps),
		ModelCalls:   either(l.ModelCalls, base.ModelCalls),
		ToolCalls:    either(l.ToolCalls, base.ToolCalls),
		InputTokens:  either(l.InputTokens, base.InputTokens),
		OutputTokens: either(l.OutputTokens, base.OutputTokens),
		TotalTokens:  either(l.TotalTokens, base.TotalTokens),
	}
}

// left returns the limits of a subtree that is to start depth frames below f, no wider than what f
// has left.
func (f *frame) left(l delegation.Limits, depth int) delegation.Limits {
	have, used := f.limits, f.used
	return delegation.Limits{
		Depth:        tighter(l.Depth, have.Depth, depth),
		Steps:        tighter(l.Steps, have.Steps, used.steps),
		ModelCalls:   tighter(l.ModelCalls, have.ModelCalls, used.modelCalls),
		ToolCalls:    tighter(l.ToolCalls, have.ToolCalls, used.toolCalls),
		InputTokens:  tighter(l.InputTokens, have.InputTokens, used.usage.Input),
		OutputTokens: tighter(l.OutputTokens, have.OutputTokens, used.usage.Output),
		TotalTokens:  tighter(l.TotalTokens, have.TotalTokens, used.usage.Total),
	}
}

// tighter returns the smaller of a limit and what is left of another, in which negative means none.
// Nothing left is 1, since 0 would mean the default.
func tighter[N int | int64](limit, have, used N) N {
	if have < 0 {
		return limit
	}
	rest := max(1, have-used)
	if limit <= 0 {
		return rest
	}
	return min(limit, rest)
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// noLimits are the own limits of a frame that was given none: its parents' still hold.
var noLimits = delegation.Limits{Depth: -1, Steps: -1, ModelCalls: -1, ToolCalls: -1, InputTokens: -1, OutputTokens: -1, TotalTokens: -1}

// tally is what a frame and everything below it has used.
type tally struct {
	steps      int
	modelCalls int
	toolCalls  int
	usage      messages.Usage
	elapsed    time.Duration
}

// spent is the tally of runs that were made within a step.
func spent(s nextstep.Spent) tally {
	return tally{steps: s.Steps, modelCalls: s.ModelCalls, toolCalls: s.ToolCalls, usage: s.Usage}
}

func (t *tally) add(u *tally) {
	t.steps += u.steps
	t.modelCalls += u.modelCalls
	t.toolCalls += u.toolCalls
	t.usage = t.usage.Add(u.usage)
	t.elapsed += u.elapsed
}

// passed names the first limit that one more step would pass; "" if it may be taken.
func (t *tally) passed(l *delegation.Limits, modelCalls, toolCalls int) (string, int64) {
	switch {
	case l.Steps >= 0 && t.steps+1 > l.Steps:
		return "steps", int64(l.Steps)
	case modelCalls > 0 && l.ModelCalls >= 0 && t.modelCalls+modelCalls > l.ModelCalls:
		return "model_calls", int64(l.ModelCalls)
	case toolCalls > 0 && l.ToolCalls >= 0 && t.toolCalls+toolCalls > l.ToolCalls:
		return "tool_calls", int64(l.ToolCalls)
	case modelCalls == 0: // how many tokens a call will take is not known before: none is made once they are used up
		return "", 0
	case l.InputTokens >= 0 && t.usage.Input >= l.InputTokens:
		return "input_tokens", l.InputTokens
	case l.OutputTokens >= 0 && t.usage.Output >= l.OutputTokens:
		return "output_tokens", l.OutputTokens
	case l.TotalTokens >= 0 && t.usage.Total >= l.TotalTokens:
		return "total_tokens", l.TotalTokens
	}
	return "", 0
}

// asked is the tally of one model call and of the attempts hidden behind it.
func asked(u messages.Usage, attempts []llmclient.Attempt, elapsed time.Duration) tally {
	t := tally{modelCalls: 1 + len(attempts), usage: whole(u), elapsed: elapsed}
	for _, a := range attempts {
		t.usage = t.usage.Add(whole(a.Usage))
	}
	return t
}

// whole fills in the total where a provider gave none.
func whole(u messages.Usage) messages.Usage {
	if u.Total == 0 {
		u.Total = messages.Usage{Total: u.Input}.Add(messages.Usage{Total: u.Output}).Total
	}
	return u
}
