package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// Part is a piece of work of a composition: a strategy, or a tool or an agent of the run. The zero
// Part runs "complete-task".
type Part struct {
	// Name is that of the state in which the part works, and of its result; "" means that of its
	// Strategy or Tool. It has at most 40 letters, digits, "_" and "-".
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"` // what it is for, in words: for the router of a Choose

	Strategy string `json:"strategy,omitempty"` // its name in the strategy.Set; "" means "complete-task", unless there is a Tool
	Tool     string `json:"tool,omitempty"`     // the tool of the run that is called instead; it may be an agent

	// Prompt is a template (text/template) of the goal of the part, or of the arguments of the
	// Tool, which are JSON; "" means the default of the composition. Its data is a [Progress], and
	// {{json .Goal}} writes a value as JSON. A strategy gets the input of the composition with that
	// goal. The default arguments of a tool are {"goal": …}, for agents.
	Prompt string `json:"prompt,omitempty"`

	// Input, if not nil, replaces Prompt: it returns the whole input of a strategy. The arguments
	// of a tool are the Data of what it returns. It must be pure.
	Input func(Progress) delegation.Input `json:"-"`

	Tools  []string          `json:"tools,omitzero"`  // names of the run's tools that the strategy may use; nil means all that this frame may
	Limits delegation.Limits `json:"limits,omitzero"` // of each run of the strategy

	// Model is for the requests of the strategy, and of all that it starts, that set none: it comes
	// before the model of the run, and the Model in the Config of a strategy before it.
	Model string `json:"model,omitempty"`

	// Retries is how often the part is run again after a failure, in one frame altogether, at most
	// 100. It is told the failure. A call that was refused is not retried, nor what retry.Final
	// says that another attempt cannot correct.
	Retries int `json:"retries,omitempty"`

	// Fallback is a strategy that is run once instead of a part that has failed, with the same
	// input, tools, limits and model; "" means none. Instead of a tool it gets the default goal, or
	// what Input returns. It is not run if an effect of the part may have happened.
	Fallback string `json:"fallback,omitempty"`

	OnFailure FailurePolicy `json:"on_failure,omitempty"` // what to do if all this fails; "" means FailureStop
}

// FailurePolicy selects what to do after a part that has failed. A strategy that leaves neither a
// text nor data has failed, too.
type FailurePolicy string

// The policies for failures.
const (
	FailureStop     FailurePolicy = "stop"     // the composition fails with the error of the part
	FailureContinue FailurePolicy = "continue" // it goes on without the part, and fails if no part succeeds
)

// Progress is what templates and functions are given: what a composition has come to. It is
// read-only.
type Progress struct {
	Goal     string           // of the composition; may be empty if the messages of its input say it
	Input    delegation.Input // of the composition
	Results  []Result         // of the parts that have ended, in order
	Last     string           // the text of the last part that succeeded, judges and routers aside
	Round    int              // of a Loop, from 1
	Feedback string           // what the judge of a Loop wants to be changed
	Failure  string           // how the last attempt at the part failed
	Choices  []Part           // of a Choose, for its router
}

// Of returns the text of the last result of a part; "" if there is none.
func (p Progress) Of(part string) string {
	text := ""
	for _, r := range p.Results {
		if r.Part == part {
			text = r.Text
		}
	}
	return text
}

// Result is what a part has come to. With an error, Text and Data are what there was by then.
type Result struct {
	Part string            `json:"part"`
	Text string            `json:"text,omitempty"`
	Data json.RawMessage   `json:"data,omitempty"`
	Err  *delegation.Error `json:"error,omitempty"`
}

// part is a compiled Part.
type part struct {
	Part
	state   strategy.State     // in which it works
	instead strategy.State     // in which its Fallback works; "" if there is none
	goal    *template.Template // of the strategy or the Fallback
	args    *template.Template // of the Tool; nil means the default
	control bool               // it judges or routes: its text is no result
}

// ends lists the states in which the part ends.
func (p *part) ends() []strategy.State {
	if p.instead == "" {
		return frame.In(p.state)
	}
	return frame.In(p.state, p.instead)
}

// awaits returns what the part is started by.
func (p *part) awaits() nextstep.Kind {
	if p.Tool != "" {
		return nextstep.KindExecuteTools
	}
	return nextstep.KindDelegate
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// compilePart checks a Part and fills in its defaults.
func compilePart(own Part, prompt string) (*part, error) {
	p := &part{Part: own}
	if p.Tool == "" {
		p.Strategy = cmp.Or(p.Strategy, "complete-task")
	}
	p.Name = cmp.Or(p.Name, p.Strategy, p.Tool)
	p.state = strategy.State(strings.ReplaceAll(p.Name, "-", "_")) // diagrams take no "-" in a state
	if p.Fallback != "" {
		p.instead = p.state + "_fallback"
	}
	var problems []error
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("workflow: part %q: %w", p.Name, fmt.Errorf(format, args...)))
	}
	switch {
	case !nameRule.MatchString(p.Name):
		report("give it a Name of at most 40 letters, digits, _ and -")
	case slices.Contains(frame.In(frame.Ready, frame.Done, frame.Limited, frame.Failed), p.state):
		report("every strategy has a state of this name: give it another Name")
	case p.Strategy != "" && p.Tool != "":
		report("Strategy and Tool are both set: set only one")
	case p.Tool != "" && (p.Tools != nil || p.Limits != (delegation.Limits{}) || p.Model != ""):
		report("Tools, Limits and Model are for a Strategy, and this is a Tool")
	case p.Input != nil && p.Prompt != "":
		report("Prompt and Input are both set: set only one")
	case p.Retries < 0 || p.Retries > 100:
		report("Retries: %d is not between 0 and 100", p.Retries)
		p.Retries = 0
	}
	own = p.Part
	if own.Tool != "" {
		if own.Prompt != "" {
			p.args = parse(own.Prompt, report)
		}
		own.Prompt = ""
	}
	p.goal = parse(cmp.Or(own.Prompt, prompt), report)
	return p, errors.Join(append(problems, frame.Distinct("workflow", "Tools", p.Tools),
		frame.OneOf("workflow", "OnFailure", &p.OnFailure, FailureStop, FailureContinue))...)
}

// sample is data to test the prompts with.
var sample = Progress{
	Goal: "a goal", Results: []Result{{Part: "a part", Text: "a result"}}, Last: "a result", Round: 1,
	Feedback: "feedback", Failure: "a failure", Choices: []Part{{Name: "a part", Description: "a description"}},
}

// parse parses a template, and tries it.
func parse(text string, report func(string, ...any)) *template.Template {
	t, err := template.New("prompt").Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
	if err == nil {
		err = t.Execute(&strings.Builder{}, sample)
	}
	if err != nil {
		report("Prompt: %w", err)
	}
	return t
}

func toJSON(v any) (string, error) {
	text, err := nextstep.Encode(v)
	return string(text), err
}

// fill fills in a template.
func fill(t *template.Template, now Progress) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, now)
	return strings.TrimSpace(b.String()), err
}

// input returns the input of the strategy of the part, or of its Fallback.
func (p *part) input(now Progress) (in delegation.Input, err error) {
	defer guard(fmt.Sprintf("the Input of part %q", p.Name), &err)
	if p.Input != nil {
		in = p.Input(now)
		in.Messages, _ = in.Messages.Repair()
	} else {
		in = now.Input
		if in.Goal, err = fill(p.goal, now); err != nil {
			err = fmt.Errorf("workflow: part %q: %w", p.Name, err)
		}
	}
	if err == nil && in.Goal == "" && len(in.Messages) == 0 && len(in.Data) == 0 {
		err = fmt.Errorf("workflow: part %q: its input is empty", p.Name)
	}
	return in, err
}

// call returns the call of the Tool.
func (p *part) call(now Progress) (c messages.ToolCall, err error) {
	c = messages.ToolCall{ID: "part_" + p.Name, Name: p.Tool}
	if p.args != nil {
		if c.Arguments, err = fill(p.args, now); err != nil {
			err = fmt.Errorf("workflow: part %q: %w", p.Name, err)
		}
		return c, err
	}
	in, err := p.input(now)
	if c.Arguments = string(in.Data); p.Input == nil && err == nil {
		c.Arguments, err = toJSON(goalArguments{in.Goal})
	}
	return c, err
}

// goalArguments are what an agent is called with.
type goalArguments struct {
	Goal string `json:"goal"`
}

// guard converts a panic of a function of the user to an error. Its value may be a secret and is
// not shown.
func guard(what string, err *error) {
	if v := recover(); v != nil {
		*err = delegation.NewError(delegation.CodePanic, fmt.Errorf("workflow: %s panicked with a %T", what, v))
	}
}
