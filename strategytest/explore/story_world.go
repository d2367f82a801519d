package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// worldRest holds the parts of a world that the commands of stories cannot express.
type worldRest struct {
	Task        *delegation.Input  `json:"task,omitempty"`   // instead of a goal
	Limits      *delegation.Limits `json:"limits,omitempty"` // of the run
	Repeats     int                `json:"repeats,omitempty"`
	Definitions []tools.Definition `json:"definitions,omitempty"` // instead of those of the same names
	Agents      map[string]ofAgent `json:"agents,omitempty"`      // by their tools
	Verdicts    []verdict          `json:"verdicts,omitempty"`    // of the approval policy, if there is one
	Inputs      []inputs           `json:"inputs,omitempty"`      // of agents that were made otherwise
	Approve     string             `json:"approve,omitempty"`     // "verdicts": the policy, which decides other calls as without one
}

// ofAgent holds the parts of an agent that the command agent cannot express.
type ofAgent struct {
	Limits delegation.Limits `json:"limits,omitzero"`
	Tools  []string          `json:"tools,omitempty"`
	None   bool              `json:"none,omitempty"` // it may use no tools
}

// verdict is a decision of an approval policy.
type verdict struct {
	Seq       int             `json:"seq"`
	Call      string          `json:"call"`
	Arguments string          `json:"arguments,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"`
	Verdict   machine.Verdict `json:"verdict"`
}

// inputs are the inputs that an agent made from the arguments of a call.
type inputs struct {
	Agent     string             `json:"agent"`
	Arguments string             `json:"arguments"`
	Inputs    []delegation.Input `json:"inputs,omitempty"`
	Several   bool               `json:"several,omitempty"`
	Error     string             `json:"error,omitempty"`
}

// heard holds the results of the functions of Options.
type heard struct {
	verdicts []verdict
	inputs   []inputs
}

// hear wraps the functions of Options, so that their results are recorded.
func hear(o *Options) *heard {
	var h heard
	if policy := o.Approve; policy != nil {
		o.Approve = func(r machine.ApprovalRequest) machine.Verdict {
			v := policy(r)
			if entry := (verdict{r.Seq, r.Call.ID, r.Call.Arguments, r.Untrusted, v}); !slices.Contains(h.verdicts, entry) {
				h.verdicts = append(h.verdicts, entry)
			}
			return v
		}
	}
	agents := maps.Clone(o.Agents)
	for name, a := range agents {
		heard := *a
		heard.Inputs = func(arguments string) ([]delegation.Input, bool, error) {
			in, several, err := a.Inputs(arguments)
			if !usual(arguments, in, several, err) {
				entry := inputs{Agent: name, Arguments: arguments, Inputs: in, Several: several}
				if err != nil {
					entry.Error = err.Error()
				}
				if !slices.ContainsFunc(h.inputs, func(have inputs) bool { return reflect.DeepEqual(have, entry) }) {
					h.inputs = append(h.inputs, entry)
				}
			}
			return in, several, err
		}
		agents[name] = &heard
	}
	o.Agents = agents
	return &h
}

// usual reports whether an agent made the same inputs as orchestrator.AgentTool would.
func usual(arguments string, in []delegation.Input, several bool, err error) bool {
	var args struct {
		Goal  string   `json:"goal"`
		Goals []string `json:"goals"`
	}
	if json.Unmarshal([]byte(arguments), &args) != nil || args.Goal == "" && len(args.Goals) == 0 {
		return err != nil
	}
	want := []delegation.Input{{Goal: args.Goal, Data: json.RawMessage(arguments)}}
	if len(args.Goals) > 0 {
		want = nil
		for _, goal := range args.Goals {
			want = append(want, delegation.Input{Goal: goal})
		}
	}
	return err == nil && several == (len(args.Goals) > 0) && reflect.DeepEqual(in, want)
}

// rest returns the parts of the world that the commands cannot express.
func (h *heard) rest(o *Options) *worldRest {
	r := worldRest{Inputs: h.inputs, Verdicts: h.verdicts}
	if o.Approve != nil {
		r.Approve = "verdicts"
	}
	r.Repeats = o.Repeats
	if o.Limits != known(o.Limits) {
		r.Limits = &o.Limits
	}
	for i := range o.Tools {
		def := &o.Tools[i]
		a := o.Agents[def.Name]
		if !reflect.DeepEqual(*def, plainly(def, a != nil)) {
			r.Definitions = append(r.Definitions, *def)
		}
		if a != nil && (a.Tools != nil || a.Limits != known(a.Limits)) {
			if r.Agents == nil {
				r.Agents = map[string]ofAgent{}
			}
			r.Agents[def.Name] = ofAgent{Limits: a.Limits, Tools: a.Tools, None: a.Tools != nil && len(a.Tools) == 0}
		}
	}
	if in := o.input(); len(in.Messages) > 0 || in.Data != nil {
		r.Task = &in
	}
	return &r
}

// known returns the limits that the commands of stories know.
func known(l delegation.Limits) delegation.Limits {
	return delegation.Limits{Depth: l.Depth, Steps: l.Steps, ModelCalls: l.ModelCalls, ToolCalls: l.ToolCalls, TotalTokens: l.TotalTokens, Handoffs: l.Handoffs}
}

// plainly returns the definition that the command tool or agent makes.
func plainly(d *tools.Definition, agent bool) tools.Definition {
	if agent {
		made := tools.Definition{Name: d.Name, Idempotent: true, Timeout: -1}
		if names := properties(d); slices.Equal(names, []string{"goal"}) || several(d) {
			made.Parameters = d.Parameters
		}
		return made
	}
	return tools.Definition{
		Name: d.Name, ReadOnly: d.ReadOnly, Repeatable: d.Repeatable, Idempotent: d.Idempotent, Sequential: d.Sequential,
		NeedsApproval: d.NeedsApproval, Untrusted: d.Untrusted,
	}
}

// several reports whether an agent takes several goals.
func several(d *tools.Definition) bool { return slices.Equal(properties(d), []string{"goal", "goals"}) }

// properties returns the names of the parameters of a tool, in order.
func properties(d *tools.Definition) []string {
	var schema struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(d.Parameters, &schema) // no properties if this fails
	return slices.Sorted(maps.Keys(schema.Properties))
}

// The lines before the path.
const (
	goalLine  = "goal "
	worldLine = "world "
)

// writeTask writes the lines before the path.
func writeTask(b *strings.Builder, o *Options, r *worldRest) error {
	if goal := o.input().Goal; r.Task == nil {
		if strings.TrimSpace(goal) != goal || strings.ContainsAny(goal, "\n\r\"\\") {
			goal = strconv.Quote(goal)
		}
		b.WriteString(goalLine + goal + "\n")
	}
	if reflect.DeepEqual(*r, worldRest{}) {
		return nil
	}
	text, err := nextstep.Encode(r)
	if err != nil {
		return fmt.Errorf("explore: the world has no JSON form: %w", err)
	}
	fmt.Fprintf(b, "%s%s\n", worldLine, text)
	return nil
}

// ReadPath reads the input of the command walk of a story: the goal, the rest of the world, and a
// path, see [Story]. It changes the Options, which hold what the commands before it said, and
// returns the path.
func ReadPath(input string, o *Options) ([]string, error) {
	var path []string
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, goalLine):
			goal := strings.TrimPrefix(line, goalLine)
			if text, err := strconv.Unquote(goal); err == nil {
				goal = text
			}
			o.Input.Goal = goal
		case strings.HasPrefix(line, worldLine):
			var r worldRest
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, worldLine)), &r); err != nil {
				return nil, fmt.Errorf("explore: the world of the story: %w", err)
			}
			r.apply(o)
		default:
			path = append(path, line)
		}
	}
	return path, nil
}

// apply makes the rest of a world.
func (r *worldRest) apply(o *Options) {
	if r.Task != nil {
		o.Input = *r.Task
	}
	o.Repeats = r.Repeats
	if r.Limits != nil {
		o.Limits = *r.Limits
	}
	for _, def := range r.Definitions {
		if i := slices.IndexFunc(o.Tools, func(d tools.Definition) bool { return d.Name == def.Name }); i >= 0 {
			o.Tools[i] = def
		}
	}
	o.Agents = maps.Clone(o.Agents)
	for name, a := range o.Agents {
		made := *a
		if of, ok := r.Agents[name]; ok {
			made.Limits, made.Tools = of.Limits, of.Tools
			if of.None {
				made.Tools = []string{}
			}
		}
		made.Inputs = r.inputsOf(name, a.Inputs)
		o.Agents[name] = &made
	}
	if r.Approve != "" {
		o.Approve = r.judge
	}
}

// inputsOf returns what an agent makes of arguments: as it did on the path, or as it does.
func (r *worldRest) inputsOf(agent string, does func(string) ([]delegation.Input, bool, error)) func(string) ([]delegation.Input, bool, error) {
	return func(arguments string) ([]delegation.Input, bool, error) {
		for _, in := range r.Inputs {
			if in.Agent != agent || in.Arguments != arguments {
				continue
			}
			if in.Error != "" {
				return nil, in.Several, errors.New(in.Error)
			}
			return in.Inputs, in.Several, nil
		}
		return does(arguments)
	}
}

// judge is the policy of a path: it decides as it did there, and other calls as without a policy.
func (r *worldRest) judge(q machine.ApprovalRequest) machine.Verdict {
	asked := verdict{Seq: q.Seq, Call: q.Call.ID, Arguments: q.Call.Arguments, Untrusted: q.Untrusted}
	for _, v := range r.Verdicts {
		if asked.Verdict = v.Verdict; asked == v {
			return v.Verdict
		}
	}
	if q.Definition.NeedsApproval {
		return machine.VerdictAsk
	}
	return machine.VerdictAllow
}

// asks describes an open effect.
func asks(e *machine.Effect) string {
	words := []string{"#" + e.ID.String(), string(e.Kind)}
	switch step := e.Step.(type) {
	case nextstep.GetChatCompletion:
		if len(step.Request.Tools) > 0 {
			words = append(words, "offered")
		}
		for _, d := range step.Request.Tools {
			words = append(words, d.Name)
		}
	case nextstep.Delegate:
		words = append(words, step.Strategy)
	}
	if e.Wait != nil {
		words = append(words, e.Wait.Kind)
	}
	if e.Call.Name != "" {
		words = append(words, e.Call.Name, e.Call.Arguments)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
