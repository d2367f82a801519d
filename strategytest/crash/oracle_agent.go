package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// branches has an agent work on each input that a call stands for, and makes one result of theirs.
func (o *oracle) branches(ctx context.Context, a *actor, c messages.ToolCall, def *tools.Definition, agent *machine.Agent) messages.ToolOutput {
	out := messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonError}
	inputs, several, err := agent.Inputs(c.Arguments)
	if err != nil {
		if _, ok := errors.AsType[*tools.ArgumentError](err); ok {
			out.Reason = tools.ReasonArguments
		}
		out.Output = err.Error()
		return out
	}
	texts, failed, outside := make([]string, len(inputs)), make([]bool, len(inputs)), def.Untrusted
	for i, in := range inputs {
		child, err := o.actor(a, c.ID, agent.Strategy, in)
		if err != nil {
			texts[i], failed[i] = err.Error(), true
			a.ended = append(a.ended, strategy.BranchOutput{CallID: c.ID, NoChild: true, Output: delegation.Output{Err: &delegation.Error{Code: delegation.CodeInvalid, Message: err.Error()}}})
			continue
		}
		child.allowed, child.outside, child.news = a.allowed, new(*a.outside || holdsUntrusted(in.Messages)), new(int)
		if agent.Tools != nil {
			child.allowed = named(a.allowed, agent.Tools)
		}
		left := o.play(ctx, child, machine.FrameEntered{Context: a.shares(in), CallID: c.ID, Tool: c.Name})
		texts[i], failed[i] = said(c.Name, &left)
		a.ended = append(a.ended, strategy.BranchOutput{CallID: c.ID, Output: left})
		outside = outside || *child.outside
	}
	text, allFailed := joined(texts, failed, several)
	if !allFailed {
		out.Status, out.Reason = messages.StatusOK, ""
	}
	out.Output = textcut.Fit(text, cmp.Or(def.MaxResult, o.cfg.MaxToolResult, tools.DefaultMaxResult))
	out.Untrusted = outside
	return out
}

// said is what a branch leaves its caller.
func said(agent string, out *delegation.Output) (text string, failed bool) {
	if out.Err == nil {
		return out.Text(), false
	}
	text = fmt.Sprintf("machine: agent %s ended as %s: %s", agent, statusOf(out.Err), out.Err.Message)
	if out.Text() != "" {
		text += "\nIt had reached this:\n" + out.Text()
	}
	return text, true
}

// joined makes one text of what the branches of a call have left.
func joined(texts []string, failed []bool, several bool) (text string, allFailed bool) {
	if !several {
		return texts[0], failed[0]
	}
	allFailed = true
	for i := range texts {
		allFailed = allFailed && failed[i]
		if failed[i] {
			texts[i] = "failed: " + texts[i]
		}
	}
	list, err := json.Marshal(texts)
	if err != nil {
		panic(unsupported(err.Error()))
	}
	return string(list), allFailed
}
