package react

import (
	"cmp"
	"errors"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/internal/search"
	"github.com/segue-go/segue/strategy/toolsearch"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "react"

// Config configures the strategy. The zero Config is ready to use.
type Config struct {
	Model       string      `json:"model,omitempty"`       // for Request.Model; "" means the client's own model
	System      string      `json:"system,omitempty"`      // replaces the system prompt at the beginning of the conversation; "" keeps that one. The instructions of Policy come after it
	KeepSystem  bool        `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it
	Tools       []string    `json:"tools,omitzero"`        // names of the run's tools to use; nil means all that the frame may use, empty means none
	Temperature *float64    `json:"temperature,omitempty"` // nil means the provider's default
	MaxTokens   int         `json:"max_tokens,omitempty"`  // most tokens in a reply; 0 means the provider's default
	OnLimit     LimitPolicy `json:"on_limit,omitempty"`    // what to do when no step is left; "" means LimitConclude
	Prompts     Prompts     `json:"prompts,omitzero"`      // the strategy's texts for the model

	// Compact keeps the conversation within the model's window, as package compaction says. Nil
	// means never: a conversation that is too long fails with code context_length.
	Compact *compaction.Config `json:"compact,omitempty"`

	// MaxSteps limits the turns: those that act, and the one that answers. 0 means 10, negative
	// means no limit other than the run's limits.
	MaxSteps int `json:"max_steps,omitempty"`

	// MaxRetries limits the repeated requests after a reply that was not a turn: it was incomplete,
	// unreadable or cut off. They do not count in MaxSteps. 0 means 3, negative means none.
	MaxRetries int `json:"max_retries,omitempty"`

	// Search says when the model searches for tools instead of being told all of them: by default
	// if there are more than 40. The result of a search describes the tools that were found, so the
	// instructions stay as they are. A search is a step.
	Search toolsearch.Config `json:"search,omitzero"`

	// Policy is the text format. Nil means markdownpolicy.ReAct{}. If it is a
	// markdownpolicy.Tooled, its WithTools is called with the tools and the result is used. A type
	// that embeds ReAct needs its own WithTools.
	Policy Policy `json:"-"`
}

// Policy is a text format of turns, such as markdownpolicy.ReAct. It must be safe for concurrent
// use.
type Policy interface {
	markdownpolicy.Policy

	// ParseTurn reads a reply. An error is a *markdownpolicy.ParseError; the Turn then says what is
	// missing.
	ParseTurn(text string) (markdownpolicy.Turn, error)
}

// LimitPolicy selects what to do if MaxSteps is reached without an answer. In each case the output
// is an error with code limit, and "finished" is false.
type LimitPolicy string

// The policies for the limit.
const (
	LimitConclude LimitPolicy = "conclude" // one more request, for an answer without an action: it is the Result, in addition to the error
	LimitFail     LimitPolicy = "fail"     // no more requests
)

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default. The data is a [PromptData]. Config.Policy decides how thoughts, actions and observations
// are written.
type Prompts struct {
	Again    string `json:"again,omitempty"`    // the reply was not a turn
	Unknown  string `json:"unknown,omitempty"`  // the observation for an unknown tool
	Conclude string `json:"conclude,omitempty"` // no step is left
}

// PromptData is the data for the prompts.
type PromptData struct {
	Why      string   // for Again: no_turn, cut_off, empty, no_answer (it is blank), malformed (a native call) or unread; for Conclude: limit, if no call of a tool is left, or repetition
	Missing  string   // for Again: what the reply lacks, as in markdownpolicy.Turn; "" if it was unusable for another reason
	Problem  string   // for Again: with no_turn what Policy says in sentences; with malformed what the provider says; with unread the error of Policy
	Tool     string   // for Unknown: the name that the model wrote; for Same: of the action
	Known    []string // the names of the tools
	Steps    int      // steps taken, including this one
	MaxSteps int      // negative means no limit
}

// The values of PromptData.Why.
const (
	whyNoTurn    = "no_turn"
	whyCutOff    = "cut_off"
	whyEmpty     = "empty"
	whyNoAnswer  = "no_answer"
	whyMalformed = "malformed"
	whyUnread    = "unread"
)

var defaultPrompts = Prompts{
	Again: `{{if eq .Why "cut_off"}}Your reply was cut off at the length limit. Write it again, and shorter.
{{- else if eq .Why "empty"}}Your reply was empty. Write an action with its input, or the final answer.
{{- else if eq .Why "no_answer"}}Your reply holds no text of an answer. Write the final answer.
{{- else if eq .Why "malformed"}}Your reply could not be read: {{.Problem}}
Write it again, as text in the format that you were given.
{{- else if eq .Why "unread"}}Your reply could not be read: {{.Problem}}
{{- else}}{{.Problem}}{{end}}`,
	Unknown:  `there is no tool "{{.Tool}}"; {{if .Known}}the tools are: {{range $i, $name := .Known}}{{if $i}}, {{end}}{{$name}}{{end}}{{else}}no tools can be used{{end}}`,
	Conclude: frame.WhyRepetition + `{{if eq .Why "limit"}}You have used tools as often as this task allows.{{else}}You have taken {{.Steps}} steps, which is all that this task allows.{{end}}{{end}} Do not write another action. Write the Final Answer now with what you know, and say what is missing.`,
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &react{settings: s, policy: s.Policy}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// Bounds implements strategy.Bounder.
func (s *react) Bounds() strategy.Bounds {
	b := strategy.Bounds{Offers: s.Tools, Calls: map[strategy.State]int{awaitingTools: 1}, Triggers: map[strategy.Trigger]int{started: 1}}
	if s.OnLimit == LimitFail {
		b.Triggers[exhausted] = 0
	}
	if s.Tools != nil && len(s.Tools) == 0 {
		b.Triggers[acted] = 0 // every action is a mistake
	}
	if s.Plan == nil || s.Search != nil && !s.Search.Active() {
		b.Triggers[searched] = 0
	}
	return b
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: "react"}}
	s.MaxSteps = cmp.Or(s.MaxSteps, 10)
	s.Caps = strategy.Caps{capSteps: s.MaxSteps - 1, capRetries: frame.Count(s.MaxRetries, 3)}
	if s.MaxSteps < 0 {
		s.Caps[capSteps] = strategy.Unbounded
	}
	if s.Policy == nil {
		s.Policy = markdownpolicy.ReAct{}
	}
	var err error
	s.Plan, err = search.Compile(cfg.Search, "react", s.Tools)
	s.Err = errors.Join(
		err,
		s.CompileCompaction(cfg.Compact, cfg.Model, afterSummary),
		frame.Distinct("react", "Tools", s.Tools),
		frame.OneOf("react", "OnLimit", &s.OnLimit, LimitConclude, LimitFail),
		frame.ParsePrompts(&s.Settings, "react", s.Prompts, defaultPrompts, map[string]any{"": sample}),
	)
	return s
}

// sample is data to test the prompts with.
var sample = PromptData{Why: whyNoTurn, Missing: "Action", Problem: "a problem", Tool: "a tool", Known: []string{"another"}, Steps: 1, MaxSteps: 1}
