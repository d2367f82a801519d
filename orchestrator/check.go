package orchestrator

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/machine"
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
