package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Definition says what a tool is: for the model, its name, description and parameters; for whoever
// runs it, what it is safe to do with it. It is data: read-only once handed over.
type Definition struct {
	Name        string          `json:"name"`                  // 1 to 64 of letters, digits, "_" and "-"
	Description string          `json:"description,omitempty"` // for the model
	Parameters  json.RawMessage `json:"parameters,omitempty"`  // a JSON Schema of type object; nil means no parameters

	ReadOnly   bool `json:"read_only,omitempty"`  // changes nothing: it may run again
	Idempotent bool `json:"idempotent,omitempty"` // with the same [IdempotencyKey] it has its effect once
	Sequential bool `json:"sequential,omitempty"` // never runs at the same time as another call: whoever runs the calls sees to it
	Untrusted  bool `json:"untrusted,omitempty"`  // its results come from outside: they are marked so

	// NeedsApproval has a person asked about each call, unless a rule of whoever runs the tool
	// names the tool.
	NeedsApproval bool `json:"needs_approval,omitempty"`

	Timeout   time.Duration `json:"timeout,omitempty"`    // 0: the runner's default; negative: none
	MaxResult int           `json:"max_result,omitempty"` // bytes of result kept; 0: the runner's default; negative: no cap
}

// Tool is something a model can call.
//
// Call is given the arguments as the model wrote them, which may be anything. What it returns is
// text for the model; an error becomes a failed result whose text is the error's, so it must say
// what a model can mend and hold no secret. Call is made from several goroutines at once, and must
// return when ctx is done.
//
// The package documentation lists what else a Tool may be able to do.
type Tool interface {
	Definition() Definition
	Call(ctx context.Context, arguments string) (string, error)
}
