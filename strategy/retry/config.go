package retry

import (
	"cmp"
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// Name is the usual name of this strategy in a strategy.Set.
const Name = "retry"

// Config configures what is tried, and how often. The zero Config is ready to use.
type Config struct {
	Strategy string            `json:"strategy,omitempty"` // the strategy to try; "" means "complete-task"
	Tools    []string          `json:"tools,omitzero"`     // names of the run's tools that it may use; nil means all that this frame may use
	Limits   delegation.Limits `json:"limits,omitzero"`    // of each attempt's subtree; reaching one ends the retries

	Detector Detector `json:"detector,omitempty"` // which outputs are failures; "" means DetectError

	// Detect, if not nil, replaces Detector: it decides whether an output is a failure, and why. It
	// receives the whole output, which it must not change, and must be pure. It is not called for
	// outputs that end the retries; see [Final].
	Detect func(out delegation.Output) (failed bool, why string) `json:"-"`

	// OnEmpty selects whether an attempt that succeeded without a text or data is a failure; ""
	// means EmptyFail. If Detect is set, Detect decides.
	OnEmpty EmptyPolicy `json:"on_empty,omitempty"`

	MaxRetries int `json:"max_retries,omitempty"` // attempts after the first; 0 means 2, negative means none

	Prompts Prompts `json:"prompts,omitzero"` // the strategy's texts for the attempts
}

// Detector selects which outputs are failures.
type Detector string

// The detectors.
const (
	DetectError  Detector = "error"  // those with an error
	DetectStrict Detector = "strict" // those, and those in whose messages a tool failed, even if the model recovered
)

// EmptyPolicy selects what an attempt is that succeeded without a text or data.
type EmptyPolicy string

// The policies for attempts without a result.
const (
	EmptyFail   EmptyPolicy = "fail"   // a failure
	EmptyAccept EmptyPolicy = "accept" // a success
)

// Prompts are templates (text/template) of the strategy's texts; "" means the default. The data is
// a [PromptData].
type Prompts struct {
	Retry      string `json:"retry,omitempty"`       // the goal of an attempt after the first
	ToolFailed string `json:"tool_failed,omitempty"` // the failure, if DetectStrict finds one. Data: .Tool, .Result (what it returned)
	NoReason   string `json:"no_reason,omitempty"`   // the failure, if Detect gives no reason. No data
	Empty      string `json:"empty,omitempty"`       // the failure, if there is neither a text nor data. No data
	CutFailure string `json:"cut_failure,omitempty"` // after a failure that was cut. No data
}

// PromptData is the data for the prompts.
type PromptData struct {
	Goal        string // the original goal; may be empty if the messages say it
	Failure     string // how the last attempt failed, cut to 4096 bytes
	Result      string // the Result of the last attempt, whole; mostly ""
	Attempt     int    // the number of the attempt that begins, from 2
	MaxAttempts int
	Tool        string // the failed tool
}

var defaultPrompts = Prompts{
	Retry: `{{if .Goal}}{{.Goal}}

{{end}}An earlier attempt at this failed: {{.Failure}}
Try again, and avoid what made it fail.`,
	ToolFailed: `the tool {{printf "%q" .Tool}} failed: {{.Result}}`,
	NoReason:   `it was not good enough`,
	Empty:      `there was no answer`,
	CutFailure: `[cut off here: the text is longer]`,
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
	return func() strategy.Strategy { return &retry{settings: s, Frame: frame.New(Table, &s.Settings)} }
}

// Bounds implements strategy.Bounder.
func (s *retry) Bounds() strategy.Bounds {
	return strategy.Bounds{Offers: []string{}, Delegates: []strategy.Child{{Strategy: s.Strategy, Tools: s.Tools, Limits: s.Limits}}}
}

// compile checks a Config and fills in its defaults.
func compile(cfg Config) *settings {
	s := &settings{Config: cfg}
	s.Strategy = cmp.Or(s.Strategy, "complete-task")
	s.MaxRetries = frame.Count(s.MaxRetries, 2)
	s.Caps = strategy.Caps{capRetries: s.MaxRetries}
	var problems []error
	if s.Detect != nil && s.Detector != "" {
		problems = append(problems, errors.New("retry: Detector and Detect are both set: set only one"))
	}
	if s.Detect != nil && s.OnEmpty != "" {
		problems = append(problems, errors.New("retry: OnEmpty and Detect are both set: set only one"))
	}
	problems = append(problems, frame.Distinct("retry", "Tools", s.Tools), frame.OneOf("retry", "Detector", &s.Detector, DetectError, DetectStrict),
		frame.OneOf("retry", "OnEmpty", &s.OnEmpty, EmptyFail, EmptyAccept))
	s.Err = errors.Join(append(problems, frame.ParsePrompts(&s.Settings, "retry", s.Prompts, defaultPrompts, samples))...)
	return s
}

// samples are data to test the prompts with.
var samples = map[string]any{
	"":         PromptData{Goal: "a goal", Failure: "a failure", Result: "a result", Attempt: 2, MaxAttempts: 3, Tool: "a tool"},
	"NoReason": nil, "Empty": nil, "CutFailure": nil,
}

// failure fills in a template that describes a failed attempt. If that fails, it returns the error
// as text.
func (s *settings) failure(name string, data any) string {
	text, err := s.Texts.Fill(name, data)
	if err != nil {
		return err.Error()
	}
	return text
}
