package config

import (
	"cmp"
	"slices"
	"sync"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/orchestrator"
)

// The words for approval, as they stand in a file and behind --approve.
const (
	ApproveAsk       = "ask"       // calls that change something are asked about
	ApproveAlways    = "always"    // all calls are made
	ApproveNever     = "never"     // calls that change something are refused
	ApproveUntrusted = "untrusted" // calls that change something are asked about once text from outside has been read
)

// ApprovalWords are all of the words, the default first.
var ApprovalWords = []string{ApproveAsk, ApproveAlways, ApproveNever, ApproveUntrusted}

// approvalPolicy is what a word of --approve stands for. Calls that change nothing are always made.
func approvalPolicy(word string) orchestrator.ApprovalPolicy {
	switch word {
	case ApproveAlways:
		return orchestrator.AllowAlways
	case ApproveNever:
		return ifChanging(orchestrator.AllowNever)
	case ApproveUntrusted:
		return ifChanging(orchestrator.AskIfUntrusted)
	default:
		return orchestrator.AskIfChanging
	}
}

// toolPolicy is what a word stands for where it is said of one tool: of what it reads as well.
func toolPolicy(word string) orchestrator.ApprovalPolicy {
	switch word {
	case ApproveAlways:
		return orchestrator.AllowAlways
	case ApproveNever:
		return orchestrator.AllowNever
	case ApproveUntrusted:
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

// ApprovalPolicies say which tool calls are made, by the names of the tools.
type ApprovalPolicies struct {
	usual orchestrator.ApprovalPolicy
	tools map[string]orchestrator.ApprovalPolicy
}

// NewApprovalPolicies returns what a word for approval stands for; one that is none of them stands
// for [ApproveAsk]. To call one of the agents as a tool needs no approval: what the agent does may.
func NewApprovalPolicies(word string, agents []string) ApprovalPolicies {
	made := ApprovalPolicies{approvalPolicy(word), map[string]orchestrator.ApprovalPolicy{}}
	for _, name := range agents {
		made.tools[name] = orchestrator.AllowAlways
	}
	return made
}

// Loosened returns the words of an agent's approval that allow more than a run does by itself, such
// as "default: always". A file that was found is not followed there.
func (a Agent) Loosened() []string {
	looser := func(word string) bool { return word == ApproveAlways || word == ApproveUntrusted }
	var said []string
	if looser(a.Approval.Default) {
		said = append(said, "default: "+a.Approval.Default)
	}
	for _, tool := range sortedKeys(a.Approval.Tools) {
		if word := a.Approval.Tools[tool]; tool == workfolder.WriteFile && looser(word) {
			said = append(said, tool+": "+word)
		}
	}
	return said
}

// approvals returns what an agent says of its tool calls.
func (a Agent) approvals() ApprovalPolicies {
	made := NewApprovalPolicies(cmp.Or(a.Approval.Default, ApproveAsk), a.children(asTool))
	for tool, word := range a.Approval.Tools {
		made.tools[tool] = toolPolicy(word)
	}
	return made
}

// of returns what is said of a tool.
func (a ApprovalPolicies) of(tool string) orchestrator.ApprovalPolicy {
	if policy, ok := a.tools[tool]; ok {
		return policy
	}
	return a.usual
}

// within returns approvals that allow no call that bound does not, and ask about none that bound
// refuses.
func (a ApprovalPolicies) within(bound ApprovalPolicies) ApprovalPolicies {
	made := ApprovalPolicies{stricter(a.usual, bound.usual), map[string]orchestrator.ApprovalPolicy{}}
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

// Policy is what is said of each tool, as one [orchestrator.ApprovalPolicy].
func (a ApprovalPolicies) Policy(r orchestrator.ApprovalRequest) orchestrator.Verdict {
	return a.of(r.Definition.Name)(r)
}

// Approver judges the tool calls of one run, each by what is said of the agent that makes it. The
// agent of a frame is known by its strategy, as the events of the run tell it: whoever reads them
// hands each of them to [Approver.Observe]. Several goroutines may use it at once.
type Approver struct {
	usual  orchestrator.ApprovalPolicy            // for the frames of all others
	own    map[string]orchestrator.ApprovalPolicy // of agents, by their strategies
	frames sync.Map                               // of the policies of agents, by frame
}

// NewApprover returns an Approver for a run. What is said of an agent is by the name of its
// strategy; usual is for all others.
func NewApprover(usual ApprovalPolicies, own map[string]ApprovalPolicies) *Approver {
	made := &Approver{usual: usual.Policy, own: map[string]orchestrator.ApprovalPolicy{}}
	for strategy, said := range own {
		made.own[strategy] = said.Policy
	}
	return made
}

// Observe notes which frames are those of agents.
func (a *Approver) Observe(e orchestrator.Event) {
	switch d := e.Detail.(type) {
	case orchestrator.FrameEntered:
		if policy, ok := a.own[d.Strategy]; ok {
			a.frames.Store(e.Frame, policy)
		}
	case orchestrator.FrameLeft:
		a.frames.Delete(e.Frame)
	}
}

// Policy is an [orchestrator.ApprovalPolicy], for the Default of an [orchestrator.ApprovalConfig].
// A call that a frame makes before the event of its beginning is observed, so without having asked
// a model, is judged as usual.
func (a *Approver) Policy(r orchestrator.ApprovalRequest) orchestrator.Verdict {
	if policy, ok := a.frames.Load(r.Frame); ok {
		return policy.(orchestrator.ApprovalPolicy)(r)
	}
	return a.usual(r)
}
