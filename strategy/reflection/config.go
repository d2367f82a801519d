package reflection

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "reflection"

// Config configures who writes drafts, who judges them, and how often. The zero Config is ready to
// use.
//
// A critique is read strictly ([Approved] says how). A critic that does not keep to the form causes
// needless rounds, up to MaxIterations, and "approved" in the metadata is false; the last draft is
// still the Result.
type Config struct {
	Model       string `json:"model,omitempty"`        // for Request.Model of drafts; "" means the client's own model
	CriticModel string `json:"critic_model,omitempty"` // for Request.Model of critiques; "" means Model
	System      string `json:"system,omitempty"`       // replaces the system prompt at the beginning of the conversation; "" keeps that one
	KeepSystem  bool   `json:"keep_system,omitempty"`  // a conversation that begins with a system prompt keeps it

	// Generator is the strategy that writes the drafts; "" means that this strategy writes them,
	// with tools. It receives the input unchanged, but for a revision the goal is the prompt
	// Revise.
	Generator string            `json:"generator,omitempty"`
	Limits    delegation.Limits `json:"limits,omitzero"` // of each run of Generator

	// Tools are the names of the run's tools that may be used for drafts; nil means all that the
	// frame may use, empty means none. Critiques are always made without tools.
	Tools []string `json:"tools,omitzero"`

	JSONCritique bool           `json:"json_critique,omitempty"` // ask for critiques as JSON of [Critique], by Request.Schema
	OnRejected   RejectedPolicy `json:"on_rejected,omitempty"`   // what to do when the last draft is not approved; "" means RejectedAccept

	// MaxIterations limits the drafts; each is judged, including the last. 0 means 3, negative is
	// an error.
	MaxIterations int `json:"max_iterations,omitempty"`

	// MaxToolRounds limits the rounds of tool calls, over all drafts. After the last of them the
	// model is asked for a draft without tools, and the output is that draft with an error of code
	// limit. 0 means 50, negative means no limit other than the run's limits.
	MaxToolRounds int `json:"max_tool_rounds,omitempty"`

	// MaxRetries limits the repeated requests after a reply that was not a draft: empty, cut off,
	// or with an unreadable call. 0 means 2, negative means none.
	MaxRetries int `json:"max_retries,omitempty"`

	Prompts Prompts `json:"prompts,omitzero"` // the strategy's texts for the model
}

// RejectedPolicy selects what to do if MaxIterations is reached and the last draft is not approved.
// In each case that draft is the Result, and "approved" in the metadata is false.
type RejectedPolicy string

// The policies for a last draft that is not approved.
const (
	RejectedAccept RejectedPolicy = "accept" // no error
	RejectedFail   RejectedPolicy = "fail"   // an error with code failed, for callers that try again or use another strategy
)

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default. The data is a [PromptData].
type Prompts struct {
	Critique string `json:"critique,omitempty"` // asks for a judgement that [Approved] can read
	Revise   string `json:"revise,omitempty"`   // asks for a better draft; also the goal of Generator, if there is one
	Again    string `json:"again,omitempty"`    // the reply was not a draft
	NotRun   string `json:"not_run,omitempty"`  // the result of a call that is not run
	Conclude string `json:"conclude,omitempty"` // no tool round is left
}

// PromptData is the data for the prompts.
type PromptData struct {
	Goal          string // of the strategy; if the input has none, the last user message
	Draft         string // the last draft; "" before the first
	Critique      string // for Revise: what has to change; "" if the critic did not say
	Generator     string // Config.Generator
	JSON          bool   // Config.JSONCritique
	Iteration     int    // the number of the draft, from 1
	MaxIterations int
	Why           string // for Again: cut_off, empty or malformed; for NotRun: cut_off, withheld, critique or limit; for Conclude: limit, repetition or ""
	Tool          string // for Same
	Problem       string // for Again with malformed: what the provider says
}

// The values of PromptData.Why.
const (
	whyCutOff    = "cut_off"
	whyEmpty     = "empty"
	whyMalformed = "malformed"
	whyWithheld  = "withheld"
	whyCritique  = "critique"
	whyLimit     = "limit"
)

var defaultPrompts = Prompts{
	Critique: `Now judge the answer above as a strict reviewer. Does it do all that was asked? Is anything in it wrong, missing or unclear?
{{if .JSON}}Reply with JSON: {"approved": true, "feedback": ""} if nothing has to change, or {"approved": false, "feedback": "…"} with what has to change.{{else}}If nothing has to change, reply with the one word APPROVED. Otherwise say what has to change.{{end}} Do not write a new answer yet.`,
	Revise: `{{if .Generator}}The task is: {{.Goal}}

This is a draft of the answer:

{{.Draft}}

{{end}}{{if .Critique}}A reviewer says about the draft:

{{.Critique}}
{{else}}A reviewer did not approve the draft, and did not say why.
{{end}}
Write the answer again, with this mended. Reply with the whole answer and nothing else.`,
	Again:    `Your reply {{if eq .Why "cut_off"}}was cut off at the length limit{{else if eq .Why "empty"}}was empty{{else}}held a call that could not be read: {{.Problem}}{{end}}. Write the answer, whole, or call a tool.`,
	NotRun:   `This call was not run: {{if eq .Why "cut_off"}}the reply was cut off at the length limit, and the call may be incomplete{{else if eq .Why "withheld"}}the reply was withheld{{else if eq .Why "critique"}}no tools can be called for a critique{{else}}no more tools can be called{{end}}.`,
	Conclude: frame.WhyRepetition + `You have called tools as often as this task allows.{{end}} Do not call any more. Write the answer now with what you know, and say what is missing.`,
}

// critiqueSchema is in the subset that providers enforce strictly.
var critiqueSchema = llmclient.Schema{
	Name:   "critique",
	Strict: true,
	Schema: json.RawMessage(`{
	"type": "object",
	"properties": {
		"approved": {"type": "boolean", "description": "whether the answer is good as it is"},
		"feedback": {"type": "string", "description": "what has to change"}
	},
	"required": ["approved", "feedback"],
	"additionalProperties": false
}`),
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
	schema *llmclient.Schema // of critiques; nil for critiques in words
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &reflection{settings: s}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// Bounds implements strategy.Bounder.
func (s *reflection) Bounds() strategy.Bounds {
	b := strategy.Bounds{Offers: s.Tools, Delegates: []strategy.Child{{Strategy: s.Generator, Tools: s.Tools, Limits: s.Limits}}}
	if s.Generator == "" {
		b.Triggers = map[strategy.Trigger]int{delegated: 0, returned: 0, notedBack: 0}
	} else {
		b.Triggers = map[strategy.Trigger]int{started: 0, rejected: 0, noted: 0}
	}
	return b
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: "reflection"}}
	s.MaxIterations = cmp.Or(s.MaxIterations, 3)
	s.MaxToolRounds = cmp.Or(s.MaxToolRounds, 50)
	s.MaxRetries = frame.Count(s.MaxRetries, 2)
	s.Caps = strategy.Caps{capRevisions: max(0, s.MaxIterations-1), capRounds: s.MaxToolRounds - 1, capRetries: s.MaxRetries}
	if s.MaxToolRounds < 0 {
		s.Caps[capRounds] = strategy.Unbounded
	}
	if s.JSONCritique {
		s.schema = &critiqueSchema
	}
	var problems []error
	if s.MaxIterations < 0 {
		problems = append(problems, errors.New("reflection: MaxIterations is negative: there must be at least one draft, and a bound"))
	}
	problems = append(problems,
		frame.Distinct("reflection", "Tools", s.Tools),
		frame.OneOf("reflection", "OnRejected", &s.OnRejected, RejectedAccept, RejectedFail),
		frame.ParsePrompts(&s.Settings, "reflection", s.Prompts, defaultPrompts, map[string]any{"": sample}),
	)
	s.Err = errors.Join(problems...)
	return s
}

// sample is data to test the prompts with.
var sample = PromptData{
	Goal:          "a goal",
	Draft:         "a draft",
	Critique:      "a critique",
	Iteration:     1,
	MaxIterations: 1,
	Why:           whyMalformed,
	Problem:       "a problem",
}
