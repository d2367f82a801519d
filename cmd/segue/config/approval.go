package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/segue-go/segue/orchestrator"
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

// policy is what is said of each tool, as one policy.
func (a approvals) policy(r orchestrator.ApprovalRequest) orchestrator.Verdict {
	return a.of(r.Definition.Name)(r)
}

// judge judges the calls of a run, each by what is said of the agent that makes it. The agent of a
// frame is known by its strategy, as the events of the run tell it.
type judge struct {
	usual  orchestrator.ApprovalPolicy            // for the frames of all others
	own    map[string]orchestrator.ApprovalPolicy // of agents, by their strategies
	frames sync.Map                               // of the policies of agents, by frame
}

// newJudge returns a judge for a run. What is said of an agent is by the name of its strategy; usual
// is for all others.
func newJudge(usual approvals, own map[string]approvals) *judge {
	made := &judge{usual: usual.policy, own: map[string]orchestrator.ApprovalPolicy{}}
	for strategy, said := range own {
		made.own[strategy] = said.policy
	}
	return made
}

// hear notes which frames are those of agents.
func (j *judge) hear(e orchestrator.Event) {
	switch d := e.Detail.(type) {
	case orchestrator.FrameEntered:
		if policy, ok := j.own[d.Strategy]; ok {
			j.frames.Store(e.Frame, policy)
		}
	case orchestrator.FrameLeft:
		j.frames.Delete(e.Frame)
	}
}

// policy is an [orchestrator.ApprovalPolicy]. A call that a frame makes before the event of its
// beginning is told, so without having asked a model, is judged as usual.
func (j *judge) policy(r orchestrator.ApprovalRequest) orchestrator.Verdict {
	if policy, ok := j.frames.Load(r.Frame); ok {
		return policy.(orchestrator.ApprovalPolicy)(r)
	}
	return j.usual(r)
}
