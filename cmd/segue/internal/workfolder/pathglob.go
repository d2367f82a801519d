package workfolder

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segue-go/segue/machine"
)

// PathGlob matches whole paths within the folder: src/** is everything below src. Each name is a
// pattern in the syntax of [path.Match], or ** for any number of names. A glob without a slash
// matches a name in any folder.
type PathGlob []string

// ParsePathGlob parses a glob.
func ParsePathGlob(text string) (PathGlob, error) {
	names := PathGlob(strings.Split(text, "/"))
	for _, name := range names {
		if _, err := path.Match(name, ""); err != nil || slices.Contains([]string{"", ".", ".."}, name) {
			return nil, fmt.Errorf("%.200q is not a glob of paths within the folder, such as src/** or *.md", text)
		}
	}
	if len(names) == 1 {
		names = append(PathGlob{"**"}, names...)
	}
	return names, nil
}

// Matches reports whether a cleaned path is one of the glob. With fold, case is ignored.
func (g PathGlob) Matches(name string, fold bool) bool {
	names := strings.Split(name, "/")
	if fold {
		folded := slices.Clone(g)
		for i := range folded {
			folded[i] = foldCase(folded[i])
		}
		for i := range names {
			names[i] = foldCase(bareName(names[i]))
		}
		g = folded
	}
	return g.matches(names)
}

// matches tries each number of names for the first **. It keeps what does not match, so that the
// time is bounded by the product of the lengths.
func (g PathGlob) matches(names []string) bool {
	reached := make([]bool, len(names)+1) // the numbers of names that the patterns so far can match
	reached[0] = true
	for _, pattern := range g {
		next := make([]bool, len(names)+1)
		for n := range reached {
			switch {
			case pattern == "**":
				next[n] = reached[n] || n > 0 && next[n-1]
			case n > 0:
				next[n] = reached[n-1] && fits(pattern, names[n-1])
			}
		}
		reached = next
	}
	return reached[len(names)]
}

// PathIn returns the cleaned path in the arguments of a tool of the folder, the folder itself being
// "."; false if there is none that can be read.
func PathIn(arguments string) (string, bool) {
	var said struct {
		Path string `json:"path"`
	}
	if strings.TrimSpace(arguments) != "" && json.Unmarshal([]byte(arguments), &said) != nil {
		return "", false
	}
	return path.Clean(filepath.ToSlash(said.Path)), true
}

// ByPlace wraps a policy that goes by the paths of files. A call whose path leads over links is
// judged at each place on its way too, and gets the strictest verdict: refuse, ask, allow.
func (f *Folder) ByPlace(policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	if f == nil {
		return policy
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		verdict := policy(r)
		t, ok := f.TargetOf(r.Call.Name, r.Call.Arguments)
		if !ok {
			return verdict
		}
		for _, place := range t.through {
			if place == t.Name {
				continue
			}
			arguments, err := json.Marshal(map[string]string{"path": place})
			if err != nil {
				return machine.VerdictAsk
			}
			r.Call.Arguments = string(arguments)
			verdict = Stricter(verdict, policy(r))
		}
		return verdict
	}
}

// Stricter returns the stricter of two verdicts. The order is refuse, ask, allow.
func Stricter(a, b machine.Verdict) machine.Verdict {
	switch {
	case a == machine.VerdictRefuse || b == machine.VerdictRefuse:
		return machine.VerdictRefuse
	case a == b:
		return a
	default:
		return machine.VerdictAsk
	}
}
