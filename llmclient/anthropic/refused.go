package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// omission reports whether the thought with this signature, or with this data that only Anthropic
// can read, is not sent. Nil means that all are.
type omission func(seal []byte) bool

// sealOf returns what signs a thought, or what it is for Anthropic alone; nil if there is neither.
func sealOf(t messages.Thought) json.RawMessage {
	if seal := t.Extras[extraSignature]; seal != nil {
		return seal
	}
	return t.Extras[extraRedacted]
}

// withThoughts asks, and again at once without any thought if the server refuses one. Newer models
// bind a thought to all that was before it: the system prompt, the tools, the messages and their
// thoughts. A request with other tools, or with less of the conversation, is refused. The thoughts
// that were refused are remembered, and the refused request, which costs nothing, is listed among
// the attempts. See platform.claude.com/docs/en/build-with-claude/preserved-thinking.
func (c *Client) withThoughts(req *llmclient.Request, model string,
	ask func(omission) (*llmclient.Response, *llmclient.Error),
) (*llmclient.Response, *llmclient.Error) {
	sent := false // a thought that may be refused
	resp, err := ask(func(seal []byte) bool {
		omit := c.refused.Has(model, seal)
		sent = sent || !omit
		return omit
	})
	if err == nil || !sent || !isRefusedThought(err) {
		return resp, err
	}
	attempt := llmclient.Attempt{Model: model, Usage: err.Usage, Code: err.Code, Error: err.Error()}
	resp, err = ask(func([]byte) bool { return true })
	if err != nil {
		err.Attempts = append([]llmclient.Attempt{attempt}, err.Attempts...)
		return nil, err
	}
	c.refused.Add(model, req.Messages, extraSignature, extraRedacted)
	resp.Attempts = append([]llmclient.Attempt{attempt}, resp.Attempts...)
	return resp, nil
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
// because the conversation has gone on: the API refuses these. At the end of the conversation, also
// before results of other tools, the server goes on with a call.
func lostCalls(h messages.History) map[string]bool {
	open := len(h) // from there on the server goes on
	for open > 0 && isOf[messages.Tool](h[open-1]) {
		open--
	}
	for open > 0 && isOf[messages.Assistant](h[open-1]) {
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
