package builtin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/workflow"
)

// mostNodes is the greatest number of strategies in a composition. Each may delegate to later ones,
// so it is also the greatest depth of the tree.
const mostNodes = 6

// composition is a case: a tree of strategies and the circumstances of its run.
type composition struct {
	Nodes   []composedNode // named by nodeName; the first is the root
	Agents  int            // which of them are also tools: none, all, all but the root, the last one
	Missing int            // the number of the tool that is missing; 0: none is
	Limits  delegation.Limits
	Model   string // of the task
	Input   delegation.Input
	Seed    uint64 // of the model's replies
	Sense   int    // in how many of 10 cases the reply is sensible
	Person  int    // what happens to questions: nobody is there, an answer, no answer yet
	Stop    int    // the number of the model call at which the run is stopped; 0: it is not
	Now     bool   // whether the stop is immediate
	Note    int    // the number of the model or tool call during which a note is made, and during the next two; 0: none is
	Whole   bool   // by Run, else by Stream
	Stored  bool   // with a journal
	Fails   int    // the number of the append that the store refuses; 0: it refuses none
	Break   int    // the number of the event at which the consumer leaves; 0: it stays
	Edits   bool   // a middleware changes calls, results and replies
}

// composedNode is a strategy and the JSON of its Config.
type composedNode struct {
	Strategy string
	Config   string
	Children []int             // that it delegates to
	Models   map[string]string // of its parts, by name
}

func nodeName(i int) string { return fmt.Sprint("n", i) }

// settable lists values for the keys of Configs, in JSON. Values that a Config refuses are dropped,
// so strategies may accept different values for one key. Keys that name a strategy are drawn
// separately.
var settable = map[string][]string{
	"system":            {`"Be brief."`},
	"keep_system":       {"true"},
	"tools":             {`[]`, `["look"]`, `["look","fails"]`, `["look","strict"]`, `["agent_n1"]`, `["agent_n2","agent_n5"]`, `["no_such_tool"]`},
	"review_tools":      {`[]`, `["look"]`, `["no_such_tool"]`},
	"review_limits":     {`{"model_calls":3}`, `{"steps":9}`, `{"total_tokens":90}`},
	"step_tools":        {`[]`, `["look"]`, `["no_such_tool"]`},
	"tool_choice":       {`{"mode":"required"}`, `{"mode":"none"}`, `{"mode":"tool","name":"look"}`, `{"mode":"tool","name":"no_such_tool"}`},
	"tool_format":       {`"text"`},
	"schema":            {`{"name":"s","schema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`},
	"on_length":         {`"fail"`, `"accept"`, `"continue"`},
	"on_empty":          {`"accept"`, `"ask"`, `"fail"`},
	"on_limit":          {`"conclude"`, `"fail"`, `"accept"`},
	"on_refused_choice": {`"auto"`, `"fail"`},
	"on_rejected":       {`"accept"`, `"fail"`},
	"detector":          {`"error"`, `"strict"`},
	"evaluation":        {`"never"`, `"model"`},
	"on_too_long":       {`"cut"`, `"refuse"`},
	"search":            {`{"above":1}`, `{"above":2,"results":1}`, `{"above":1,"name":"find"}`, `{"above":-1}`},
	"results":           {`"auto"`, `"all"`, `"dependencies"`},
	"answer":            {`"last"`, `"synthesize"`, `"auto"`, `"native"`, `"tool"`},
	"accept_prose":      {`true`},
	"parallel":          {`2`, `3`, `-1`},
	"json_critique":     {`true`},
	"run_all":           {`true`},
	"no_input":          {`true`},
	"retrieval":         {`{"tool":"look"}`, `{"tool":"fails"}`, `{"tool":"no_such_tool"}`},
	"compact":           {`{}`, `{"window":100,"keep":1,"max_tokens":8}`, `{"window":100,"at":0.5,"how":"trim"}`, `{"window":300,"max_summaries":1}`, `{"keep":1,"how":"trim"}`},
	"limits":            {`{"model_calls":3}`, `{"steps":9}`, `{"depth":3}`, `{"total_tokens":90}`, `{"tool_calls":2}`},
	"step_limits":       {`{"model_calls":3}`, `{"steps":9}`, `{"depth":3}`, `{"total_tokens":90}`, `{"tool_calls":2}`},
	"max_model_calls":   {`1`, `2`, `3`, `-1`},
	"max_retries":       {`1`, `2`, `-1`},
	"max_steps":         {`1`, `2`, `3`, `-1`},
	"max_revisions":     {`1`, `2`, `-1`},
	"max_iterations":    {`1`, `2`},
	"max_tool_rounds":   {`1`, `2`, `-1`},
	"max_repeats":       {`1`, `-1`},
	"max_result":        {`1`, `9`, `-1`},
	"max_observed":      {`1`, `9`, `-1`},
	"max_rounds":        {`1`, `2`},
	"max_asks":          {`1`, `-1`},
	"plan_every":        {`1`, `2`},
	"max_plan_failures": {`1`, `-1`},
	"max_reminders":     {`1`, `-1`},
	"final_tool":        {`"final"`},
	"handoffs":          {`[{"strategy":"n0"}]`, `[{"strategy":"n0","history":"goal"}]`, `[{"strategy":"n0","history":"last"}]`},
}

// plain are the keys that do not change how a strategy works.
var plain = []string{"model", "critic_model", "plan_model", "temperature", "max_tokens", "prompts"}

// partKeys are the keys that hold parts of compositions: one, or a list.
var partKeys = []string{"part", "parts", "reduce", "judge", "router", "otherwise"}

// refs are the keys that name strategies.
var refs = []string{"strategy", "generator", "executor", "executors", "executor_limits", "reviewer"}

// composer draws compositions.
type composer struct {
	kinds      []string
	delegating []string                       // strategies that name others
	withTools  []string                       // strategies that offer tools themselves
	only       bool                           // draws few kinds of strategies
	keys       map[string][]string            // the keys, by kind
	takes      map[string]map[string][]string // the accepted values, by kind and key
}

// newComposer determines the possible Configs of the built-in strategies and of step agents.
func newComposer(t *testing.T) *composer {
	t.Helper()
	c := &composer{kinds: append(builtin.Names(), stepagent.Name), keys: map[string][]string{}, takes: map[string]map[string][]string{}}
	c.kinds = slices.Compact(slices.Sorted(slices.Values(c.kinds)))
	c.withTools = slices.DeleteFunc(slices.Clone(c.kinds), func(kind string) bool {
		return slices.Contains([]string{builtin.LLMOnly, builtin.PlanAndExecute, pre.Name, retry.Name, workflow.NameSequence, workflow.NameParallel, workflow.NameLoop, workflow.NameChoose}, kind)
	})
	for _, kind := range c.kinds {
		c.takes[kind] = map[string][]string{}
		for _, key := range keysOf(t, kind) {
			if slices.Contains(plain, key) {
				continue
			}
			c.keys[kind] = append(c.keys[kind], key)
			if slices.Contains(refs, key) || slices.Contains(partKeys, key) {
				if !slices.Contains(c.delegating, kind) {
					c.delegating = append(c.delegating, kind)
				}
				continue
			}
			require.Contains(t, settable, key, "the Config of %s has a key that this test does not draw", kind)
			for _, value := range settable[key] {
				if _, err := factory(kind, fmt.Sprintf(`{%q:%s}`, key, value)); err == nil {
					c.takes[kind][key] = append(c.takes[kind][key], value)
				}
			}
			require.NotEmpty(t, c.takes[kind][key], "the Config of %s takes none of the values that this test has for %s", kind, key)
		}
	}
	return c
}

// keysOf returns the keys of the JSON of a Config.
func keysOf(t *testing.T, kind string) []string {
	t.Helper()
	if kind == stepagent.Name {
		return []string{"system", "max_iterations", "max_asks", "plan_every", "max_plan_failures", "final_tool", "max_reminders"}
	}
	var schema struct{ Properties map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(builtin.Schema(kind), &schema))
	return slices.Sorted(maps.Keys(schema.Properties))
}

// factory makes a strategy. A step agent gets the step of this test.
func factory(kind, config string) (func() strategy.Strategy, error) {
	if kind != stepagent.Name {
		return builtin.New(kind, json.RawMessage(config))
	}
	cfg := stepagent.Config{Step: oneStep}
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return nil, err
	}
	made := stepagent.New(cfg)
	return made, made().(strategy.Checker).Check()
}

// draw draws a composition.
func (c *composer) draw(t *rapid.T) composition {
	n := 1 + mostNodes - rapid.IntRange(1, mostNodes).Draw(t, "fewer nodes") // rapid prefers small numbers
	p := composition{
		Missing: rapid.IntRange(0, len(composedTools)).Draw(t, "missing tool"),
		Model:   rapid.SampledFrom([]string{"", "usual"}).Draw(t, "model"),
		Input:   c.input(t),
		Seed:    rapid.Uint64().Draw(t, "seed"),
		Sense:   10 - rapid.SampledFrom([]int{1, 0, 2, 5, 3, 10, 0}).Draw(t, "nonsense"),
		Person:  rapid.IntRange(0, 2).Draw(t, "person"),
		Whole:   rapid.IntRange(0, 4).Draw(t, "whole") == 1,
		Stored:  rapid.IntRange(0, 3).Draw(t, "stored") == 1,
		Limits:  c.limits(t),
	}
	if rapid.IntRange(0, 3).Draw(t, "stopped") == 1 {
		p.Stop, p.Now = rapid.IntRange(1, 8).Draw(t, "stop"), rapid.Bool().Draw(t, "now")
	}
	if rapid.IntRange(0, 2).Draw(t, "noted") == 1 {
		p.Note = rapid.IntRange(1, 9).Draw(t, "note")
	}
	p.Edits = rapid.IntRange(0, 3).Draw(t, "edits") == 1
	if p.Stored {
		c.troubles(t, &p)
	}
	p.Agents = rapid.SampledFrom([]int{0, 2, 1, 2, 3}).Draw(t, "agents")
	if !c.only && rapid.IntRange(0, 11).Draw(t, "long steps") == 1 {
		p.Nodes = c.longSteps(t)
		return p
	}
	for i := range n {
		kinds, bare := c.kinds, false
		if i == 0 && p.Agents > 0 && rapid.IntRange(0, 3).Draw(t, "delegates only") != 3 {
			kinds, bare = c.withTools, true // otherwise few would call an agent
		} else if i+1 < n && rapid.IntRange(0, 3).Draw(t, "delegates") != 1 {
			kinds = c.delegating
		}
		p.Nodes = append(p.Nodes, c.node(t, rapid.SampledFrom(kinds).Draw(t, "kind"), bare, i, n))
	}
	return p
}

// longSteps draws a plan whose steps outgrow the window of their model.
func (c *composer) longSteps(t *rapid.T) []composedNode {
	plan := c.node(t, pre.Name, true, 0, 1) // it names no strategy
	config := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(plan.Config), &config); err != nil {
		panic(err)
	}
	delete(config, "step_limits")
	config["executor"] = json.RawMessage(fmt.Sprintf("%q", nodeName(1)))
	plan.Config, plan.Children = string(must(json.Marshal(config))), []int{1}
	compact := rapid.SampledFrom(c.takes[completetask.Name]["compact"]).Draw(t, "compact")
	return []composedNode{plan, {Strategy: completetask.Name, Config: `{"compact":` + compact + `}`}}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// troubles draws a fault for a run with a journal: its store refuses an append, or its consumer
// leaves. Then the run is resumed.
func (c *composer) troubles(t *rapid.T, p *composition) {
	switch rapid.IntRange(0, 3).Draw(t, "trouble") {
	case 1:
		p.Fails = rapid.IntRange(1, 20).Draw(t, "failing append")
	case 2:
		if !p.Whole {
			p.Break = rapid.IntRange(1, 60).Draw(t, "break")
		}
	}
}

// fans reports whether requests may be made concurrently.
func (p *composition) fans() bool { return len(p.agents()) > 0 || p.together() }

// together reports whether steps of a plan may run at the same time.
func (p *composition) together() bool {
	return slices.ContainsFunc(p.Nodes, func(n composedNode) bool {
		return strings.Contains(n.Config, `"parallel"`) || n.Strategy == workflow.NameParallel
	})
}

func (c *composer) input(t *rapid.T) delegation.Input {
	in := delegation.Input{Goal: rapid.SampledFrom([]string{"go", "do it at once", "look", "tell", "ask", "plan", "think", "answer", "find", "write", "read", "count", "", "sum"}).Draw(t, "goal")}
	if rapid.IntRange(0, 3).Draw(t, "before") == 2 {
		in.Messages = before
	}
	if rapid.IntRange(0, 3).Draw(t, "data") == 2 {
		in.Data = json.RawMessage(`{"data_sources":["handbook"],"user":"ann"}`)
	}
	return in
}

func (c *composer) limits(t *rapid.T) delegation.Limits {
	l := delegation.Limits{
		ModelCalls: 41 - rapid.IntRange(1, 40).Draw(t, "fewer model calls"),
		Depth:      6 - rapid.IntRange(0, 5).Draw(t, "less depth"),
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 2 {
		l.Steps = 61 - rapid.IntRange(1, 60).Draw(t, "fewer steps")
		l.ToolCalls = 20 - rapid.IntRange(0, 20).Draw(t, "fewer tool calls")
		l.TotalTokens = 400 - rapid.Int64Range(0, 400).Draw(t, "fewer tokens")
	}
	return l
}

// node draws strategy i of n, of a kind. A bare strategy offers all tools.
func (c *composer) node(t *rapid.T, kind string, bare bool, i, n int) composedNode {
	node, config := composedNode{Strategy: kind, Models: map[string]string{}}, map[string]json.RawMessage{}
	for _, key := range c.keys[kind] {
		if bare && (key == "tools" || key == "generator") {
			continue
		}
		if values := c.takes[kind][key]; len(values) > 0 {
			if at := rapid.IntRange(0, 3*len(values)).Draw(t, key); at > 2*len(values) {
				config[key] = json.RawMessage(values[3*len(values)-at])
			}
			continue
		}
		if slices.Contains(partKeys, key) {
			if p := c.parts(t, key, i, n, &node); p != "" {
				config[key] = json.RawMessage(p)
			}
			continue
		}
		if i+1 == n || rapid.IntRange(0, 9).Draw(t, key) == 0 {
			continue
		}
		child := rapid.IntRange(i+1, n-1).Draw(t, key)
		if rapid.IntRange(0, 19).Draw(t, "itself") == 0 {
			child = i
		}
		node.Children = append(node.Children, child)
		config[key] = json.RawMessage(fmt.Sprintf("%q", nodeName(child)))
		switch key {
		case "executors":
			config[key] = json.RawMessage(fmt.Sprintf("[%q]", nodeName(child)))
		case "executor_limits":
			if delete(config, key); config["executor"] != nil { // it is drawn before
				config[key] = json.RawMessage(fmt.Sprintf(`{%s:{"model_calls":3}}`, config["executor"]))
			}
		}
	}
	node.Config = string(must(json.Marshal(config)))
	return node
}

// parts draws the value of a key that holds parts of strategy i of n; "" leaves it out. Parts are
// called p0, p1 and so on.
func (c *composer) parts(t *rapid.T, key string, i, n int, node *composedNode) string {
	child := func() string {
		if i+1 == n || rapid.IntRange(0, 9).Draw(t, "usual") == 0 {
			return completetask.Name
		}
		at := rapid.IntRange(i+1, n-1).Draw(t, "child")
		node.Children = append(node.Children, at)
		return nodeName(at)
	}
	part := func(name string) workflow.Part {
		p := workflow.Part{Name: name, Retries: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "retries")}
		p.OnFailure = rapid.SampledFrom([]workflow.FailurePolicy{"", workflow.FailureContinue}).Draw(t, "on failure")
		if rapid.IntRange(0, 4).Draw(t, "tool") == 1 {
			p.Tool = rapid.SampledFrom([]string{"look", "fails", "suspends"}).Draw(t, "of the run")
		} else {
			p.Strategy = child()
			p.Tools = rapid.SampledFrom([][]string{nil, nil, {}, {"look"}}).Draw(t, "tools")
			p.Limits.ModelCalls = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "model calls")
			p.Model = rapid.SampledFrom([]string{"", "", "small", "large"}).Draw(t, "model of a part")
			node.Models[name] = p.Model
		}
		if rapid.IntRange(0, 3).Draw(t, "falls back") == 1 {
			p.Fallback = child()
		}
		if rapid.IntRange(0, 5).Draw(t, "prompted") == 1 && p.Tool == "" {
			p.Prompt = "{{.Goal}} {{.Last}} {{len .Results}} {{.Round}} {{.Failure}}"
		}
		return p
	}
	switch {
	case key == "parts":
		var all []workflow.Part
		for at := range rapid.IntRange(1, 3).Draw(t, key) {
			all = append(all, part(fmt.Sprint("p", at)))
		}
		return string(must(json.Marshal(all)))
	case key == "part":
		return string(must(json.Marshal(part("p0"))))
	case rapid.Bool().Draw(t, key):
		return ""
	case key == "otherwise":
		return `"p0"`
	default:
		return string(must(json.Marshal(part(key))))
	}
}
