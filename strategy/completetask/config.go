package completetask

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "complete-task"

// Config configures the strategy. The zero Config is ready to use.
type Config struct {
	Model       string               `json:"model,omitempty"`       // for Request.Model; "" means the client's own model
	System      string               `json:"system,omitempty"`      // replaces the system prompt at the beginning of the conversation; "" keeps that one
	KeepSystem  bool                 `json:"keep_system,omitempty"` // a conversation that begins with a system prompt keeps it
	Tools       []string             `json:"tools,omitzero"`        // names of the run's tools to offer; nil means all that the frame may use, empty means none
	ToolChoice  llmclient.ToolChoice `json:"tool_choice,omitzero"`  // a forced choice ends with the first call, so that the model can end
	ToolFormat  llmclient.ToolFormat `json:"tool_format,omitempty"` // "" means native
	Temperature *float64             `json:"temperature,omitempty"` // nil means the provider's default
	MaxTokens   int                  `json:"max_tokens,omitempty"`  // most tokens in a reply; 0 means the provider's default
	Schema      *llmclient.Schema    `json:"schema,omitempty"`      // the answer must be JSON of this schema; it comes back in Output.Data
	OnLength    LengthPolicy         `json:"on_length,omitempty"`   // what to do with an answer that was cut off; "" means LengthFail
	OnEmpty     EmptyPolicy          `json:"on_empty,omitempty"`    // what to do with an empty reply; "" means EmptyAccept
	OnLimit     LimitPolicy          `json:"on_limit,omitempty"`    // what to do when no model call is left; "" means LimitConclude
	Handoffs    []Handoff            `json:"handoffs,omitempty"`    // strategies that the model may hand the conversation over to
	Prompts     Prompts              `json:"prompts,omitzero"`      // the strategy's texts for the model

	// Search says when the model searches for tools instead of being offered all of them: by
	// default if there are more than 40. A request with a search counts in MaxModelCalls. A tool
	// that ToolChoice forces is always offered. With the text format nothing is searched for,
	// because the messages describe the tools.
	Search toolsearch.Config `json:"search,omitzero"`

	// OnRefusedChoice says what to do if the provider refuses a request because of its forced
	// ToolChoice, as some models do; "" means RefusedAuto. The repeated request counts neither in
	// MaxModelCalls nor in MaxRetries.
	OnRefusedChoice RefusedChoicePolicy `json:"on_refused_choice,omitempty"`

	// Answer selects how an answer of the Schema is requested; "" means AnswerAuto. In each mode
	// the strategy checks the answer against the Schema, and tells the model what is wrong if it
	// does not fit, up to MaxRetries times.
	Answer AnswerMode `json:"answer,omitempty"`

	// Validate makes a last check of an answer that fits the Schema. Its error is returned to the
	// model, as an error of the schema is. It must be pure. Nil accepts every such answer.
	Validate func(answer json.RawMessage) error `json:"-"`

	// Compact keeps the conversation within the model's window, as package compaction says. Nil
	// means never: a conversation that is too long fails with code context_length.
	Compact *compaction.Config `json:"compact,omitempty"`

	// MaxModelCalls limits the requests that offer tools; 0 means 50, negative means no limit other
	// than the run's limits.
	MaxModelCalls int `json:"max_model_calls,omitempty"`

	// MaxRetries limits the repeated requests after a reply that was not an answer: cut off, empty,
	// not of the schema, or with an unreadable call. They do not count in MaxModelCalls. 0 means 2,
	// negative means none.
	MaxRetries int `json:"max_retries,omitempty"`
}

// LengthPolicy selects what to do with a text that was cut off at the token limit. Calls in a reply
// that was cut off are never run: the model is told to make them again, up to MaxRetries times.
type LengthPolicy string

// The policies for texts that were cut off.
const (
	LengthFail     LengthPolicy = "fail"     // an error with code truncated; the text is still the Result
	LengthAccept   LengthPolicy = "accept"   // the answer, with "truncated" in the metadata
	LengthContinue LengthPolicy = "continue" // ask the model to continue, up to MaxRetries times; the pieces are joined
)

// EmptyPolicy selects what to do with a reply that has neither text nor calls.
type EmptyPolicy string

// The policies for empty replies.
const (
	EmptyAccept EmptyPolicy = "accept" // the end, with a nil Result
	EmptyAsk    EmptyPolicy = "ask"    // ask again, within MaxRetries
	EmptyFail   EmptyPolicy = "fail"   // an error
)

// LimitPolicy selects what to do if MaxModelCalls is reached and the model still calls tools. The
// output is an error with code limit in each case.
type LimitPolicy string

// The policies for the limit.
const (
	LimitConclude LimitPolicy = "conclude" // one more request, without tools: its answer is the Result, in addition to the error
	LimitFail     LimitPolicy = "fail"     // no more requests
)

// RefusedChoicePolicy selects what to do if the provider refuses a forced tool choice.
type RefusedChoicePolicy string

// The policies for a forced choice that is refused.
const (
	RefusedAuto RefusedChoicePolicy = "auto" // ask once more with auto, with "unforced" in the metadata; then the model may answer without a call
	RefusedFail RefusedChoicePolicy = "fail" // the provider's error
)

// AnswerMode selects how an answer of a schema is requested.
type AnswerMode string

// The modes for an answer of a schema.
const (
	AnswerAuto   AnswerMode = "auto"   // native; where the provider refuses that, by the tool, with "answer_tool" in the metadata. The request that asks again is counted neither in MaxModelCalls nor in MaxRetries
	AnswerNative AnswerMode = "native" // by Request.Schema, the provider's response format
	AnswerTool   AnswerMode = "tool"   // by FinalTool, whose parameters are the Schema, which must be one of objects. Its call ends the work, and other calls of that reply are not run; if one of them has an effect, or gives another answer, the model is told and asked again, up to MaxRetries times. A text that fits the Schema is taken too
)

// Prompts are templates (text/template) of the strategy's texts for the model; "" means the
// default.
type Prompts struct {
	Arguments  string `json:"arguments,omitempty"`   // the result of a call of the final tool with invalid arguments. Data: .Final, the tool's name, .Problem
	Conclude   string `json:"conclude,omitempty"`    // no model call with tools is left. Data: .Calls, the number of model calls made, .Why: limit if no call of a tool is left, repetition if a call was made again and again
	Continue   string `json:"continue,omitempty"`    // the text was cut off. No data
	CutCall    string `json:"cut_call,omitempty"`    // the result of a call in a reply that was cut off, which was not run. Data: .Tool
	Empty      string `json:"empty,omitempty"`       // the reply was empty. No data
	Final      string `json:"final,omitempty"`       // the model wrote a text instead of calling the final tool. Data: .Final
	HandedOver string `json:"handed_over,omitempty"` // the result of a call that hands over. Data: .Strategy
	LeftBehind string `json:"left_behind,omitempty"` // the result of another call in the reply that hands over, for the one who takes over. Data: .Tool, .Strategy
	Malformed  string `json:"malformed,omitempty"`   // the provider could not read a call. Data: .Problem, .Generated
	NotAlone   string `json:"not_alone,omitempty"`   // the result of a call of the final tool that was not taken, because of the other calls of the reply. Data: .Final
	NotRun     string `json:"not_run,omitempty"`     // the result of another call in the reply that calls the final tool. Data: .Tool, .Final
	Received   string `json:"received,omitempty"`    // result of the call of the final tool. No data
	Schema     string `json:"schema,omitempty"`      // the answer does not fit the schema. Data: .Problem
}

var defaultPrompts = Prompts{
	Arguments:  "Your answer is not of the form that was asked for: {{.Problem}}\nCall {{.Final}} again with the whole answer.",
	Conclude:   frame.WhyRepetition + "{{if eq .Why \"limit\"}}You have called tools as often as this task allows.{{else}}You have made {{.Calls}} requests, which is all that this task allows.{{end}}{{end}} Do not call any more tools. Answer the task now with what you know, and say what is missing.",
	Continue:   "Your reply was cut off at the length limit. Go on exactly where it stopped; do not repeat anything.",
	CutCall:    "This call was not run: the reply was cut off at the length limit, and the call may be incomplete. Make it again, with shorter arguments or in smaller parts.",
	Empty:      "Your reply was empty. Answer the task, or call a tool.",
	Final:      "That was a text. Give your answer by calling the tool {{.Final}}.",
	HandedOver: "The conversation is handed over to {{.Strategy}}.",
	LeftBehind: "This call was not run: the conversation was handed over in the same reply.",
	Malformed:  "Your last tool call could not be read: {{.Problem}}\nMake it again: the name of one tool, and arguments that are one JSON object.",
	NotAlone:   "This answer was not taken: other calls of the reply were not run. Call {{.Final}} once and alone, when the answer is whole.",
	NotRun:     "This call was not run: {{.Final}} was called in the same reply. Call {{.Final}} alone, when the answer is whole.",
	Received:   "The answer is taken.",
	Schema:     "Your answer is not of the form that was asked for: {{.Problem}}\nAnswer again with the JSON alone.",
}

// settings is a checked and compiled Config.
type settings struct {
	Config
	frame.Settings
	schema     *tools.Schema
	answerTool tools.Definition // the zero value if the schema is not of type object
}

// New returns a factory for strategy.Set. An invalid Config is reported when the strategy is first
// used, by orchestrator.New or in a machine.Machine.
func New(cfg Config) func() strategy.Strategy {
	s := compile(cfg)
	return func() strategy.Strategy {
		st := &completeTask{settings: s}
		st.Conversation = frame.Converse(Table, &s.Settings, st)
		return st
	}
}

// Bounds implements strategy.Bounder.
func (s *completeTask) Bounds() strategy.Bounds {
	b := strategy.Bounds{Offers: s.Tools, Triggers: map[strategy.Trigger]int{started: 1}}
	if s.OnLimit == LimitFail {
		b.Triggers[exhausted], b.Triggers[lastSearch] = 0, 0
	}
	if s.Plan == nil || s.Search != nil && !s.Search.Active() {
		b.Triggers[searched], b.Triggers[lastSearch] = 0, 0
	}
	return b
}

// refusals returns how often a forced choice may be refused before the strategy fails.
func (c Config) refusals() int {
	if frame.Forced(c.ToolChoice) && c.OnRefusedChoice != RefusedFail {
		return 1
	}
	return 0
}

// fallbacks returns how often the final tool may replace the response format.
func (c Config) fallbacks() int {
	if c.Schema == nil || c.Answer != "" && c.Answer != AnswerAuto {
		return 0
	}
	if _, ok := finalDefinition(c.Schema.Schema); !ok {
		return 0
	}
	return 1
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg, Settings: frame.Settings{Pkg: "completetask"}}
	s.Handoffs = slices.Clone(cfg.Handoffs)
	s.Caps = strategy.Caps{
		capRounds: frame.Count(s.MaxModelCalls, 50) - 1, capRetries: frame.Count(s.MaxRetries, 2), capUnforced: s.refusals(),
		capUnformatted: s.fallbacks(),
	}
	if s.MaxModelCalls < 0 {
		s.Caps[capRounds] = strategy.Unbounded
	}
	problems := []error{s.CompileCompaction(cfg.Compact, cfg.Model, afterSummary)}
	if s.Schema != nil {
		var err error
		s.schema, err = tools.CompileSchema(s.Schema.Schema)
		if err != nil {
			problems = append(problems, errors.New("completetask: Schema: "+strings.TrimPrefix(err.Error(), "tools: ")))
		}
		problems = append(problems, checkSchemaName(s.Schema.Name))
		var ok bool
		if s.answerTool, ok = finalDefinition(s.Schema.Schema); !ok && s.Answer == AnswerTool {
			problems = append(problems, errors.New(`completetask: Answer: the arguments of a tool are an object: the Schema must be of "type":"object"`))
		}
	}
	problems = append(problems,
		s.planSearch(),
		frame.Distinct("completetask", "Tools", s.Tools),
		checkHandoffs(s.Handoffs),
		frame.ToolChoice("completetask", "ToolChoice", s.ToolChoice),
		frame.OneOf("completetask", "OnRefusedChoice", &s.OnRefusedChoice, RefusedAuto, RefusedFail),
		frame.OneOf("completetask", "Answer", &s.Answer, AnswerAuto, AnswerNative, AnswerTool),
		frame.OneOf("completetask", "OnLength", &s.OnLength, LengthFail, LengthAccept, LengthContinue),
		frame.OneOf("completetask", "OnEmpty", &s.OnEmpty, EmptyAccept, EmptyAsk, EmptyFail),
		frame.OneOf("completetask", "OnLimit", &s.OnLimit, LimitConclude, LimitFail),
		frame.ParsePrompts(&s.Settings, "completetask", s.Prompts, defaultPrompts, samples),
	)
	s.Err = errors.Join(problems...)
	return s
}

var schemaName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkSchemaName returns an error for a name that providers refuse.
func checkSchemaName(name string) error {
	switch {
	case schemaName.MatchString(name):
		return nil
	case name == "":
		return errors.New(`completetask: Schema: has no Name: give it one, of letters, digits, "_" and "-", or make it with llmclient.SchemaOf`)
	default:
		return fmt.Errorf(`completetask: Schema: the Name %.80q is not 1 to 64 of letters, digits, "_" and "-"`, name)
	}
}

// samples are data to test the prompts with; prompts that are not listed have no data.
var samples = map[string]any{
	"Arguments":  map[string]any{"Final": "a tool", "Problem": "a problem"},
	"Conclude":   map[string]any{"Calls": 1, "Why": ""},
	"CutCall":    map[string]any{"Tool": "a tool"},
	"Final":      map[string]any{"Final": "a tool"},
	"NotAlone":   map[string]any{"Final": "a tool"},
	"NotRun":     map[string]any{"Tool": "a tool", "Final": "a tool"},
	"HandedOver": map[string]any{"Strategy": "a strategy"},
	"LeftBehind": map[string]any{"Tool": "a tool", "Strategy": "a strategy"},
	"Malformed":  map[string]any{"Problem": "a problem", "Generated": "a text"},
	"Schema":     map[string]any{"Problem": "a problem"},
}

// prompt fills in a template. If that fails, it returns the error as a text for the model.
func (s *settings) prompt(name string, data map[string]any) string {
	text, err := s.Texts.Fill(name, data)
	if err != nil {
		return err.Error()
	}
	return text
}
