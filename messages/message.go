package messages

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Role names the speaker of a message in the JSON form.
type Role string

// The roles, as every chat API spells them.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one turn of a conversation: exactly one of [System], [User], [Assistant] and [Tool],
// always as a value, never as a pointer. The sum is sealed.
//
// A Message is read-only once it stands in a [History]: copies share the slices and maps inside.
type Message interface {
	Role() Role
	isMessage()
}

// Extras are fields that a provider, or a newer version of this library, put beside the ones this
// package knows, by their JSON name. They survive a round trip through JSON and are sent only to
// providers that want them.
type Extras map[string]json.RawMessage

// System is an instruction from whoever runs the agent.
type System struct {
	Text   string
	Extras Extras
}

// User is what the person, or the program in the person's place, says.
type User struct {
	Content []UserContent
	Extras  Extras
}

// Assistant is one reply of a model: text, thoughts and tool calls in the order in which the model
// gave them.
type Assistant struct {
	Content []AssistantContent
	Extras  Extras
}

// Tool is the answer to one [ToolCall] of the assistant message before it.
type Tool struct {
	ToolOutput
	Extras Extras
}

// Role returns [RoleSystem].
func (System) Role() Role { return RoleSystem }

// Role returns [RoleUser].
func (User) Role() Role { return RoleUser }

// Role returns [RoleAssistant].
func (Assistant) Role() Role { return RoleAssistant }

// Role returns [RoleTool].
func (Tool) Role() Role { return RoleTool }

func (System) isMessage()    {}
func (User) isMessage()      {}
func (Assistant) isMessage() {}
func (Tool) isMessage()      {}

// UserText returns a [User] message of one text.
func UserText(text string) User { return User{Content: []UserContent{Text{Text: text}}} }

// AssistantText returns an [Assistant] message of one text.
func AssistantText(text string) Assistant {
	return Assistant{Content: []AssistantContent{Text{Text: text}}}
}

// Text joins the texts of the message, images aside.
func (u User) Text() string {
	texts := make([]string, 0, 4)
	for _, c := range u.Content {
		if t, ok := c.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "")
}

// Text joins the texts of the reply; thoughts and calls are left out.
func (a Assistant) Text() string {
	texts := make([]string, 0, 4)
	for _, c := range a.Content {
		if t, ok := c.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "")
}

// Empty reports whether the reply says nothing: no call, no text and no thought but "". Such a
// message must not stand in a [History].
func (a Assistant) Empty() bool {
	for _, c := range a.Content {
		switch c := c.(type) {
		case Text:
			if c.Text != "" {
				return false
			}
		case Thought:
			if c.Text != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Thought joins the thoughts of the reply.
func (a Assistant) Thought() string {
	var b strings.Builder
	for _, c := range a.Content {
		if t, ok := c.(Thought); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// WithCalls returns the reply with those of its calls replaced that one of the calls given has the
// id of.
func (a Assistant) WithCalls(calls []ToolCall) Assistant {
	given := make(map[string]ToolCall, len(calls))
	for _, c := range slices.Backward(calls) {
		given[c.ID] = c // of two with one id the first
	}
	content := slices.Clone(a.Content)
	for i, c := range content {
		call, ok := c.(ToolCall)
		if !ok {
			continue
		}
		if other, ok := given[call.ID]; ok {
			content[i] = other
		}
	}
	a.Content = content
	return a
}

// Calls returns the tool calls of the reply in order, in a new slice; nil if there are none.
func (a Assistant) Calls() []ToolCall {
	var calls []ToolCall
	for i, c := range a.Content {
		call, ok := c.(ToolCall)
		if !ok {
			continue
		}
		if calls == nil {
			calls = make([]ToolCall, 0, len(a.Content)-i)
		}
		calls = append(calls, call)
	}
	return calls
}

// Status says how a tool call ended.
type Status string

// A call that was not started, was refused, or was cut off although read-only or idempotent, has
// failed. A call that had started, is neither, and was cut off is unknown: it may have had its
// effect.
const (
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
	StatusUnknown Status = "unknown"
)

// ToolOutput is the result of one [ToolCall].
type ToolOutput struct {
	CallID    string        // ID of the call it answers
	ToolName  string        // Name of the call it answers
	Output    string        // the result, or what went wrong; the model reads what ForModel makes of it
	Status    Status        // "" counts as ok
	Reason    string        // a short code for a status other than ok: "error", "timeout", "panic", "arguments", …
	Untrusted bool          // Output came from outside and may hold instructions that nobody here gave
	Elapsed   time.Duration // time in the tool

	// Attachments are what the tool made besides, such as files: for whoever watches the run, never
	// for the model.
	Attachments []Attachment
}

// Attachment is something that a tool made besides its result.
type Attachment struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"` // RFC 6838, such as "image/png"
	URL       string `json:"url,omitempty"`        // where it is; a data: URL holds it (RFC 2397)
}

// OK reports whether the call succeeded.
func (o ToolOutput) OK() bool { return o.Status == StatusOK || o.Status == "" }
