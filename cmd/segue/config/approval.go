package config

import (
	"cmp"
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// approvals returns the policies of an agent. usual is for tools of which it says nothing.
func (a Agent) approvals(usual string) approve.Policies {
	return approve.Policies{Default: cmp.Or(a.Approval.Default, usual), Tools: a.Approval.Tools, Paths: a.Approval.Paths, Agents: a.children(asTool)}
}

// Approve judges each tool call by the approval of its agent; it asks about other calls that change
// something, unless the Options say otherwise. It is a [machine.ApprovalPolicy], for the Default of
// an [orchestrator.ApprovalConfig]. A file that was found can only make it stricter.
func (s *Setup) Approve(r machine.ApprovalRequest) machine.Verdict {
	own, ok := s.approvals[r.Strategy]
	switch {
	case !ok:
		return s.usual.Judge(r)
	case s.config.Found:
		return own.Within(s.usual).Judge(r)
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
