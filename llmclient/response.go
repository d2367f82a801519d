package llmclient

import (
	"encoding/json"
	"time"

	"github.com/segue-go/segue/messages"
)

// Response is a model's reply. It is read-only once returned.
type Response struct {
	Message  messages.Assistant `json:"message"` // may be empty: some models answer with nothing
	Finish   FinishReason       `json:"finish,omitempty"`
	Usage    messages.Usage     `json:"usage,omitzero"`
	Model    string             `json:"model,omitempty"`    // the model that answered, as named by the provider
	Asked    string             `json:"asked,omitempty"`    // the model that the client asked for, where Model is another name; it may have a price by this one
	ID       string             `json:"id,omitempty"`       // the provider's id of the reply
	Read     int                `json:"read,omitempty"`     // how many of the calls, the last ones, were read from the text, where the server had left them
	Raw      json.RawMessage    `json:"raw,omitempty"`      // the body as received, if the client was told to keep it; otherwise nil
	Attempts []Attempt          `json:"attempts,omitempty"` // earlier failures, inside wrappers; oldest first
}

// FinishReason says why a model stopped.
type FinishReason string

// The reasons. A client maps a provider's own names to these. A missing or unknown reason is
// derived from the content.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"         // cut off at the token limit
	FinishContentFilter FinishReason = "content_filter" // withheld by the provider
	FinishRefusal       FinishReason = "refusal"        // the model declined; the text says how
	FinishRepetition    FinishReason = "repetition"     // cut off, because the model went on repeating itself; no client says so
)

// Attempt is a request that a wrapper made in addition to the one whose outcome it returned: a
// failed try, or a reply that was sent back for repair.
type Attempt struct {
	Model string         `json:"model,omitempty"`
	Usage messages.Usage `json:"usage,omitzero"`
	Code  Code           `json:"code,omitempty"`  // why it failed
	Error string         `json:"error,omitempty"` // the text of the error, without secrets
	Wait  time.Duration  `json:"wait,omitzero"`   // the wait after it
}
