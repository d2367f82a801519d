package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
)

// UserContent is one part of a [User] message: [Text], [Image], [File] or [Audio], as values.
type UserContent interface{ isUserContent() }

// AssistantContent is one part of an [Assistant] message: [Text], [Thought] or [ToolCall], as
// values.
type AssistantContent interface{ isAssistantContent() }

// Text is plain text.
type Text struct {
	Text      string
	Citations []Citation // what the model names as its sources; only in replies, never sent
	Cache     Cache      // only in user messages
}

// Image is a picture by address: an https URL, or a data URL (RFC 2397) that holds the bytes.
type Image struct {
	URL    string
	Detail string // "low", "high" or "" for the provider's own choice
	Cache  Cache
}

// File is a document, such as a PDF. It has a URL or an ID, not both.
type File struct {
	Name      string // such as "report.pdf"
	MediaType string // RFC 6838, such as "application/pdf"; "" is that of a data URL
	URL       string // an https URL, or a data URL (RFC 2397) that holds the bytes
	ID        string // the id that a provider gave to a file that it holds
	Cache     Cache
}

// Audio is a recording of sound.
type Audio struct {
	Format string // "wav" or "mp3"
	URL    string // a data URL (RFC 2397) that holds the bytes
	Cache  Cache
}

// Thought is reasoning of a model. It is never shown as the model's answer, and is sent back only
// to providers that want it.
type Thought struct {
	Text   string
	Extras Extras // provider fields, such as a signature; sent back unchanged, to that provider only
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON as the model wrote it, broken JSON included
	Extras    Extras // provider fields of the call, such as a signature that must be sent back
}

func (Text) isUserContent()          {}
func (Image) isUserContent()         {}
func (File) isUserContent()          {}
func (Audio) isUserContent()         {}
func (Text) isAssistantContent()     {}
func (Thought) isAssistantContent()  {}
func (ToolCall) isAssistantContent() {}

// Decode reads the arguments into v. Empty arguments and null read as an empty object, because
// several providers send nothing for a tool without parameters. An integer may be written as 5.0.
func (c ToolCall) Decode(v any) error {
	args := c.Arguments
	if blank := strings.TrimSpace(args); blank == "" || blank == "null" {
		args = "{}"
	}
	err := jsonform.Decode([]byte(args), v, false)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("messages: arguments of call %q to %q are not JSON at byte %d: %w", c.ID, c.Name, syntax.Offset, err)
	}
	return fmt.Errorf("messages: arguments of call %q to %q: %w", c.ID, c.Name, err)
}
