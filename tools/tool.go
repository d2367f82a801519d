package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/segue-go/segue/messages"
)

// Definition describes a tool. Name, description and parameters are for the model. The other fields
// say how the tool may be run. A Definition is read-only once it is in use.
type Definition struct {
	Name        string          `json:"name"`                  // 1 to 64 of letters, digits, "_" and "-"
	Description string          `json:"description,omitempty"` // for the model
	Parameters  json.RawMessage `json:"parameters,omitempty"`  // a JSON Schema of type object; nil means no parameters

	// Strict asks the provider to hold the model to the schema of Parameters, which must then be
	// in the subset that the provider takes. It is sent as "strict".
	Strict bool `json:"strict,omitempty"`

	// Cache says that the provider should cache the list of tools up to this one.
	Cache messages.Cache `json:"cache,omitempty"`

	ReadOnly   bool `json:"read_only,omitempty"`  // changes nothing: it may run again
	Idempotent bool `json:"idempotent,omitempty"` // with the same [IdempotencyKey] it has its effect only once
	Sequential bool `json:"sequential,omitempty"` // never runs at the same time as another call; the run ensures this
	Repeatable bool `json:"repeatable,omitempty"` // may be called with the same arguments again and again, such as a tool that waits: this is never a loop
	Untrusted  bool `json:"untrusted,omitempty"`  // its results come from outside and are marked as untrusted

	// NeedsApproval says that a person must approve each call, unless a rule of the orchestrator
	// names the tool.
	NeedsApproval bool `json:"needs_approval,omitempty"`

	// ApprovalNote says why a person must look at each call, in a sentence that is shown to that
	// person. No rule of the orchestrator allows such a call without asking: the rule was written
	// before what the note is about. A run that goes on asks, too, also if it began without the
	// note. The model does not see it.
	ApprovalNote string `json:"approval_note,omitempty"`

	Timeout   time.Duration `json:"timeout,omitempty"`    // 0: that of the run; negative: none
	MaxResult int           `json:"max_result,omitempty"` // bytes of result kept; 0: that of the run; negative: no limit
}

// DefaultMaxResult is how many bytes are kept of a result if nothing else is said.
const DefaultMaxResult = 256 << 10

// Tool is something that a model can call.
//
// Call receives the arguments as the model wrote them; they may be any text. It returns text for
// the model. An error becomes a failed result with the text of the error, so the text should tell
// the model what to correct, and must contain no secret. Call must be safe for concurrent use, and
// must return when ctx is done.
//
// The package documentation lists the optional methods of a Tool.
type Tool interface {
	Definition() Definition
	Call(ctx context.Context, arguments string) (string, error)
}
