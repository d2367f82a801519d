package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/machine"
)

// ApprovalConfig says which tool calls need a person's approval. Calls are judged before any
// middleware sees them, so people see the arguments as the model wrote them. An approval is for
// that call of that step of that run with those arguments, once: a middleware that changes them has
// the call refused. A call that was simply allowed is judged again as changed.
//
// A refused call is a failed result with the reason, for the model. Calls that need no approval do
// not wait for those that do. But the call of a Sequential tool waits for those before it in its
// batch, and those behind wait for that call.
type ApprovalConfig struct {
	Default ApprovalPolicy            // for tools that are not in Tools and do not say NeedsApproval; nil: AskIfChanging
	Tools   map[string]ApprovalPolicy // by name, which must be that of a tool of the Config or of a strategy
	Expires time.Duration             // how long an approval may be given after it was asked for; 0: 24 hours; negative: for ever
}

// policy returns the one policy that the config stands for; nil if there is no config: then tools
// whose Definition says NeedsApproval are asked about, and no others.
func (c *ApprovalConfig) policy() ApprovalPolicy {
	if c == nil {
		return nil
	}
	byDefault, byTool := c.Default, maps.Clone(c.Tools)
	if byDefault == nil {
		byDefault = machine.AskIfChanging
	}
	return func(r ApprovalRequest) Verdict {
		switch policy := byTool[r.Definition.Name]; {
		case policy != nil:
			return policy(r)
		case r.Definition.NeedsApproval:
			return VerdictAsk
		default:
			return byDefault(r)
		}
	}
}

// check says which rules are for tools that there are not, each with the names that are near.
func (c *ApprovalConfig) check(names []string) error {
	if c == nil {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if slices.Contains(names, name) {
			continue
		}
		unknown = append(unknown, fmt.Sprintf("%q%s", name, meant(name, names)))
	}
	if unknown == nil {
		return nil
	}
	return &ConfigError{Field: "Approve", Err: fmt.Errorf("rules name tools that there are not: %s; %s", strings.Join(unknown, ", "), thereAre(names))}
}

// nearest returns the name that a misspelt one is most likely to stand for; "" if none is near.
func nearest(name string, names []string) string {
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range names {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits counts the letters to put in, leave out or replace that make one name of another
// (Levenshtein's distance).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
