package config

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/machine"
)

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

// checkPaths finds tools that are for no files, and globs that are none.
func (c *Config) checkPaths(name string) (found []Problem) {
	at := within("/agents", name) + "/approval/paths"
	paths := c.Agents[name].Approval.Paths
	for _, tool := range sortedKeys(paths) {
		if !slices.Contains(workfolder.ToolNames, tool) {
			found = append(found, c.problem(within(at, tool), "no tool %q for files%s; there are: %s", tool, similar.Aside(tool, workfolder.ToolNames), strings.Join(workfolder.ToolNames, ", ")))
		}
		for _, glob := range sortedKeys(paths[tool]) {
			if _, err := workfolder.ParsePathGlob(glob); err != nil {
				found = append(found, c.problem(within(within(at, tool), glob), "%v", err))
			}
		}
	}
	return found
}
