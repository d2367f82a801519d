package reasonactobserve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "reason-act-observe"

// Config says how the task is worked on. The zero Config is useful.
type Config struct {
	Model       string   `json:"model,omitempty"`       // for Request.Model; "" means the client's own
	System      string   `json:"system,omitempty"`      // the system prompt, in the place of the one that the conversation begins with; "" leaves that
	KeepSystem  bool     `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it
	Tools       []string `json:"tools,omitzero"`        // names of the run's tools to act with; nil means all that the frame may use, empty means none
	Temperature *float64 `json:"temperature,omitempty"` // nil means the provider's default
	MaxTokens   int      `json:"max_tokens,omitempty"`  // most tokens in a reply; 0 means the provider's default

	MaxSteps int         `json:"max_steps,omitempty"` // rounds of reason, act and observe; 0 means 10, negative means no bound but the run's limits
	OnLimit  LimitPolicy `json:"on_limit,omitempty"`  // what to do when no step is left; "" means LimitConclude

	RunAll      bool `json:"run_all,omitempty"`      // run all calls of a reply; else only the first, and the others are left out of the conversation
	MaxRepeats  int  `json:"max_repeats,omitempty"`  // runs of one tool with the same arguments, before it is refused; 0 means 3, negative means no bound
	MaxObserved int  `json:"max_observed,omitempty"` // characters of a result that the observe turn is shown; 0 means 400, negative means all
	NoInput     bool `json:"no_input,omitempty"`     // the model cannot ask the user

	Retrieval Retrieval `json:"retrieval,omitzero"` // looks at data sources before the first act turn
	Prompts   Prompts   `json:"prompts,omitzero"`   // what the strategy says to the model
}

// Retrieval names a tool of the run that looks things up in data sources. It is called once, before
// the first act turn, if Input.Data names data sources and a user,
//
//	{"data_sources": ["handbook", "tickets"], "user": "ann@example.com"}
//
// with these two and the goal as "query". The tool must be read-only. It may be offered to the
// model as well.
type Retrieval struct {
	Tool string `json:"tool,omitempty"` // "" means none
}

// LimitPolicy says what to do when MaxSteps is reached.
type LimitPolicy string

// The policies for the limit.
const (
	LimitConclude LimitPolicy = "conclude" // one more request, without tools: its answer is the Result beside an error with code limit
	LimitAccept   LimitPolicy = "accept"   // the same, and the answer is a success, with "limited" in the metadata
	LimitFail     LimitPolicy = "fail"     // no more requests: an error with code limit
)

// Prompts are templates (text/template) of what the strategy says to the model; "" means the
// default. The data is a [PromptData]. The prompts Reason, Decide and Observe stand only in the
// request that they are for, as its last message; the others become part of the conversation.
type Prompts struct {
	Reason   string `json:"reason,omitempty"`    // asks for a decision
	Decide   string `json:"decide,omitempty"`    // asks for it again, in plain JSON, after a reply of nothing
	Act      string `json:"act,omitempty"`       // sends the model to act where its own words are the last
	Observe  string `json:"observe,omitempty"`   // shows what the tools returned, and asks what it means
	Answer   string `json:"answer,omitempty"`    // the model is done, and has not said the answer
	Conclude string `json:"conclude,omitempty"`  // no step is left
	NoAnswer string `json:"no_answer,omitempty"` // the user did not answer. Data: .Problem
	Noted    string `json:"noted,omitempty"`     // the result of a control call. Data: .Tool
	NotRun   string `json:"not_run,omitempty"`   // the result of a call where no tools can be called. Data: .Tool
	CutCall  string `json:"cut_call,omitempty"`  // the result of a call in a reply that was cut off, and so was not run. Data: .Tool
	Repeated string `json:"repeated,omitempty"`  // the result of a call that was made too often. Data: .Tool, .Repeats
}

// PromptData is what prompts are filled in with.
type PromptData struct {
	Goal     string         // what the task is
	Step     int            // from 1
	MaxSteps int            // 0: no bound
	Tool     string         // the control tool that is to be called, or the tool that a result is of
	Tools    []string       // for Reason and Decide: what can be called in the act turn
	CanAsk   bool           // for Reason and Decide: the user can be asked
	Results  []PromptResult // for Observe: what was done in this step
	Problem  string
	Repeats  int
}

// PromptResult is the result of a call.
type PromptResult struct {
	Tool      string // "" where the provider could not read the call
	Arguments string // as the model wrote them
	Text      string // cut to Config.MaxObserved
	OK        bool
}

var defaultPrompts = Prompts{
	Reason: `The task: {{.Goal}}

This is step {{.Step}}{{if .MaxSteps}} of {{.MaxSteps}}{{end}}. Decide what comes next, and call {{.Tool}}:
- If you can answer the task now, set finish and put the whole answer into final_answer.
{{if .CanAsk}}- If something is missing that only the user can tell, ask for it in request_input.
{{end}}- Otherwise say in plan what to do next.{{if .Tools}} You are then given these tools: {{range $i, $t := .Tools}}{{if $i}}, {{end}}{{$t}}{{end}}.{{end}}`,
	Decide: `Your reply was empty. Answer with one JSON object and nothing else:
{"plan": "what to do next", "finish": false}
or, if you can answer the task now:
{"finish": true, "final_answer": "the whole answer"}{{if .CanAsk}}
or, if only the user can tell what is missing:
{"finish": false, "request_input": {"question": "…"}}{{end}}`,
	Act: `Do that now: call a tool, or answer the task.`,
	Observe: `The task: {{.Goal}}

{{if .Results}}What was done in step {{.Step}}, long results shortened:
{{range .Results}}
{{if .Tool}}{{.Tool}}{{else}}a call that could not be read{{end}} {{.Arguments}}{{if not .OK}} (failed){{end}}
{{.Text}}
{{end}}{{else}}No tools were executed in step {{.Step}}.
{{end}}
Call {{.Tool}}: say in observation what was learned, and whether the task should_continue; if not, put the whole answer into final_answer.`,
	Answer:   `Answer the task now.`,
	Conclude: `All {{.MaxSteps}} steps are used up. Do not call any more tools. Answer the task now with what you know, and say what is missing.`,
	NoAnswer: `The user did not answer: {{.Problem}}`,
	Noted:    `Noted.`,
	NotRun:   `This call was not run: {{.Tool}} cannot be called here.`,
	CutCall:  `This call was not run: the reply was cut off at the length limit, and the call may be incomplete. Make it again, with shorter arguments or in smaller parts.`,
	Repeated: `This call was not run: {{.Tool}} has run with these arguments as often as it may ({{.Repeats}}), and the results stand above. Do something else.`,
}

// settings is a Config that was checked, with everything compiled that can be.
type settings struct {
	Config
	frame.Settings
	decide tools.Definition
}

// New returns a factory for strategy.Set. A Config that cannot be used is reported when the
// strategy is put into use, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		return &reasonActObserve{settings: s, Frame: frame.New(Table, &s.Settings), runs: map[string]int{}}
	}
}

// Bound returns how many model calls a run can make at most, retries hidden inside a client aside;
// -1 if there is no bound. A step makes four: reason, reason again in plain JSON, act and observe.
// Two are added: one for a forced tool choice that the provider refuses, and one for the last
// answer.
func (c Config) Bound() int {
	if c.MaxSteps < 0 {
		return -1
	}
	return 4*cmp.Or(c.MaxSteps, 10) + 2
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg}
	s.Caps = strategy.Caps{capSteps: cmp.Or(s.MaxSteps, 10) - 1, capUnforced: 1}
	if s.MaxSteps < 0 {
		s.Caps[capSteps] = strategy.Unbounded
	}
	s.MaxSteps = max(0, cmp.Or(s.MaxSteps, 10))
	s.MaxRepeats = cmp.Or(s.MaxRepeats, 3)
	s.MaxObserved = cmp.Or(s.MaxObserved, 400)
	s.decide = decideDefinition(!s.NoInput)
	s.Err = errors.Join(
		frame.Distinct(pkg, "Tools", s.Tools),
		s.checkNames(),
		frame.OneOf(pkg, "OnLimit", &s.OnLimit, LimitConclude, LimitAccept, LimitFail),
		frame.ParsePrompts(&s.Settings, pkg, s.Prompts, defaultPrompts, map[string]any{"": sample}),
	)
	return s
}

const pkg = "reasonactobserve"

// checkNames refuses to act with what is named like a control tool.
func (s *settings) checkNames() error {
	for _, name := range append(slices.Clone(s.Tools), s.Retrieval.Tool) {
		if isControl(name) {
			return errControl(name)
		}
	}
	return nil
}

// isControl reports whether that is the name of a control tool.
func isControl(name string) bool { return name == DecideNext || name == ObserveDecide }

func errControl(name string) error {
	return fmt.Errorf("reasonactobserve: the tool %q has the name of a control tool: rename it, or leave it out with Config.Tools", name)
}

// sample is what prompts are tried on.
var sample = PromptData{
	Goal: "a goal", Step: 1, MaxSteps: 2, Tool: DecideNext, Tools: []string{"a tool"}, CanAsk: true,
	Results: []PromptResult{{Tool: "a tool", Arguments: "{}", Text: "a result", OK: true}},
	Problem: "a problem", Repeats: 3,
}

// prompt fills in a template. One that fails on its data ends the strategy with its next step.
func (s *reasonActObserve) prompt(name string, data PromptData) string {
	data.Goal, data.Step, data.MaxSteps = s.goal, s.step, s.MaxSteps
	return s.Prompt(name, data)
}
