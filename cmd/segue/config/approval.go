package config

import (
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// approvals returns the policies of an agent.
func (a Agent) approvals() approve.Policies {
	return approve.Policies{Default: a.Approval.Default, Tools: a.Approval.Tools, Paths: a.Approval.Paths, Agents: a.children(asTool)}
}

// Approve judges each tool call by the approval of its agent; it asks about other calls that change
// something. It is a [machine.ApprovalPolicy], for the Default of an [orchestrator.ApprovalConfig].
// A file that was found can only make it stricter.
func (s *Setup) Approve(r machine.ApprovalRequest) machine.Verdict {
	usual := approve.Policies{Agents: s.Callable}
	own, ok := s.approvals[r.Strategy]
	switch {
	case !ok:
		return usual.Judge(r)
	case s.config.Found:
		return own.Within(usual).Judge(r)
	default:
		return own.Judge(r)
	}
}

// ApprovalSaid returns what the approval of an agent says, such as "default: always", "write_file:
// ask" and "write_file src/**: always", and which of that allows more than the default. The latter
// is ignored in a file that was found.
func (a Agent) ApprovalSaid() (all, looser []string) {
	say := func(tool, what, word string) {
		if word == "" {
			return
		}
		all = append(all, what+": "+word)
		harmless := slices.Contains(toolNames, tool) && !workfolder.Changes(tool) || slices.Contains(a.children(asTool), tool)
		if approve.Loosens(word) && !harmless {
			looser = append(looser, what+": "+word)
		}
	}
	say("", "default", a.Approval.Default)
	for _, tool := range sortedKeys(a.Approval.Tools) {
		say(tool, tool, a.Approval.Tools[tool])
	}
	for _, tool := range sortedKeys(a.Approval.Paths) {
		for _, glob := range sortedKeys(a.Approval.Paths[tool]) {
			say(tool, tool+" "+glob, a.Approval.Paths[tool][glob])
		}
	}
	return all, looser
}
