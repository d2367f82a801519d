package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/segue-go/segue/messages"
)

// The forms of ids of calls that APIs take. Each function returns an id as it is if it has the
// form, and otherwise one made of it, always the same: different ids stay different.

// ChatID returns an id for OpenAI's Chat Completions: at most 40 bytes.
func ChatID(id string) string { return idOf(id, len(id) <= 40) }

// ResponsesID returns an id for the Responses API: at most 64 bytes.
func ResponsesID(id string) string { return idOf(id, len(id) <= 64) }

var mistralID = regexp.MustCompile("^[a-zA-Z0-9]{9}$")

// MistralID returns an id for Mistral: nine letters and digits.
func MistralID(id string) string {
	if mistralID.MatchString(id) {
		return id
	}
	return idOf(id, false)[len("call_"):][:9]
}

// MessagesID returns an id for Anthropic's Messages: letters, digits, "_" and "-".
func MessagesID(id string) string {
	if strings.IndexFunc(id, func(r rune) bool { return !InName(r) }) < 0 {
		return id
	}
	return underscored(id) + "_" + idOf(id, false)[len("call_"):][:8]
}

func idOf(id string, fits bool) string {
	if fits {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// Known reports whether a call has the id.
func Known(list []messages.ToolCall, id string) bool {
	for i := range list {
		if list[i].ID == id {
			return true
		}
	}
	return false
}

// IDs makes ids for calls without one. The same request and reply give the same ids. They
// differ from all ids in the conversation so far.
type IDs struct {
	History messages.History
	made    int
}

// Next returns a new id, which no call beside has.
func (m *IDs) Next(beside []messages.ToolCall) string {
	for {
		id := "call_" + strconv.Itoa(len(m.History)) + "_" + strconv.Itoa(m.made)
		m.made++
		if !Known(beside, id) && !m.used(id) {
			return id
		}
	}
}

func (m *IDs) used(id string) bool {
	for _, msg := range m.History {
		a, ok := msg.(messages.Assistant)
		if !ok {
			continue
		}
		for _, c := range a.Content {
			if t, ok := c.(messages.ToolCall); ok && t.ID == id {
				return true
			}
		}
	}
	return false
}
