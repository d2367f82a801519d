// Package approve judges tool calls by the words for approval, of a configuration and of --approve.
package approve

import (
	"slices"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
)

// The words for approval.
const (
	Ask       = "ask"       // the user is asked about calls that change something
	Always    = "always"    // all calls are made
	Never     = "never"     // calls that change something are refused
	Untrusted = "untrusted" // the user is asked about calls that change something, as soon as the run has read text from outside
)

// Words lists the words, the default first.
var Words = []string{Ask, Always, Never, Untrusted}

// Loosens reports whether a word allows calls that change something and that the default asks
// about.
func Loosens(word string) bool { return word == Always || word == Untrusted }

// Policies say which tool calls need an approval. The zero value asks about those that change
// something.
type Policies struct {
	Default string                       // for tools that are not named, if they change something
	Tools   map[string]string            // by the name of a tool: also for calls that only read
	Paths   map[string]map[string]string // by the name of a tool for files, and a glob
	Agents  []string                     // calling one of them as a tool needs no approval, but its own calls may
	bound   *Policies
}

// Within returns policies that are never looser than the bound.
func (p Policies) Within(bound Policies) Policies {
	p.bound = &bound
	return p
}

// Judge is a [machine.ApprovalPolicy].
func (p Policies) Judge(r machine.ApprovalRequest) machine.Verdict {
	tool := r.Definition.Name
	word, named := p.Tools[tool]
	verdict := judge(p.Default, r)
	switch {
	case named:
		verdict = judge(word, r)
	case slices.Contains(p.Agents, tool), r.Definition.ReadOnly:
		verdict = machine.VerdictAllow
	}
	if paths := p.Paths[tool]; paths != nil {
		verdict = byPath(paths, r, verdict)
	}
	if p.bound != nil {
		verdict = workfolder.Stricter(verdict, p.bound.Judge(r))
	}
	return verdict
}

// judge judges a call by a word, whether it changes something or not.
func judge(word string, r machine.ApprovalRequest) machine.Verdict {
	switch word {
	case Always:
		return machine.VerdictAllow
	case Never:
		return machine.VerdictRefuse
	case Untrusted:
		return machine.AskIfUntrusted(r)
	default:
		return machine.VerdictAsk
	}
}

// byPath judges a call by the path of its file. Of all globs that match, the strictest word counts,
// and for other paths the verdict so far. A looser word counts for exactly the paths that it names;
// a stricter one also for those that differ in case alone. A call without a path that can be read
// is judged by all of them.
func byPath(paths map[string]string, r machine.ApprovalRequest, verdict machine.Verdict) machine.Verdict {
	path, ok := workfolder.PathIn(r.Call.Arguments)
	first := ok
	for text, word := range paths {
		glob, err := workfolder.ParsePathGlob(text)
		if err != nil {
			return machine.VerdictAsk // not in a checked file
		}
		if ok && !glob.Matches(path, !Loosens(word)) {
			continue
		}
		own := judge(word, r)
		if !first {
			own = workfolder.Stricter(verdict, own)
		}
		verdict, first = own, false
	}
	return verdict
}
