package reasonactobserve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "reason-act-observe"

// Config configures the strategy. The zero Config is ready to use.
type Config struct {
	Model       string   `json:"model,omitempty"`       // for Request.Model; "" means the client's own model
	System      string   `json:"system,omitempty"`      // replaces the system prompt at the beginning of the conversation; "" keeps that one
	KeepSystem  bool     `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it
	Tools       []string `json:"tools,omitzero"`        // names of the run's tools to act with; nil means all that the frame may use, empty means none
	Temperature *float64 `json:"temperature,omitempty"` // nil means the provider's default
	MaxTokens   int      `json:"max_tokens,omitempty"`  // most tokens in a reply; 0 means the provider's default

	MaxSteps int         `json:"max_steps,omitempty"` // rounds of reason, act and observe; 0 means 10, negative means no limit other than the run's limits
	OnLimit  LimitPolicy `json:"on_limit,omitempty"`  // what to do when no step is left; "" means LimitConclude

	RunAll      bool `json:"run_all,omitempty"`      // run all calls of a reply; otherwise only the first runs, and the others are left out of the conversation
	MaxRepeats  int  `json:"max_repeats,omitempty"`  // runs of one tool with the same arguments before it is refused; 0 means 3, negative means no limit
	MaxObserved int  `json:"max_observed,omitempty"` // characters of a result shown in the observe turn; 0 means 400, negative means all
	NoInput     bool `json:"no_input,omitempty"`     // the model cannot ask the user

	// Search says when the model searches for tools in the act turn, instead of being offered all
	// of them: by default if there are more than 40. What is found is offered from the next act
	// turn on.
	Search toolsearch.Config `json:"search,omitzero"`

	Retrieval Retrieval `json:"retrieval,omitzero"` // consults data sources before the first act turn
	Prompts   Prompts   `json:"prompts,omitzero"`   // the strategy's texts for the model

	// Compact keeps the conversation within the model's window, as package compaction says. Nil
	// means never: a conversation that is too long fails with code context_length.
	Compact *compaction.Config `json:"compact,omitempty"`
}

// Retrieval names a tool of the run that searches data sources. It is called once, before the first
// act turn, if Input.Data names data sources and a user,
//
//	{"data_sources": ["handbook", "tickets"], "user": "ann@example.com"}
//
// with these two and the goal as "query". The tool must be read-only. It may also be offered to the
// model.
type Retrieval struct {
	Tool string `json:"tool,omitempty"` // "" means none
}

// LimitPolicy selects what to do when MaxSteps is reached.
type LimitPolicy string

// The policies for the limit.
const (
	LimitConclude LimitPolicy = "conclude" // one more request, without tools: its answer is the Result, in addition to an error with code limit
	LimitAccept   LimitPolicy = "accept"   // the same, but the answer is a success, with "limited" in the metadata
	LimitFail     LimitPolicy = "fail"     // no more requests: an error with code limit
)

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default. The data is a [PromptData]. Reason, Decide and Observe are only in the request that they
// are for, as its last message; the others become part of the conversation.
type Prompts struct {
	Reason   string `json:"reason,omitempty"`    // asks for a decision
	Decide   string `json:"decide,omitempty"`    // asks for it again, in plain JSON, after an empty reply
	Act      string `json:"act,omitempty"`       // asks the model to act after its own message
	Observe  string `json:"observe,omitempty"`   // shows what the tools returned, and asks what it means
	Answer   string `json:"answer,omitempty"`    // the model is done, but has not given the answer
	Conclude string `json:"conclude,omitempty"`  // no step is left
	NoAnswer string `json:"no_answer,omitempty"` // the user did not answer. Data: .Problem
	Noted    string `json:"noted,omitempty"`     // the result of a control call. Data: .Tool
	NotRun   string `json:"not_run,omitempty"`   // the result of a call when no tools can be called. Data: .Tool
	CutCall  string `json:"cut_call,omitempty"`  // the result of a call in a reply that was cut off, which was not run. Data: .Tool
	Repeated string `json:"repeated,omitempty"`  // the result of a call that was made too often. Data: .Tool, .Repeats
}

// PromptData is the data for the prompts.
type PromptData struct {
	Goal     string         // the task
	Step     int            // from 1
	MaxSteps int            // 0 means no limit
	Tool     string         // the control tool to call, or the tool of a result
	Tools    []string       // for Reason and Decide: what can be called in the act turn
	CanAsk   bool           // for Reason and Decide: the user can be asked
	Results  []PromptResult // for Observe: what was done in this step
	Problem  string
	Repeats  int
	Why      string // for Conclude: limit, if no call of a tool is left, or repetition
}

// PromptResult is the result of a call.
type PromptResult struct {
	Tool      string // "" if the provider could not read the call
	Arguments string // as the model wrote them
	Text      string // cut to Config.MaxObserved
	OK        bool
}

var defaultPrompts = Prompts{
	Reason: `The task: {{.Goal}}

This is step {{.Step}}{{if .MaxSteps}} of {{.MaxSteps}}{{end}}. Decide what comes next, and call {{.Tool}}:
- {{if .Tools}}If one of these tools does or finds out a part of the task that is still open, say so in plan, instead of guessing; you are then given them: {{range $i, $t := .Tools}}{{if $i}}, {{end}}{{$t}}{{end}}.{{else}}If a part of the task is still open, say in plan what to do next.{{end}}
{{if .CanAsk}}- If something is missing that only the user can tell, ask for it in request_input.
{{end}}- If all that the task asks for is known or done, set finish and put the whole answer into final_answer.`,
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
	Conclude: frame.WhyRepetition + `{{if eq .Why "limit"}}You have called tools as often as this task allows.{{else}}All {{.MaxSteps}} steps are used up.{{end}}{{end}} Do not call any more tools. Answer the task now with what you know, and say what is missing.`,
	NoAnswer: `The user did not answer: {{.Problem}}`,
	Noted:    `Noted.`,
	NotRun:   `This call was not run: {{.Tool}} cannot be called here.`,
	CutCall:  `This call was not run: the reply was cut off at the length limit, and the call may be incomplete. Make it again, with shorter arguments or in smaller parts.`,
	Repeated: `This call was not run: {{.Tool}} has run with these arguments as often as it may ({{.Repeats}}), and the results stand above. Do something else.`,
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
	decide tools.Definition
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &reasonActObserve{settings: s, runs: map[string]int{}}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// Bounds implements strategy.Bounder.
func (s *reasonActObserve) Bounds() strategy.Bounds {
	b := strategy.Bounds{
		Offers:   s.Config.Tools,
		Calls:    map[strategy.State]int{askingUser: 1, retrieving: 1},
		Triggers: map[strategy.Trigger]int{started: 1, consulted: 1},
	}
	if b.Offers != nil {
		b.Offers = s.Names().Tools
	}
	if !s.RunAll {
		b.Calls[executing] = 1
	}
	if s.Retrieval.Tool == "" {
		b.Triggers[consulted] = 0
	}
	if s.NoInput {
		b.Triggers[asked] = 0
	}
	if s.Config.Tools != nil && len(s.Config.Tools) == 0 {
		b.Triggers[decided] = 0 // there is nothing to act with
	}
	if s.OnLimit == LimitFail {
		b.Triggers[exhausted] = 0
	}
	return b
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: pkg}}
	s.Caps = strategy.Caps{capSteps: cmp.Or(s.MaxSteps, 10) - 1, capUnforced: 1}
	if s.MaxSteps < 0 {
		s.Caps[capSteps] = strategy.Unbounded
	}
	s.MaxSteps = max(0, cmp.Or(s.MaxSteps, 10))
	s.MaxRepeats = cmp.Or(s.MaxRepeats, 3)
	s.MaxObserved = cmp.Or(s.MaxObserved, 400)
	s.decide = decideDefinition(!s.NoInput)
	s.Err = errors.Join(
		s.CompileCompaction(cfg.Compact, cfg.Model, afterSummary),
		frame.Distinct(pkg, "Tools", s.Tools),
		s.planSearch(),
		s.checkNames(),
		frame.OneOf(pkg, "OnLimit", &s.OnLimit, LimitConclude, LimitAccept, LimitFail),
		frame.ParsePrompts(&s.Settings, pkg, s.Prompts, defaultPrompts, map[string]any{"": sample}),
	)
	return s
}

const pkg = "reasonactobserve"

// checkNames returns an error for a tool with the name of a control tool.
func (s *settings) checkNames() error {
	for _, name := range append(slices.Clone(s.Tools), s.Retrieval.Tool) {
		if isControl(name) {
			return errControl(name)
		}
	}
	return nil
}

// isControl reports whether name is that of a control tool.
func isControl(name string) bool { return name == DecideNext || name == ObserveDecide }

func errControl(name string) error {
	return fmt.Errorf("reasonactobserve: the tool %q has the name of a control tool: rename it, or leave it out with Config.Tools", name)
}

// sample is data to test the prompts with.
var sample = PromptData{
	Goal: "a goal", Step: 1, MaxSteps: 2, Tool: DecideNext, Tools: []string{"a tool"}, CanAsk: true,
	Results: []PromptResult{{Tool: "a tool", Arguments: "{}", Text: "a result", OK: true}},
	Problem: "a problem", Repeats: 3,
}

// prompt fills in a template. If that fails, the strategy ends at its next step.
func (s *reasonActObserve) prompt(name string, data PromptData) string {
	data.Goal, data.Step, data.MaxSteps = s.goal, s.step, s.MaxSteps
	return s.Prompt(name, data)
}
