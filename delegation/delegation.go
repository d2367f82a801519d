package delegation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
)

// Input is everything that a strategy receives at its start. A delegated strategy sees nothing else
// of its parent.
type Input struct {
	Goal     string           `json:"goal,omitempty"`     // what to achieve, in words; may be empty if Messages say it
	Messages messages.History `json:"messages,omitempty"` // the conversation so far; read-only
	Data     json.RawMessage  `json:"data,omitempty"`     // anything else, as JSON
}

// Output is the final state of a strategy: its result, or an error and the work done so far.
type Output struct {
	Messages messages.History `json:"messages,omitempty"` // the whole conversation, input included
	Result   *string          `json:"result,omitempty"`   // the answer; nil means no answer, "" is an empty answer
	Data     json.RawMessage  `json:"data,omitempty"`     // the answer as JSON, if a schema was requested
	Metadata Metadata         `json:"metadata,omitempty"`
	Err      *Error           `json:"error,omitempty"` // nil means success
	Parts    []Part           `json:"parts,omitempty"` // work of children that Messages do not contain, in order; set by the strategy

	// Set by the Machine, for the whole subtree. Values set by a strategy are ignored.
	Usage     messages.Usage `json:"usage,omitzero"`
	Counts    Counts         `json:"counts,omitzero"`
	Cost      messages.Cost  `json:"cost,omitempty"`      // of Usage, in millionths of a dollar
	Unpriced  int            `json:"unpriced,omitempty"`  // model calls whose tokens have no price; Cost does not include them
	Untrusted bool           `json:"untrusted,omitempty"` // text from outside has been read
	Begin     int            `json:"begin,omitempty"`     // index in Messages at which this turn begins; see Texts
	Elapsed   time.Duration  `json:"elapsed,omitzero"`    // the total time of the effects
}

// Counts are what a strategy and its descendants have used, besides tokens.
type Counts struct {
	Steps      int `json:"steps,omitempty"`
	ModelCalls int `json:"model_calls,omitempty"`
	ToolCalls  int `json:"tool_calls,omitempty"`
	Handoffs   int `json:"handoffs,omitempty"`
}

// Text returns the result, or "" if there is none.
func (o Output) Text() string {
	if o.Result == nil {
		return ""
	}
	return *o.Result
}

// Decode reads the answer into v, as [json.Unmarshal] does, but an integer may be written as 5.0 or
// 1e3. The answer is Data or, without Data, the Result, which must then be JSON. If Err is set,
// Decode returns it. If the model declined to answer, which is no Err, Decode returns an [*Error].
// Otherwise its error shows the answer that could not be decoded.
func (o Output) Decode(v any) error {
	if o.Err != nil {
		return o.Err
	}
	answer := o.Data
	if answer == nil {
		if o.declined() {
			return &Error{Code: CodeFailed, Message: fmt.Sprintf("delegation: the model declined to answer: %.500q", o.Text())}
		}
		answer = json.RawMessage(o.Text())
	}
	if err := jsonform.Decode(answer, v, false); err != nil {
		return fmt.Errorf("delegation: the answer is not JSON of a %T: %w: %.80q", v, err, answer)
	}
	return nil
}

// declined reports whether the metadata says that the model stopped with a refusal.
func (o Output) declined() bool {
	var why string
	found, err := o.Metadata.Decode("finish", &why)
	return found && err == nil && why == "refusal"
}

// Texts returns the texts of the assistant messages of this turn, in order. Messages without text
// are left out. Texts of Parts are included at their places.
//
// The turn begins at Messages[Begin]. The earlier messages are the system prompt and the
// conversation of the input. Begin is 0 if the input had no messages, or if the strategy did not
// keep the last of them at its place; then the turn is the whole conversation.
func (o Output) Texts() []string {
	var texts []string
	o.turn(func(m messages.Message) {
		if a, ok := m.(messages.Assistant); ok {
			if t := a.Text(); t != "" {
				texts = append(texts, t)
			}
		}
	})
	return texts
}

// ToolMetas returns the outputs of the tool messages of this turn, in order. Outputs of Parts are
// included at their places. [Output.Texts] says where the turn begins.
func (o Output) ToolMetas() []messages.ToolOutput {
	var metas []messages.ToolOutput
	o.turn(func(m messages.Message) {
		if t, ok := m.(messages.Tool); ok {
			metas = append(metas, t.ToolOutput)
		}
	})
	return metas
}

// Metadata is what a strategy reports about its own work, such as iterations, plan and attempts. It
// maps names to JSON values. See [MetadataRun] for what the Machine adds.
type Metadata map[string]json.RawMessage

// MetadataRun is the name under which the metadata of the output of a run that has ended hold a
// [RunMetadata], whatever the strategy has put there. The Machine sets it. A run that waits has
// none, and neither have the outputs of children.
const MetadataRun = "run"

// RunMetadata says what a run was given, and what it has left.
type RunMetadata struct {
	Strategy string `json:"strategy"` // of the root
	Limits   Limits `json:"limits"`   // of the run; negative: there is no limit
	Left     Limits `json:"left"`     // of the Limits
}

// Set stores v under name. It returns an error only if encoding/json cannot encode v.
func (m *Metadata) Set(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("delegation: metadata %q: %w", name, err)
	}
	if *m == nil {
		*m = Metadata{}
	}
	(*m)[name] = raw
	return nil
}

// Decode reads the value stored under name into v, and reports whether there is one.
func (m Metadata) Decode(name string, v any) (bool, error) {
	raw, ok := m[name]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("delegation: metadata %q: %w", name, err)
	}
	return true, nil
}
