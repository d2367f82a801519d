package llmclient

import (
	"encoding/json"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Request is one request to a model. It is read-only once it was passed to a [Client]. A client
// keeps no reference to it after Complete returns.
type Request struct {
	Model       string             `json:"model,omitempty"`       // "" means the client's own model
	Messages    messages.History   `json:"messages"`              // must obey the laws of messages.History.Validate
	Tools       []tools.Definition `json:"tools,omitempty"`       // what the model may call; nil sends no tools
	ToolFormat  ToolFormat         `json:"tool_format,omitempty"` // how tools are offered; "" means native
	ToolChoice  ToolChoice         `json:"tool_choice,omitzero"`
	Schema      *Schema            `json:"schema,omitempty"`      // the final answer must be JSON of this schema
	Stop        []string           `json:"stop,omitempty"`        // stop sequences
	Temperature *float64           `json:"temperature,omitempty"` // nil means the provider's default
	MaxTokens   int                `json:"max_tokens,omitempty"`  // most tokens in the reply; 0 means the provider's default
	Extras      messages.Extras    `json:"extras,omitempty"`      // more fields for the provider's request body, sent unchanged
}

// ToolFormat says how tools are offered to a model.
type ToolFormat string

// The formats. With ToolsText the tools are in Request.Tools so that they can be executed, but a
// client never sends them natively: the messages describe them.
const (
	ToolsNative ToolFormat = "native"
	ToolsText   ToolFormat = "text"
)

// ToolChoice says whether the model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitempty"`
	Name string         `json:"name,omitempty"` // the tool, for ChooseTool
}

// ToolChoiceMode is the kind of a [ToolChoice]; "" leaves the choice to the provider, which means
// auto.
type ToolChoiceMode string

// The modes, with the names of Chat Completions.
const (
	ChooseAuto     ToolChoiceMode = "auto"
	ChooseNone     ToolChoiceMode = "none"
	ChooseRequired ToolChoiceMode = "required" // some tool
	ChooseTool     ToolChoiceMode = "tool"     // the tool of that name
)

// Schema asks for an answer in JSON.
type Schema struct {
	Name   string          `json:"name"`             // 1 to 64 of letters, digits, "_" and "-"
	Schema json.RawMessage `json:"schema"`           // JSON Schema
	Strict bool            `json:"strict,omitempty"` // ask the provider to enforce it; it must then be in the provider's strict subset
}
