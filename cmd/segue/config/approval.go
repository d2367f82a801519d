package config

import (
	"cmp"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// The words for approval, in a file and for --approve.
const (
	ApproveAsk       = "ask"       // the user is asked about calls that change something
	ApproveAlways    = "always"    // all calls are made
	ApproveNever     = "never"     // calls that change something are refused
	ApproveUntrusted = "untrusted" // the user is asked about calls that change something, as soon as the run has read text from outside
)

// ApprovalWords lists the words, the default first.
var ApprovalWords = []string{ApproveAsk, ApproveAlways, ApproveNever, ApproveUntrusted}

// approvalPolicy returns the policy for a word of --approve. It always allows calls that change
// nothing.
func approvalPolicy(word string) machine.ApprovalPolicy {
	switch word {
	case ApproveAlways:
		return machine.AllowAlways
	case ApproveNever:
		return ifChanging(machine.AllowNever)
	case ApproveUntrusted:
		return ifChanging(machine.AskIfUntrusted)
	default:
		return machine.AskIfChanging
	}
}

// toolPolicy returns the policy for a word that is given for a single tool. It also applies to
// calls that only read.
func toolPolicy(word string) machine.ApprovalPolicy {
	switch word {
	case ApproveAlways:
		return machine.AllowAlways
	case ApproveNever:
		return machine.AllowNever
	case ApproveUntrusted:
		return machine.AskIfUntrusted
	default:
		return machine.AskAlways
	}
}

// ifChanging applies a policy to tools that are not read-only, and allows all others.
func ifChanging(policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	return func(r machine.ApprovalRequest) machine.Verdict {
		if r.Definition.ReadOnly {
			return machine.VerdictAllow
		}
		return policy(r)
	}
}

// ApprovalPolicies holds approval policies by the names of tools.
type ApprovalPolicies struct {
	usual machine.ApprovalPolicy
	tools map[string]machine.ApprovalPolicy
}

// NewApprovalPolicies returns the policies for a word; an unknown word means [ApproveAsk]. Calling
// one of the agents as a tool needs no approval, but the agent's own calls may.
func NewApprovalPolicies(word string, agents []string) ApprovalPolicies {
	made := ApprovalPolicies{approvalPolicy(word), map[string]machine.ApprovalPolicy{}}
	for _, name := range agents {
		made.tools[name] = machine.AllowAlways
	}
	return made
}

// Loosened returns the words of an agent's approval that allow more than the default, such as
// "default: always". They are ignored in a file that was found.
func (a Agent) Loosened() []string {
	return a.Approval.words(func(tool, word string) bool {
		return isLooser(word) && (tool == "" || workfolder.Changes(tool) || !slices.Contains(toolNames, tool) && !slices.Contains(a.children(asTool), tool))
	})
}

// approvals returns the policies of an agent.
func (a Agent) approvals() ApprovalPolicies {
	made := NewApprovalPolicies(cmp.Or(a.Approval.Default, ApproveAsk), a.children(asTool))
	for tool, word := range a.Approval.Tools {
		made.tools[tool] = toolPolicy(word)
	}
	for tool, paths := range a.Approval.Paths {
		made.tools[tool] = byPath(paths, made.of(tool))
	}
	return made
}

// of returns the policy for a tool.
func (a ApprovalPolicies) of(tool string) machine.ApprovalPolicy {
	if policy, ok := a.tools[tool]; ok {
		return policy
	}
	return a.usual
}

// within returns the stricter of a and bound for each call.
func (a ApprovalPolicies) within(bound ApprovalPolicies) ApprovalPolicies {
	made := ApprovalPolicies{stricter(a.usual, bound.usual), map[string]machine.ApprovalPolicy{}}
	for _, tools := range []map[string]machine.ApprovalPolicy{a.tools, bound.tools} {
		for tool := range tools {
			made.tools[tool] = stricter(a.of(tool), bound.of(tool))
		}
	}
	return made
}

// stricter returns a policy with the stricter verdict of two policies.
func stricter(a, b machine.ApprovalPolicy) machine.ApprovalPolicy {
	return func(r machine.ApprovalRequest) machine.Verdict {
		return workfolder.Stricter(a(r), b(r))
	}
}

// Policy combines the policies of all tools into one [machine.ApprovalPolicy].
func (a ApprovalPolicies) Policy(r machine.ApprovalRequest) machine.Verdict {
	return a.of(r.Definition.Name)(r)
}

// Approver judges the tool calls of one run, each by the policies of the agent that makes the call.
// An Approver is safe for concurrent use.
type Approver struct {
	usual machine.ApprovalPolicy            // for all other strategies
	own   map[string]machine.ApprovalPolicy // policies of agents, by the names of their strategies
}

// NewApprover returns an Approver for a run. own holds the policies of agents, by the names of
// their strategies; usual is for all others.
func NewApprover(usual ApprovalPolicies, own map[string]ApprovalPolicies) *Approver {
	made := &Approver{usual: usual.Policy, own: map[string]machine.ApprovalPolicy{}}
	for strategy, said := range own {
		made.own[strategy] = said.Policy
	}
	return made
}

// Policy is an [machine.ApprovalPolicy], for the Default of an [orchestrator.ApprovalConfig].
func (a *Approver) Policy(r machine.ApprovalRequest) machine.Verdict {
	if policy, ok := a.own[r.Strategy]; ok {
		return policy(r)
	}
	return a.usual(r)
}

// pathRule is a word for the paths of a glob.
type pathRule struct {
	glob   workfolder.PathGlob
	looser bool // it may allow a call that others ask about
	policy machine.ApprovalPolicy
}

// byPath returns the policy for a tool whose calls are judged by the paths of their files. Of all
// globs that match, the strictest word counts, and for other paths policy. A looser word counts for
// exactly the paths that it names; a stricter one also for those that differ in case alone. A call
// without a path that can be read is judged by all of them.
func byPath(paths map[string]string, policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	var rules []pathRule
	for _, text := range sortedKeys(paths) {
		glob, err := workfolder.ParsePathGlob(text)
		if err != nil {
			return machine.AskAlways // not in a checked file
		}
		rules = append(rules, pathRule{glob, isLooser(paths[text]), toolPolicy(paths[text])})
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		path, ok := workfolder.PathIn(r.Call.Arguments)
		var verdicts []machine.Verdict
		for _, rule := range rules {
			if !ok || rule.glob.Matches(path, !rule.looser) {
				verdicts = append(verdicts, rule.policy(r))
			}
		}
		if !ok || len(verdicts) == 0 {
			verdicts = append(verdicts, policy(r))
		}
		strictest := verdicts[0]
		for _, v := range verdicts[1:] {
			strictest = workfolder.Stricter(strictest, v)
		}
		return strictest
	}
}

// isLooser reports whether a word allows calls that change something and that the default asks
// about.
func isLooser(word string) bool { return word == ApproveAlways || word == ApproveUntrusted }

// Words returns what the approval says, such as "default: always", "write_file: ask" and
// "write_file src/**: always".
func (a Approval) Words() []string {
	return a.words(func(string, string) bool { return true })
}

// words returns what the approval says of those tools and with those words for which is returns
// true. The tool is "" for the default.
func (a Approval) words(is func(tool, word string) bool) []string {
	var said []string
	if a.Default != "" && is("", a.Default) {
		said = append(said, "default: "+a.Default)
	}
	for _, tool := range sortedKeys(a.Tools) {
		if is(tool, a.Tools[tool]) {
			said = append(said, tool+": "+a.Tools[tool])
		}
	}
	for _, tool := range sortedKeys(a.Paths) {
		for _, glob := range sortedKeys(a.Paths[tool]) {
			if is(tool, a.Paths[tool][glob]) {
				said = append(said, tool+" "+glob+": "+a.Paths[tool][glob])
			}
		}
	}
	return said
}
