package main

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// The words of --approve.
const (
	approveAsk       = "ask"
	approveAlways    = "always"
	approveNever     = "never"
	approveUntrusted = "untrusted"
)

// approvalWords are all of them, the usual one first.
var approvalWords = []string{approveAsk, approveAlways, approveNever, approveUntrusted}

// approvalPolicy is what a word of --approve stands for. Calls that change nothing are always made.
func approvalPolicy(word string) orchestrator.ApprovalPolicy {
	switch word {
	case approveAlways:
		return orchestrator.AllowAlways
	case approveNever:
		return ifChanging(orchestrator.AllowNever)
	case approveUntrusted:
		return ifChanging(orchestrator.AskIfUntrusted)
	default:
		return orchestrator.AskIfChanging
	}
}

// toolPolicy is what a word stands for where it is said of one tool: of what it reads as well.
func toolPolicy(word string) orchestrator.ApprovalPolicy {
	switch word {
	case approveAlways:
		return orchestrator.AllowAlways
	case approveNever:
		return orchestrator.AllowNever
	case approveUntrusted:
		return orchestrator.AskIfUntrusted
	default:
		return orchestrator.AskAlways
	}
}

// ifChanging is a policy for tools that are not read-only.
func ifChanging(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		if r.Definition.ReadOnly {
			return orchestrator.VerdictAllow
		}
		return policy(r)
	}
}

// approvals say which tool calls are made.
type approvals struct {
	usual orchestrator.ApprovalPolicy
	tools map[string]orchestrator.ApprovalPolicy
}

// newApprovals returns what a word of --approve stands for. To call an agent needs no approval:
// what it does may.
func newApprovals(word string, agents []string) approvals {
	made := approvals{approvalPolicy(word), map[string]orchestrator.ApprovalPolicy{}}
	for _, name := range agents {
		made.tools[name] = orchestrator.AllowAlways
	}
	return made
}

// loosened returns the words of an agent's approval that allow more than the command line does by
// itself. A file that was found is not followed there.
func (a agentConfig) loosened() []string {
	looser := func(word string) bool { return word == approveAlways || word == approveUntrusted }
	var said []string
	if looser(a.Approval.Default) {
		said = append(said, "default: "+a.Approval.Default)
	}
	for _, tool := range sortedKeys(a.Approval.Tools) {
		if word := a.Approval.Tools[tool]; tool == writeFile && looser(word) {
			said = append(said, tool+": "+word)
		}
	}
	return said
}

// approvals returns what an agent says of its tool calls.
func (a agentConfig) approvals() approvals {
	made := newApprovals(cmp.Or(a.Approval.Default, approveAsk), a.children(asTool))
	for tool, word := range a.Approval.Tools {
		made.tools[tool] = toolPolicy(word)
	}
	return made
}

// of returns what is said of a tool.
func (a approvals) of(tool string) orchestrator.ApprovalPolicy {
	if policy, ok := a.tools[tool]; ok {
		return policy
	}
	return a.usual
}

// within returns approvals that allow no call that bound does not, and ask about none that bound
// refuses.
func (a approvals) within(bound approvals) approvals {
	made := approvals{stricter(a.usual, bound.usual), map[string]orchestrator.ApprovalPolicy{}}
	for _, tools := range []map[string]orchestrator.ApprovalPolicy{a.tools, bound.tools} {
		for tool := range tools {
			made.tools[tool] = stricter(a.of(tool), bound.of(tool))
		}
	}
	return made
}

// stricter is a policy with the stricter verdict of two: to refuse, to ask, to allow.
func stricter(a, b orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		switch verdicts := []orchestrator.Verdict{a(r), b(r)}; {
		case slices.Contains(verdicts, orchestrator.VerdictRefuse):
			return orchestrator.VerdictRefuse
		case verdicts[0] == verdicts[1]:
			return verdicts[0]
		default:
			return orchestrator.VerdictAsk
		}
	}
}

// middleware has calls of the tools of a run approved, each policy as wrap makes it. Somebody at a
// terminal may take as long as it takes. What is said of a tool that exists and that the run is not
// given, such as one that writes, is left out: names of no tool at all were found when the
// configuration was checked.
func (a approvals) middleware(wrap func(orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy, given []tools.Tool) orchestrator.Middleware {
	cfg := orchestrator.ApprovalConfig{Default: wrap(a.usual), Tools: map[string]orchestrator.ApprovalPolicy{}, Expires: -1}
	for _, t := range given {
		name := t.Definition().Name
		if policy, ok := a.tools[name]; ok {
			cfg.Tools[name] = wrap(policy)
		}
	}
	return orchestrator.Approve(cfg)
}

// byAgent is a middleware with approvals of their own for the agents, by their addresses, and usual
// for all others. Whose a frame is shows in what it asks its model.
func byAgent(usual orchestrator.Middleware, agents map[string]orchestrator.Middleware) orchestrator.Middleware {
	return func(next orchestrator.Handler) orchestrator.Handler {
		other, own := usual(next), map[string]orchestrator.Handler{}
		for address, approve := range agents {
			own[address] = approve(next)
		}
		var frames sync.Map // of orchestrator.Handler by frame
		return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
			frame := call.Run + " " + call.Frame
			if step, ok := call.Step.(nextstep.GetChatCompletion); ok {
				if handler, ok := own[step.Request.Model]; ok {
					frames.Store(frame, handler)
				}
				return next(ctx, call)
			}
			if handler, ok := frames.Load(frame); ok {
				return handler.(orchestrator.Handler)(ctx, call)
			}
			return other(ctx, call)
		}
	}
}
