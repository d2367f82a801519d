package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// ApprovalConfig says which tool calls need a person's approval. Calls are judged before any
// middleware sees them, so people see the arguments as the model wrote them. An approval is valid
// once, for one call with the arguments that the person saw or, with Reply.Arguments, wrote. The
// arguments that a person wrote must fit the schema of the tool, and the policy may refuse the call
// with them. If a middleware changes the arguments of an approved call, the call is refused. If the
// call was allowed without asking, the changed call is judged again.
//
// A refused call gives the model a failed result with the reason. Calls that need no approval do
// not wait for calls that do. But the call of a Sequential tool waits for the earlier calls of its
// batch, and the later calls wait for it.
type ApprovalConfig struct {
	Default machine.ApprovalPolicy            // for tools that are not in Tools and do not declare NeedsApproval; nil: AskIfChanging
	Tools   map[string]machine.ApprovalPolicy // by the name of a tool of the Config or of a strategy
	Expires time.Duration                     // time after which an unanswered approval expires; 0: 24 hours; negative: never
}

// policy combines the config into one policy. It returns nil if there is no config: then only calls
// of tools whose Definition says NeedsApproval are asked about.
func (c *ApprovalConfig) policy() machine.ApprovalPolicy {
	if c == nil {
		return nil
	}
	byDefault, byTool := c.Default, maps.Clone(c.Tools)
	if byDefault == nil {
		byDefault = machine.AskIfChanging
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		switch policy := byTool[r.Definition.Name]; {
		case policy != nil:
			return policy(r)
		case r.Definition.NeedsApproval:
			return machine.VerdictAsk
		default:
			return byDefault(r)
		}
	}
}

// withNotes returns the policy that asks also about the calls of tools that have an ApprovalNote in
// these definitions. A run that goes on keeps the definitions that it began with: it may have begun
// before there was something to note.
func withNotes(policy machine.ApprovalPolicy, defs []tools.Definition) machine.ApprovalPolicy {
	noted := map[string]bool{}
	for i := range defs {
		if defs[i].ApprovalNote != "" {
			noted[defs[i].Name] = true
		}
	}
	if len(noted) == 0 {
		return policy
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		v := machine.VerdictAllow
		if policy != nil {
			v = policy(r)
		}
		if v == machine.VerdictAllow && (noted[r.Definition.Name] || policy == nil && r.Definition.NeedsApproval) {
			return machine.VerdictAsk
		}
		return v
	}
}

// checkArguments returns a [*machine.ReplyError] if a person has changed the arguments of a call to some
// that do not fit the schema of its tool.
func (r *run) checkArguments(rec machine.Record) error {
	replied, ok := rec.(machine.Replied)
	if !ok || replied.Reply.Arguments == "" {
		return nil
	}
	for _, e := range r.m.Open() {
		if e.Wait == nil || e.Wait.ID != replied.Reply.WaitID || e.Definition == nil || e.Definition.Parameters == nil {
			continue
		}
		schema, err := tools.CompileSchema(e.Definition.Parameters)
		if err != nil {
			return nil //nolint:nilerr // the tool itself says what it thinks of the arguments
		}
		if err := schema.Check(replied.Reply.Arguments); err != nil {
			return &machine.ReplyError{Run: r.id, WaitID: e.Wait.ID, Problem: fmt.Sprintf("its Arguments do not fit the tool %.64q: %v", e.Call.Name, err)}
		}
	}
	return nil
}

// check returns an error for rules about unknown tools, with similar names.
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
	return &ConfigError{Field: "Approve", Err: fmt.Errorf("rules name tools that do not exist: %s; %s", strings.Join(unknown, ", "), thereAre(names))}
}
