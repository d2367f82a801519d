package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// check validates a [Config]. It also makes each strategy, to see whether that works.
type check struct {
	cfg       *Config
	field     string             // the field that holds the strategies
	tools     *tools.Set         // the tools of the runs; nil if they are invalid
	tableless []string           // the names of strategies without a table
	own       []tools.Definition // definitions of the tools that strategies bring
	problems  []error
}

// report adds the problems of a field, one for each error joined in err.
func (c *check) report(field string, err error) {
	c.problems = append(c.problems, configErrors(field, err))
}

// reportAt is report with the place within the field.
func (c *check) reportAt(field, place string, err error) {
	c.report(field, errors.Join(guard.Within(place, err)...))
}

// all returns all problems, except those of the middleware.
func (c *check) all() error {
	if isNil(c.cfg.Client) {
		c.report("Client", errors.New("is nil: give it the client of a model, such as openaichat.New returns"))
	}
	if len(c.cfg.Strategies) == 0 {
		c.report("Strategies", errors.New("is empty: give it one, such as completetask.New returns"))
	}
	c.report("Prices", c.cfg.Prices.Check())
	var err error
	c.tools, err = tools.NewSet(c.cfg.Tools...)
	c.report("Tools", err)
	for _, name := range c.cfg.Strategies.Names() {
		c.strategy(name)
	}
	c.remotes()
	if _, ok := c.cfg.Strategies[c.cfg.Default]; c.cfg.Default != "" && !ok {
		c.report("Default", c.unknown(c.cfg.Default, c.cfg.Strategies.Names()))
	}
	if c.tools != nil { // otherwise Tools may hold invalid tools
		c.agents("Tools", "", c.cfg.Tools)
	}
	if err := c.cfg.Approve.check(c.toolNames()); err != nil {
		c.problems = append(c.problems, err)
	}
	return errors.Join(c.problems...)
}

// toolNames returns the names of the tools of the Config and of the strategies.
func (c *check) toolNames() []string {
	return namesOf(append(slices.Clone(c.own), c.tools.Definitions()...))
}

func (c *check) remotes() {
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Remote)) {
		if c.cfg.Remote[name] == nil {
			c.report("Remote", fmt.Errorf("%q is nil: give it the function that performs the delegation", name))
		}
		if _, taken := c.cfg.Strategies[name]; taken {
			c.report("Remote", fmt.Errorf("%q is in Strategies too: rename one, or leave it out", name))
		}
	}
}

// strategy makes a strategy twice, and checks the names that it uses and the tools that it brings.
func (c *check) strategy(name string) {
	try := machine.Config{Strategies: c.cfg.Strategies}
	st, brought, err := try.Try(name)
	if err != nil {
		c.report(c.field, err)
		return
	}
	again, _, err := try.Try(name)
	if err != nil {
		c.reportAt(c.field, fmt.Sprintf("the factory of %q fails when it is called again", name), err)
		return
	}
	if same(st, again) {
		c.report(c.field, fmt.Errorf("the factory of %q returned the same strategy twice: it must make a new one at each call, since runs would share it", name))
	}
	if _, ok := st.(strategy.Tabler); !ok {
		c.tableless = append(c.tableless, name)
	}
	names := strategy.NamesOf(st)
	if c.tools != nil {
		c.namedTools(c.field, fmt.Sprintf("strategy %q", name), names.Tools)
	}
	c.children(name, names.Children)
	c.successors(name, names.Handoffs)
	c.brought(name, brought)
}

// same reports whether two strategies are the same value. Strategies without memory may be.
func same(a, b strategy.Strategy) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && t.Kind() == reflect.Pointer && t.Elem().Size() > 0 && a == b
}

// brought checks the tools that a strategy brings: their names must differ from those of the runs'
// tools.
func (c *check) brought(name string, list []tools.Tool) {
	own, err := tools.NewSet(list...)
	if err != nil {
		c.reportAt(c.field, fmt.Sprintf("strategy %q brings tools that cannot be used", name), err)
		return
	}
	c.own = append(c.own, own.Definitions()...)
	for _, tool := range own.Names() {
		if _, taken := c.tools.Lookup(tool); taken {
			c.report(c.field, fmt.Errorf("strategy %q brings a tool %q, and so does Tools: rename or leave out the one in Tools", name, tool))
		}
	}
	c.agents(c.field, fmt.Sprintf("strategy %q: ", name), list)
}

// agents checks the names that agent tools use.
func (c *check) agents(field, where string, list []tools.Tool) {
	for _, t := range list {
		a := machine.AgentOf(t)
		if a == nil {
			continue
		}
		where := fmt.Sprintf("%sagent tool %q", where, t.Definition().Name)
		if _, ok := c.cfg.Strategies[a.Strategy]; !ok {
			c.reportAt(field, where, c.unknown(a.Strategy, c.cfg.Strategies.Names()))
		}
		if c.tools != nil {
			c.namedTools(field, where, a.Tools)
		}
	}
}

// children reports unknown strategies to delegate to.
func (c *check) children(name string, children []string) {
	known := slices.Sorted(maps.Keys(c.cfg.Remote))
	known = append(c.cfg.Strategies.Names(), known...)
	for _, child := range slices.Compact(slices.Sorted(slices.Values(children))) {
		if !slices.Contains(known, child) {
			c.reportAt(c.field, fmt.Sprintf("strategy %q delegates to one that is neither in Strategies nor in Remote", name), c.unknown(child, known))
		}
	}
}

// successors reports unknown names of strategies that another one hands off to. A remote one cannot
// take the place of a frame.
func (c *check) successors(name string, successors []string) {
	known := c.cfg.Strategies.Names()
	for _, next := range slices.Compact(slices.Sorted(slices.Values(successors))) {
		if !slices.Contains(known, next) {
			c.reportAt(c.field, fmt.Sprintf("strategy %q hands off to one that is not in Strategies", name), c.unknown(next, known))
		}
	}
}

// namedTools reports unknown names of tools.
func (c *check) namedTools(field, where string, names []string) {
	known := c.tools.Names()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !slices.Contains(known, name) {
			c.report(field, fmt.Errorf("%s names a tool that is not in Tools: %q%s; %s", where, name, meant(name, known), thereAre(known)))
		}
	}
}

// unknown returns the error for an unknown name of a strategy.
func (c *check) unknown(name string, known []string) error {
	err := &strategy.UnknownError{Name: name, Known: known}
	if hint := meant(name, known); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// meant returns a question with a similar name; "" if there is none.
func meant(name string, names []string) string {
	if near := similar.Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func thereAre(toolNames []string) string {
	if len(toolNames) == 0 {
		return "there are no tools"
	}
	return "the tools are: " + strings.Join(toolNames, ", ")
}

// isNil reports whether a value is nil or a nil pointer, such as one that was returned with an
// unchecked error.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	p := reflect.ValueOf(v)
	return p.Kind() == reflect.Pointer && p.IsNil()
}

func namesOf(defs []tools.Definition) []string {
	names := make([]string, len(defs))
	for i, d := range defs {
		names[i] = d.Name
	}
	return names
}

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

// checkArguments returns a [*machine.ReplyError] if a person has changed the arguments of a call to
// some that do not fit the schema of its tool.
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
		if _, err := schema.Arguments(replied.Reply.Arguments); err != nil {
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

// lookUp looks up the calls that may have had their effect when the process died, if their tools
// can. A call that had its effect gets its result; a call that had none will be made. The outcome
// of the other calls stays unknown.
func (r *run) lookUp() error {
	for _, e := range r.m.Open() {
		if e.Kind != machine.EffectTool || e.Safe() {
			continue
		}
		x := r.newExecution(&e, false)
		l := lookuperOf(x.tool)
		if l == nil {
			continue
		}
		rec := machine.Answered{At: r.now, Effect: e.ID, NotBegun: true}
		switch output, found := r.askTool(l, x); {
		case output.Status != messages.StatusOK:
			continue
		case found:
			rec = e.Answered(x.keepLarge(r.ctx, nextstep.ToolResult{Output: output}), r.now, 0)
		}
		if err := r.apply(rec); err != nil {
			return err
		}
	}
	return nil
}

// askTool lets a tool look up one of its calls, within the time-out of a call.
func (r *run) askTool(l tools.Lookuper, x *execution) (messages.ToolOutput, bool) {
	e := &x.effect
	found := make(chan bool, 1)
	runner := r.o.runner
	runner.OnPanic = func(call messages.ToolCall, value any, stack []byte) {
		r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Frame: e.Frame, Seq: e.ID.Seq, Where: "the Lookup of the tool " + call.Name, Value: value, Stack: stack})
	}
	c := runner.Begin(r.ctx, toolrun.Job{Call: e.Call, Key: e.Key(), MaxResult: x.mostKept(e.Call.Name), Tool: &lookup{Lookuper: l, key: e.Key(), found: found}})
	done := make(chan messages.ToolOutput, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				done <- c.Exited()
			}
		}()
		output := c.Perform()
		returned = true
		done <- output
	}()
	var late <-chan time.Time
	if at, ok := c.Due(); ok {
		timer := time.NewTimer(time.Until(at) + max(0, runner.Grace))
		defer timer.Stop()
		late = timer.C
	}
	var output messages.ToolOutput
	select {
	case output = <-done:
	case <-late:
		output = c.Abandon(tools.ReasonTimeout)
	}
	select {
	case yes := <-found:
		return output, yes
	default:
		return messages.ToolOutput{}, false
	}
}

// lookup is a tool whose call looks up another call.
type lookup struct {
	tools.Lookuper
	key   string
	found chan<- bool
}

// Definition returns the definition of the tool, as read-only.
func (l *lookup) Definition() tools.Definition {
	def := l.Lookuper.Definition()
	def.ReadOnly = true
	return def
}

// Call implements [tools.Tool].
func (l *lookup) Call(ctx context.Context, arguments string) (string, error) {
	result, found, err := l.Lookup(ctx, l.key, arguments)
	if err == nil {
		l.found <- found
	}
	return result, err
}

// lookuperOf returns the Lookuper that a tool is, or wraps; nil: there is none.
func lookuperOf(t tools.Tool) tools.Lookuper {
	for t != nil {
		if l, ok := t.(tools.Lookuper); ok {
			return l
		}
		w, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
	return nil
}
