package stepagent

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set. A program with several of them gives
// each its own name.
const Name = "step-agent"

// Config configures the step and how often it is taken. Step must be set; the zero values of the
// other fields are ready to use.
type Config struct {
	Step  Func         `json:"-"` // one iteration; must be set
	Tools []tools.Tool `json:"-"` // added by this agent to those of the run

	// NewState makes the State of a run, which no other run sees; nil means none. It must be pure.
	// A run can be snapshot if its State comes back from its JSON form as the same value
	// (reflect.DeepEqual); the State is therefore encoded before each step.
	NewState func() any `json:"-"`

	System     string `json:"system,omitempty"`      // replaces the system prompt at the beginning of the conversation; "" keeps that one
	KeepSystem bool   `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it

	MaxIterations int `json:"max_iterations,omitempty"` // steps taken; 0 means 10; there is no run without a limit
	MaxAsks       int `json:"max_asks,omitempty"`       // model calls within one step; 0 means 8, negative means none

	// PlanEvery asks a model for a plan before iterations 1, 1+k, 1+2k, …; 0 means never. A failed
	// request, or a reply that is not a plan, is skipped: the step continues with the earlier plan.
	// After MaxPlanFailures failures in a row the run ends; 0 means 3, negative means never.
	// PlanModel is the model; "" means the client's own model.
	PlanEvery       int    `json:"plan_every,omitempty"`
	MaxPlanFailures int    `json:"max_plan_failures,omitempty"`
	PlanModel       string `json:"plan_model,omitempty"`

	// FinalTool is the name of a tool, added by this agent, that the model must call with its
	// answer. If a step finishes otherwise, the model is reminded, up to MaxReminders times; after
	// that its text is the answer. "" means no such tool. MaxReminders 0 means 2, negative means
	// none.
	FinalTool    string `json:"final_tool,omitempty"`
	MaxReminders int    `json:"max_reminders,omitempty"`

	Prompts Prompts `json:"prompts,omitzero"` // the strategy's texts for the model
}

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default. The data is a [PromptData].
type Prompts struct {
	Plan     string `json:"plan,omitempty"`     // asks for a plan; only in the request for the plan
	Follow   string `json:"follow,omitempty"`   // after a plan, asks the model to carry it out
	Remind   string `json:"remind,omitempty"`   // the final tool must be called
	Received string `json:"received,omitempty"` // the result of the final tool. Data: .FinalTool
}

// PromptData is the data for the prompts.
type PromptData struct {
	Goal          string
	Iteration     int // from 1
	MaxIterations int
	Plan          string   // the last plan; "" if there is none
	Tools         []string // names of the tools that a request may offer
	FinalTool     string
}

var defaultPrompts = Prompts{
	Plan: `The task: {{.Goal}}

{{if .Plan}}Look at what was done so far, and make the plan anew for what is left.{{else}}Make a plan for it: a short list of steps.{{end}} {{with .Tools}}These tools can be used: {{range $i, $t := .}}{{if $i}}, {{end}}{{$t}}{{end}}. {{end}}Do not begin with the work yet: answer with the plan alone.`,
	Follow:   `Now go on, and carry out this plan.`,
	Remind:   `Do not answer in words: call {{.FinalTool}} with your answer.`,
	Received: `The answer is received.`,
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
	final tools.Definition
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &stepAgent{settings: s}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// plans returns how many plans are asked for in so many iterations.
func (c Config) plans(iterations int) int {
	if c.PlanEvery <= 0 {
		return 0
	}
	return (iterations + c.PlanEvery - 1) / c.PlanEvery
}

// Bounds implements strategy.Bounder.
func (s *stepAgent) Bounds() strategy.Bounds {
	iterations := max(0, s.MaxIterations)
	return strategy.Bounds{Triggers: map[strategy.Trigger]int{
		due:     s.plans(iterations),
		asked:   iterations * min(1, s.MaxAsks),
		reasked: iterations * max(0, s.MaxAsks-1),
		called:  iterations,
	}}
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: pkg}}
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

// sample is data to test the prompts with.
var sample = PromptData{Goal: "a goal", Iteration: 1, MaxIterations: 2, Plan: "a plan", Tools: []string{"a tool"}, FinalTool: "final"}
