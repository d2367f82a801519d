package stepagent

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set; a program with several of them gives
// each its own.
const Name = "step-agent"

// Config says what a step is and how often it is taken. All but Step has a useful zero value.
type Config struct {
	Step     Func         `json:"-"` // one iteration; must be set
	NewState func() any   `json:"-"` // makes the State of a run, which no other run sees; nil means none. It must be pure
	Tools    []tools.Tool `json:"-"` // brought by this agent, besides those of the run

	System     string `json:"system,omitempty"`      // the system prompt, in the place of the one that the conversation begins with; "" leaves that
	KeepSystem bool   `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it

	MaxIterations int `json:"max_iterations,omitempty"` // steps taken; 0 means 10, and there is no unbounded run
	MaxAsks       int `json:"max_asks,omitempty"`       // model calls within one step; 0 means 8, negative means none

	// PlanEvery has a model make a plan before iteration 1, 1+k, 1+2k, …; 0 means never. A request
	// that fails, or a reply that is no plan, is skipped: the step goes on with the plan there was.
	// MaxPlanFailures of them in a row end the run; 0 means 3, negative means that none does.
	// PlanModel is the model; "" means the client's own.
	PlanEvery       int    `json:"plan_every,omitempty"`
	MaxPlanFailures int    `json:"max_plan_failures,omitempty"`
	PlanModel       string `json:"plan_model,omitempty"`

	// FinalTool is the name of a tool, brought by this agent, that a model has to call with its
	// answer. A step that finishes otherwise has the model reminded, MaxReminders times; then its
	// text is the answer. "" means none; 0 means 2, negative means none.
	FinalTool    string `json:"final_tool,omitempty"`
	MaxReminders int    `json:"max_reminders,omitempty"`

	Prompts Prompts `json:"prompts,omitzero"` // what the strategy says to the model
}

// Prompts are templates (text/template) of what the strategy says to the model; "" means the
// default. The data is a [PromptData].
type Prompts struct {
	Plan     string `json:"plan,omitempty"`     // asks for a plan; it stands only in the request for it
	Follow   string `json:"follow,omitempty"`   // behind a plan, sends the model to carry it out
	Remind   string `json:"remind,omitempty"`   // the final tool has to be called
	Received string `json:"received,omitempty"` // the result of the final tool. Data: .FinalTool
}

// PromptData is what prompts are filled in with.
type PromptData struct {
	Goal          string
	Iteration     int // from 1
	MaxIterations int
	Plan          string   // the last plan; "" if there is none
	Tools         []string // names of those that a request may offer
	FinalTool     string
}

var defaultPrompts = Prompts{
	Plan: `The task: {{.Goal}}

{{if .Plan}}Look at what was done so far, and make the plan anew for what is left.{{else}}Make a plan for it: a short list of steps.{{end}} {{with .Tools}}These tools can be used: {{range $i, $t := .}}{{if $i}}, {{end}}{{$t}}{{end}}. {{end}}Do not begin with the work yet: answer with the plan alone.`,
	Follow:   `Now go on, and carry out this plan.`,
	Remind:   `Do not answer in words: call {{.FinalTool}} with your answer.`,
	Received: `The answer is received.`,
}

// settings is a Config that was checked, with everything compiled that can be.
type settings struct {
	Config
	frame.Settings
	final tools.Definition
}

// New returns a factory for strategy.Set. A Config that cannot be used is reported when the
// strategy is put into use, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy { return &stepAgent{settings: s, Frame: frame.New(Table, &s.Settings)} }
}

// Bound returns how many model calls a run can make at most, retries hidden inside a client aside:
// MaxAsks for each of MaxIterations, and the plans.
func (c Config) Bound() int {
	iterations := max(0, cmp.Or(c.MaxIterations, 10))
	plans := 0
	if c.PlanEvery > 0 {
		plans = (iterations + c.PlanEvery - 1) / c.PlanEvery
	}
	return iterations*frame.Count(c.MaxAsks, 8) + plans
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg}
	s.MaxIterations = cmp.Or(s.MaxIterations, 10)
	s.MaxAsks = frame.Count(s.MaxAsks, 8)
	s.MaxPlanFailures = cmp.Or(s.MaxPlanFailures, 3)
	s.MaxReminders = frame.Count(s.MaxReminders, 2)
	s.final = tools.Definition{
		Name:        s.FinalTool,
		Description: "Gives the final answer to the task, and ends it.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","description":"the whole answer"}},"required":["answer"]}`),
		ReadOnly:    true,
	}
	iterations := max(0, s.MaxIterations)
	s.Caps = strategy.Caps{capIterations: iterations, capAsks: iterations * s.MaxAsks}
	var problems []error
	if s.Step == nil {
		problems = append(problems, errors.New("stepagent: Step is nil: a run would take no step"))
	}
	if s.MaxIterations < 0 {
		problems = append(problems, errors.New("stepagent: MaxIterations is negative: a run would take no step"))
	}
	if s.PlanEvery < 0 {
		problems = append(problems, errors.New("stepagent: PlanEvery is negative"))
	}
	s.Err = errors.Join(append(problems, frame.ParsePrompts(&s.Settings, "stepagent", s.Prompts, defaultPrompts, map[string]any{"": sample}))...)
	return s
}

// sample is what prompts are tried on.
var sample = PromptData{Goal: "a goal", Iteration: 1, MaxIterations: 2, Plan: "a plan", Tools: []string{"a tool"}, FinalTool: "final"}
