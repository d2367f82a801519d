package planreviseexecute

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "plan-revise-execute"

// Config configures how a plan is made, judged and carried out. The zero Config is ready to use.
type Config struct {
	Model      string `json:"model,omitempty"`       // for Request.Model; "" means the client's own model
	System     string `json:"system,omitempty"`      // replaces the system prompt at the beginning of the conversation; "" keeps that one
	KeepSystem bool   `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it

	// Evaluation selects who judges a plan before it is carried out; "" means EvaluateByModel.
	// EvaluateByFunc needs Judge, which must be pure.
	Evaluation Evaluation         `json:"evaluation,omitempty"`
	Judge      func(Plan) Verdict `json:"-"`

	// Reviewer is a strategy that judges a plan instead, whatever Evaluation says; "" means none.
	// It is told the prompt Review, and what Share says. Its data or its text are read as
	// reflection.Approved says, and what it writes is the feedback. If it fails, so does the plan.
	Reviewer     string            `json:"reviewer,omitempty"`
	ReviewTools  []string          `json:"review_tools,omitzero"`  // names of the run's tools that it may use; nil means all that this frame may
	ReviewLimits delegation.Limits `json:"review_limits,omitzero"` // of each review

	// Executor is the strategy that works on a step; "" means "complete-task". A step may choose
	// one of Executors instead; this strategy itself may be one of them.
	Executor  string   `json:"executor,omitempty"`
	Executors []string `json:"executors,omitempty"`

	// Parallel is the number of steps that run at the same time, if they do not depend on each
	// other. 0 and 1 mean one. A negative number means any number if all tools of the run that
	// steps may use are read-only or idempotent, and otherwise one.
	Parallel int `json:"parallel,omitempty"`

	Share      delegation.Share  `json:"-"`                    // what a child sees of this conversation; nil means nothing
	StepTools  []string          `json:"step_tools,omitzero"`  // names of the run's tools that children may use; nil means all that this frame may
	StepLimits delegation.Limits `json:"step_limits,omitzero"` // of each step's subtree
	Results    Results           `json:"results,omitempty"`    // the results that a step receives; "" means ResultsAuto
	MaxResult  int               `json:"max_result,omitempty"` // bytes of each result that a step, a revision or the synthesis is told; 0 means 4096, negative means all

	// ExecutorLimits are the limits of the steps that an executor works on, by its name. Zero
	// fields mean those of StepLimits.
	ExecutorLimits map[string]delegation.Limits `json:"executor_limits,omitempty"`

	Answer Answer `json:"answer,omitempty"` // the source of the result; "" means AnswerLast

	// AcceptProse accepts a plan in a text if the model does not call submit_plan. A text with a
	// list of steps is a plan at once. Any other text is a plan with a single step, but only after
	// all reminders to call submit_plan were used.
	AcceptProse bool `json:"accept_prose,omitempty"`

	OnTooLong TooLongPolicy `json:"on_too_long,omitempty"` // what to do with a plan of more than MaxSteps steps; "" means TooLongCut
	OnEmpty   EmptyPolicy   `json:"on_empty,omitempty"`    // what to do with a step whose child left neither a text nor data; "" means EmptyFail

	MaxSteps     int `json:"max_steps,omitempty"`     // steps in a plan, including those that are done; 0 means 20
	MaxRevisions int `json:"max_revisions,omitempty"` // new plans, after a rejection or a failed step; 0 means 3, negative means none
	MaxRetries   int `json:"max_retries,omitempty"`   // repeated requests because a reply had no usable call; 0 means 3, negative means none

	Prompts Prompts `json:"prompts,omitzero"` // the strategy's texts for the model
}

// Evaluation selects who judges a plan.
type Evaluation string

// The evaluations.
const (
	EvaluateByModel Evaluation = "model" // the model calls submit_evaluation
	EvaluateByFunc  Evaluation = "func"  // Config.Judge
	EvaluateNever   Evaluation = "never" // every usable plan is carried out

	evaluateByReviewer Evaluation = "reviewer" // of a Config with a Reviewer
)

// Verdict is a judgement of a plan.
type Verdict struct {
	Approved bool   `json:"approved"`
	Feedback string `json:"feedback,omitempty"` // what has to change
}

// Results selects the results that a step receives.
type Results string

// The values of Results.
const (
	ResultsAuto           Results = "auto"         // of the steps that it depends on, or of all done steps if it does not say
	ResultsOfDependencies Results = "dependencies" // of the steps that it depends on, or of none if it names none
	ResultsOfAll          Results = "all"          // of all done steps
)

// TooLongPolicy selects what to do with a plan of more than Config.MaxSteps steps.
type TooLongPolicy string

// The policies for plans that are too long.
const (
	TooLongCut    TooLongPolicy = "cut"    // drop the last steps; the metadata says so, and the model is told
	TooLongRefuse TooLongPolicy = "refuse" // have the model make another plan
)

// EmptyPolicy selects what to do with a step whose child succeeded without a text or data.
type EmptyPolicy string

// The policies for steps without a result.
const (
	EmptyFail   EmptyPolicy = "fail"   // the step failed, and the remaining work is planned again
	EmptyAccept EmptyPolicy = "accept" // the step is done; Prompts.NoResult replaces its result
)

// Answer selects the source of the strategy's result.
type Answer string

// The answers.
const (
	AnswerLast       Answer = "last"       // the result of the last step that was done
	AnswerSynthesize Answer = "synthesize" // one more request, with the results of all steps
)

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default. The data is a [PromptData].
type Prompts struct {
	Plan       string `json:"plan,omitempty"`       // asks for a plan
	Evaluate   string `json:"evaluate,omitempty"`   // asks for a judgement
	Review     string `json:"review,omitempty"`     // the goal of the Reviewer
	Revise     string `json:"revise,omitempty"`     // asks for a new plan, after a rejection or a failed step
	Remind     string `json:"remind,omitempty"`     // the reply held no call of the expected tool; with Feedback, one that cannot be read
	Step       string `json:"step,omitempty"`       // the goal of a child
	Synthesize string `json:"synthesize,omitempty"` // asks for the answer
	Received   string `json:"received,omitempty"`   // the result of a usable call
	Unread     string `json:"unread,omitempty"`     // what is wrong with a call, if its result does not say it
	CutCall    string `json:"cut_call,omitempty"`   // the result of a call in a reply that was cut off, which was not run
	Withheld   string `json:"withheld,omitempty"`   // the result of a call in a reply that was withheld
	NotRun     string `json:"not_run,omitempty"`    // the result of a call when no tools can be called
	NoResult   string `json:"no_result,omitempty"`  // replaces an empty result
	CutResult  string `json:"cut_result,omitempty"` // after a result that was cut to Config.MaxResult. No data
}

// PromptData is the data for the prompts.
type PromptData struct {
	Goal     string         // of the strategy
	Tool     string         // the tool that should be called, or was called
	Plan     Plan           // the current plan; for Received: as submitted, without the steps that were cut
	Step     Step           // for Step: the step; for Revise: the failed step, if one failed
	Results  []PromptResult // for Review, Step, Revise and Synthesize: of done steps, cut to Config.MaxResult
	Feedback string         // for Revise: why the plan was rejected, or how the step failed; for Unread: what is wrong
	Failed   []Step         // for Revise: the steps that failed at the same time as Step, if any did
	MaxSteps int
	Parallel int      // the number of steps that run at the same time; 0: one
	Prose    bool     // a list in a text is a plan, see Config.AcceptProse
	Sees     Results  // the results that a step receives
	Choices  []string // for Plan and Revise: the executors that a step may choose
	Notes    []string // for Review and Step: the notes that came for the run so far; for the other prompts they are in the conversation
}

// PromptResult is the result of a step.
type PromptResult struct{ ID, Goal, Text string }

const (
	promptPlan = `Judge this plan for the goal: {{.Goal}}
{{range .Plan.Steps}}
{{.ID}}. {{.Goal}}{{if .DependsOn}} (after{{range .DependsOn}} {{.}}{{end}}){{else if $.Parallel}} (after {{if .Free}}none{{else}}all before it{{end}}){{end}}{{if .Executor}} (by {{.Executor}}){{end}}{{end}}

`

	promptNotes = `{{if .Notes}}

Notes of the user, made since the plan was:
{{range .Notes}}- {{.}}
{{end}}{{end}}`
)

var defaultPrompts = Prompts{
	Plan: `Make a plan for this goal: {{.Goal}}

Do not work on it yet. Call {{.Tool}} with the steps of the plan, at most {{.MaxSteps}}. Each step is carried out by itself, by someone who sees only its goal and the results of {{if eq .Sees "all"}}the steps before it{{else}}the steps that it depends on{{if eq .Sees "auto"}}, or of all steps before it if it names none{{end}}{{end}}, so say in the goal all that is needed.{{if .Choices}} A step may name its executor: {{range $i, $c := .Choices}}{{if $i}}, {{end}}{{$c}}{{end}}.{{end}}{{if .Parallel}}

Steps that do not wait for each other are carried out at the same time. Give each step depends_on: the ids of the steps whose results it needs, or [] if it needs none. A step without depends_on waits for all steps before it.{{if .Prose}} If you write the plan as a list, end each step with (after 1, 2) or (after none).{{end}}{{end}}`,
	Evaluate: promptPlan + `Is anything missing, wrong or superfluous? Call {{.Tool}}: approve the plan, or say what has to change.`,
	Review: promptPlan + `{{with .Results}}These steps are done:
{{range .}}- {{.ID}}: {{.Text}}
{{end}}
{{end}}Is anything missing, wrong or superfluous? Look at what you need for that, and do not carry the plan out. If nothing has to change, reply with the one word APPROVED. Otherwise say what has to change.` + promptNotes,
	Revise: `{{if .Step.ID}}Step {{.Step.ID}} of the plan failed: {{.Step.Goal}}
{{.Feedback}}{{range .Failed}}
Step {{.ID}} failed too: {{.Goal}}
{{.Err.Message}}{{end}}{{else}}The plan is not approved: {{.Feedback}}{{end}}
{{if .Results}}
These steps are done, and stay as they are:
{{range .Results}}{{.ID}}. {{.Goal}}
   {{.Text}}
{{end}}{{end}}
Make a better plan for what is left of the goal: {{.Goal}}
Call {{.Tool}} with the steps that are still to do; they may depend on those that are done.{{if .Parallel}} A step without depends_on waits for all steps before it, and one with [] for none.{{end}}`,
	Remind: `{{if .Feedback}}The call of {{.Tool}} cannot be read: {{.Feedback}}. Correct it and try again.{{else}}Do not answer in words: call {{.Tool}}.{{end}}`,
	Step: `{{.Step.Goal}}{{if .Results}}

Results of earlier steps:
{{range .Results}}- {{.Goal}}
  {{.Text}}
{{end}}{{end}}` + promptNotes,
	Synthesize: `All steps of the plan are done. Their results:
{{range .Results}}
{{.ID}}. {{.Goal}}
{{.Text}}
{{end}}
Answer the goal now, from these results alone: {{.Goal}}`,
	Received:  `{{if eq .Tool "submit_plan"}}The plan{{else}}The judgement{{end}} is received.{{if .Plan.Planned}} It is too long: only its first {{len .Plan.Steps}} of {{.Plan.Planned}} steps are carried out.{{end}}`,
	Unread:    `{{.Feedback}}`,
	CutCall:   `This call was not run: the reply was cut off at the length limit. Make it again, shorter.`,
	Withheld:  `The reply was withheld.`,
	NotRun:    `There are no tools here.`,
	NoResult:  `(no result)`,
	CutResult: `[cut off here: the result is longer]`,
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
	rules   planorder.Rules
	schemas map[string]*tools.Schema // of the arguments of its own tools, by name
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &planReviseExecute{settings: s}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: "planreviseexecute"}}
	s.Executor = cmp.Or(s.Executor, "complete-task")
	s.MaxSteps = cmp.Or(s.MaxSteps, 20)
	s.MaxRevisions = frame.Count(s.MaxRevisions, 3)
	s.MaxRetries = frame.Count(s.MaxRetries, 3)
	s.MaxResult = cmp.Or(s.MaxResult, 4096)
	s.Caps = strategy.Caps{capRevisions: s.MaxRevisions, capRetries: s.MaxRetries, capSteps: max(0, s.MaxSteps-1)}
	isUsual := func(name string) bool { return name == s.Executor }
	s.rules = planorder.Rules{MaxSteps: s.MaxSteps, Refuse: s.OnTooLong == TooLongRefuse, Executors: slices.DeleteFunc(slices.Clone(s.Executors), isUsual)}
	s.rules.Executors = append(s.rules.Executors, s.Executor)
	s.schemas = map[string]*tools.Schema{}
	var problems []error
	for _, def := range []tools.Definition{planDefinition, evaluationDefinition, stepDefinition} {
		schema, err := tools.CompileSchema(def.Parameters)
		s.schemas[def.Name] = schema
		problems = append(problems, err)
	}
	if s.MaxSteps < 0 {
		problems = append(problems, errors.New("planreviseexecute: MaxSteps is negative: a plan must have a bound"))
	}
	if s.Evaluation == EvaluateByFunc && s.Judge == nil {
		problems = append(problems, errors.New("planreviseexecute: Evaluation is func, and Judge is nil"))
	}
	if s.Judge != nil && s.Reviewer != "" {
		problems = append(problems, errors.New("planreviseexecute: Judge and Reviewer are both set: set only one"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.ExecutorLimits)) {
		if !slices.Contains(s.executes(), name) {
			problems = append(problems, fmt.Errorf("planreviseexecute: ExecutorLimits: %q is none of the executors", name))
		}
	}
	problems = append(problems,
		frame.Distinct("planreviseexecute", "StepTools", s.StepTools),
		frame.Distinct("planreviseexecute", "ReviewTools", s.ReviewTools),
		frame.OneOf("planreviseexecute", "Evaluation", &s.Evaluation, EvaluateByModel, EvaluateByFunc, EvaluateNever),
		frame.OneOf("planreviseexecute", "Results", &s.Results, ResultsAuto, ResultsOfDependencies, ResultsOfAll),
		frame.OneOf("planreviseexecute", "OnTooLong", &s.OnTooLong, TooLongCut, TooLongRefuse),
		frame.OneOf("planreviseexecute", "OnEmpty", &s.OnEmpty, EmptyFail, EmptyAccept),
		frame.OneOf("planreviseexecute", "Answer", &s.Answer, AnswerLast, AnswerSynthesize),
		frame.ParsePrompts(&s.Settings, "planreviseexecute", s.Prompts, defaultPrompts, map[string]any{"": sample, "CutResult": nil}),
	)
	s.Err = errors.Join(problems...)
	if s.Reviewer != "" {
		s.Evaluation = evaluateByReviewer
	}
	return s
}

// sample is data to test the prompts with.
var sample = PromptData{
	Goal:     "a goal",
	Tool:     SubmitPlan,
	Plan:     Plan{Steps: []Step{{ID: "1", Goal: "a step"}}},
	Step:     Step{ID: "1", Goal: "a step"},
	Results:  []PromptResult{{ID: "1", Goal: "a step", Text: "a result"}},
	Feedback: "feedback",
	MaxSteps: 1,
	Sees:     ResultsAuto,
	Choices:  []string{"an executor"},
}
