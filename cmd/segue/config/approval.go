package config

import (
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// Loosened returns the words of an agent's approval that allow more than the default, such as
// "default: always". They are ignored in a file that was found.
func (a Agent) Loosened() []string {
	return a.Approval.words(func(tool, word string) bool {
		return approve.Loosens(word) && (tool == "" || workfolder.Changes(tool) || !slices.Contains(toolNames, tool) && !slices.Contains(a.children(asTool), tool))
	})
}

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
