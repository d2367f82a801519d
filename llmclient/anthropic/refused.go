package anthropic

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// omission reports whether the thought of the message at an index that has this seal is not sent.
// Nil means that all are.
type omission func(index int, seal []byte) bool

// sealOf returns what signs a thought, or what only Anthropic can read of it; nil if there is
// neither.
func sealOf(t messages.Thought) json.RawMessage {
	if seal := t.Extras[extraSignature]; seal != nil {
		return seal
	}
	return t.Extras[extraRedacted]
}

// withThoughts asks, and again at once without any thought if the server refuses one. Newer models
// bind a thought to all that was before it: the system prompt, the tools, the messages and their
// thoughts. A request with other tools, or with less of the conversation, is refused. The thoughts
// that were refused are remembered with what was before them, and the refused request, which costs
// nothing, is listed among the attempts. See
// platform.claude.com/docs/en/build-with-claude/preserved-thinking.
func (c *Client) withThoughts(req *llmclient.Request, model string,
	ask func(omission) (*llmclient.Response, *llmclient.Error),
) (*llmclient.Response, *llmclient.Error) {
	var scopes []string
	if c.refused.Any() {
		scopes = scopesOf(req, model)
	}
	sent, without := false, false // a thought that may be refused; all thoughts
	return wire.Repeat(model, func(int) (*llmclient.Response, *llmclient.Error, bool) {
		resp, err := ask(func(index int, seal []byte) bool {
			omit := without || scopes != nil && c.refused.Has(scopes[index], seal)
			sent = sent || !omit
			return omit
		})
		if err == nil && without {
			scopes = scopesOf(req, model)
			c.refused.AddThoughts(req.Messages, func(i int) string { return scopes[i] }, sealOf)
		}
		without = err != nil && !without && sent && isRefusedThought(err)
		return resp, err, without
	})
}

// scopesOf returns what the thoughts of each message are bound to: the model, the tools, and the
// messages before it without thoughts and their marks of the cache.
func scopesOf(req *llmclient.Request, model string) []string {
	h := sha256.New()
	add := func(v any) {
		text, _ := json.Marshal(v) // what has no JSON form cannot be sent
		_, _ = h.Write(append(text, '\n'))
	}
	add(model)
	for i := range req.Tools {
		d := &req.Tools[i]
		add([]any{d.Name, d.Description, string(d.Parameters), d.Strict})
	}
	scopes := make([]string, len(req.Messages))
	for i, m := range req.Messages {
		scopes[i] = string(h.Sum(nil))
		text, _ := messages.AppendMessage(nil, bare(m))
		add(string(text))
	}
	return scopes
}

// bare returns a message without thoughts and its mark of the cache.
func bare(m messages.Message) messages.Message {
	switch m := m.(type) {
	case messages.System:
		m.Cache = messages.CacheNone
		return m
	case messages.User:
		m.Cache = messages.CacheNone
		return m
	case messages.Assistant:
		m.Cache = messages.CacheNone
		m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(c messages.AssistantContent) bool {
			t, ok := c.(messages.Thought)
			return ok && t.Extras[extraBlock] == nil
		})
		return m
	case messages.Tool:
		m.Cache = messages.CacheNone
		return m
	default:
		return m
	}
}

// isRefusedThought reports whether a server has refused a request for one of its thoughts: "Invalid
// `signature` in `thinking` block", or "`thinking` or `redacted_thinking` blocks in the latest
// assistant message cannot be modified".
func isRefusedThought(err *llmclient.Error) bool {
	text := strings.ToLower(err.Message)
	return err.Status == http.StatusBadRequest && strings.Contains(text, "thinking") && strings.Contains(text, "block") &&
		(strings.Contains(text, "signature") || strings.Contains(text, "cannot be modified"))
}

// lostCalls returns the ids of the calls of Anthropic's own tools that have no result, and get none
// because the conversation has gone on: the API refuses these. As long as only results of other
// tools and replies follow, the server goes on with a call.
func lostCalls(h messages.History) map[string]bool {
	open := len(h) // from there on the server goes on
	for open > 0 && (isOf[messages.Tool](h[open-1]) || isOf[messages.Assistant](h[open-1])) {
		open--
	}
	var lost map[string]bool
	for i, m := range h {
		reply, _ := m.(messages.Assistant)
		for _, c := range reply.Content {
			t, _ := c.(messages.Thought)
			own := t.Extras[extraBlock]
			switch kind := textOf(own, "type"); {
			case own == nil:
			case strings.HasSuffix(kind, "_tool_use") && i < open:
				if lost == nil {
					lost = map[string]bool{}
				}
				lost[textOf(own, "id")] = true
			default:
				delete(lost, textOf(own, "tool_use_id"))
			}
		}
	}
	return lost
}

func isOf[T messages.Message](m messages.Message) bool {
	_, ok := m.(T)
	return ok
}

// textOf returns a text of a block of Anthropic's, "" if there is none.
func textOf(block []byte, name string) (text string) {
	if wire.ValidJSON(block) {
		_ = json.Unmarshal(jsonform.Member(block, name), &text)
	}
	return text
}
