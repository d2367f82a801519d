package frame

import (
	"slices"

	"github.com/segue-go/segue/internal/repeats"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// RepeatsNote is what a model is told, once in a conversation, after a reply that went on repeating
// itself.
const RepeatsNote = "Your last reply went on repeating the same thing, so it was cut off, and the repetitions were left out. Reply again, in other words, and stop when you have said it."

// CutOff reports whether a reply ended before the model had written it all.
func CutOff(why llmclient.FinishReason) bool {
	return why == llmclient.FinishLength || why == llmclient.FinishRepetition
}

// CutWhere says where a reply was cut off.
func CutWhere(why llmclient.FinishReason) string {
	if why == llmclient.FinishRepetition {
		return "where it went on repeating itself"
	}
	return "at the token limit"
}

// Once returns a reply that went on repeating itself with what it repeated there once, and the note
// for the model, unless the conversation holds it. Other replies stay as they are.
func Once(reply llmclient.Response, h messages.History) (once llmclient.Response, note string) {
	if reply.Finish != llmclient.FinishRepetition {
		return reply, ""
	}
	var parts []messages.AssistantContent
	made := map[string]bool{}
	for _, c := range reply.Message.Content {
		switch part := c.(type) {
		case messages.Text:
			part.Text = repeats.Once(part.Text)
			c = part
		case messages.Thought:
			part.Text = repeats.Once(part.Text)
			c = part
		case messages.ToolCall:
			call := part.Name + " " + part.Arguments
			if made[call] {
				continue
			}
			made[call] = true
		}
		parts = append(parts, c)
	}
	reply.Message.Content = parts
	if slices.ContainsFunc(h, func(m messages.Message) bool { u, ok := m.(messages.User); return ok && u.Text() == RepeatsNote }) {
		return reply, ""
	}
	return reply, RepeatsNote
}

// Once is [Once] with the note as one that the model has to be told.
func (n *Notes) Once(reply llmclient.Response, h messages.History) llmclient.Response {
	reply, note := Once(reply, h)
	if note != "" {
		n.Hear(note)
	}
	return reply
}
