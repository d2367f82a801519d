package messages

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Role names the author of a message in the JSON form.
type Role string

// The roles, as every chat API spells them.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one turn of a conversation. It is exactly one of [System], [User], [Assistant] and
// [Tool], as a value, never a pointer. The sum is sealed.
//
// A Message is read-only once it is part of a [History]: copies share its slices and maps.
type Message interface {
	Role() Role
	isMessage()
}

// Extras are unknown fields, keyed by their JSON name. A provider, or a newer version of this
// library, added them to the fields that this package knows. They survive a round trip through JSON
// and are sent only to providers that want them.
type Extras map[string]json.RawMessage

// System is an instruction from the operator of the agent.
type System struct {
	Text   string
	Name   string // of the author, for providers that take one
	Cache  Cache
	Extras Extras
}

// User is a message from the person, or from the program that acts for the person.
//
// The marks are for programs. They survive JSON and are never sent to a model.
type User struct {
	Content []UserContent
	Name    string // of the author, for providers that take one
	Cache   Cache
	Extras  Extras

	Pinned    bool // stays word for word when old messages are summarized or left out; see package strategy/compaction
	Summary   bool // stands for earlier messages that were summarized or left out
	Untrusted bool // holds text from outside, which may contain foreign instructions, such as a summary of untrusted tool outputs
}

// Assistant is one reply of a model: texts, thoughts and tool calls, in the model's order.
type Assistant struct {
	Content []AssistantContent
	Name    string // of the author, for providers that take one
	Cache   Cache
	Extras  Extras
}

// Tool answers one [ToolCall] of the preceding assistant message.
type Tool struct {
	ToolOutput
	Cache  Cache
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

// UserText returns a [User] message with one text.
func UserText(text string) User { return User{Content: []UserContent{Text{Text: text}}} }

// AssistantText returns an [Assistant] message with one text.
func AssistantText(text string) Assistant {
	return Assistant{Content: []AssistantContent{Text{Text: text}}}
}

// Text joins the texts of the message. Images, files and sound are left out.
func (u User) Text() string {
	texts := make([]string, 0, 4)
	for _, c := range u.Content {
		if t, ok := c.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "")
}

// Text joins the texts of the reply. Thoughts and calls are left out. Texts with a call between
// them are separate paragraphs, unless one of them has a blank there.
func (a Assistant) Text() string {
	texts, called := make([]string, 0, 4), false
	for _, c := range a.Content {
		switch c := c.(type) {
		case ToolCall:
			called = len(texts) > 0
		case Text:
			if c.Text == "" {
				continue
			}
			if called {
				texts = append(texts, between(texts[len(texts)-1], c.Text))
			}
			texts, called = append(texts, c.Text), false
		}
	}
	return strings.Join(texts, "")
}

// between returns what makes two texts paragraphs: a blank line, or nothing where one of them has a
// blank.
func between(before, after string) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	if unicode.IsSpace(last) || unicode.IsSpace(first) {
		return ""
	}
	return "\n\n"
}

// Empty reports whether the reply is empty: it has no call, no text other than "", and no thought
// other than "" without extras.
// An empty reply must not be added to a [History].
func (a Assistant) Empty() bool {
	for _, c := range a.Content {
		switch c := c.(type) {
		case Text:
			if c.Text != "" {
				return false
			}
		case Thought:
			if c.Text != "" || len(c.Extras) > 0 {
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

// WithCalls returns the reply with each call replaced by the given call of the same id. Calls
// without a counterpart are kept.
func (a Assistant) WithCalls(calls []ToolCall) Assistant {
	given := make(map[string]ToolCall, len(calls))
	for _, c := range slices.Backward(calls) {
		given[c.ID] = c // of two calls with one id, the first is used
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

// Calls returns the tool calls of the reply in order, in a new slice. It returns nil if there are
// none.
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

// The statuses. A call is failed if it was not started, if it was refused, or if it was cut off and
// its tool is read-only or idempotent. A call is unknown if it was started and cut off and its tool
// is neither: it may have had its effect.
const (
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
	StatusUnknown Status = "unknown"
)

// ToolOutput is the result of one [ToolCall].
type ToolOutput struct {
	CallID    string        // ID of the call it answers
	ToolName  string        // Name of the call it answers
	Output    string        // the result or the error; the model reads ForModel's version of it
	Status    Status        // "" counts as ok
	Reason    string        // a short code for a status other than ok: "error", "timeout", "panic", "arguments", …
	Untrusted bool          // Output came from outside and may contain foreign instructions
	Elapsed   time.Duration // time in the tool

	// Images are pictures that the model sees besides Output. They come from where Output comes
	// from, and Untrusted covers them.
	Images []Image

	// Attachments are what the tool made besides its result, such as files. They are shown to
	// observers of the run, never to the model.
	Attachments []Attachment

	// Kept names the whole result, if Output shows only a part of it and the whole is kept with the
	// run. Zero: it is not kept.
	Kept Kept
}

// Kept names a text that is kept with the run in which its tool was called.
type Kept struct {
	ID   string `json:"id"`
	Size int64  `json:"size"` // in bytes
}

// Attachment is something that a tool made in addition to its result.
type Attachment struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"` // RFC 6838, such as "image/png"
	URL       string `json:"url,omitempty"`        // where it is; a data: URL holds it (RFC 2397)
}

// OK reports whether the call succeeded.
func (o ToolOutput) OK() bool { return o.Status == StatusOK || o.Status == "" }
