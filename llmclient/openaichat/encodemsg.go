package openaichat

import (
	"strconv"

	"github.com/segue-go/segue/messages"
)

// messages writes the conversation.
func (e *encoder) messages(h messages.History) {
	if len(h) == 0 {
		e.fail("the request has no messages")
	}
	e.name("messages")
	e.open('[')
	called := false // tools were called since the last user message
	for i, m := range h {
		e.open('{')
		switch m := m.(type) {
		case messages.System:
			e.text("role", "system")
			e.text("content", m.Text)
			e.others(i, m.Extras)
		case messages.User:
			called = false
			e.text("role", "user")
			e.user(i, m)
			e.others(i, m.Extras)
		case messages.Assistant:
			called = e.assistant(i, m, called)
		case messages.Tool:
			e.text("role", "tool")
			e.text("tool_call_id", m.CallID)
			e.text("content", m.ForModel())
			e.others(i, m.Extras)
		default:
			e.fail("message %d is a %T, which is no message as a value", i, m)
		}
		e.close('}')
	}
	e.close(']')
}

// others writes all extras of a message, if the dialect sends them.
func (e *encoder) others(index int, extras messages.Extras) {
	if e.allExtras && len(extras) > 0 {
		e.extras("message "+strconv.Itoa(index), extras, "role", "content", "tool_calls", "tool_call_id")
	}
}

// user writes the content: a single text as a string, anything else as a list of parts.
func (e *encoder) user(index int, m messages.User) {
	if len(m.Content) == 0 {
		e.text("content", "")
		return
	}
	if t, ok := m.Content[0].(messages.Text); ok && len(m.Content) == 1 {
		e.text("content", t.Text)
		return
	}
	e.name("content")
	e.open('[')
	for _, c := range m.Content {
		e.open('{')
		switch c := c.(type) {
		case messages.Text:
			e.text("type", "text")
			e.text("text", c.Text)
		case messages.Image:
			e.image(c)
		default:
			e.fail("message %d has a part %T, which is none as a value", index, c)
		}
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) image(c messages.Image) {
	e.text("type", "image_url")
	e.name("image_url")
	e.open('{')
	e.text("url", c.URL)
	if c.Detail != "" {
		e.text("detail", c.Detail)
	}
	e.close('}')
}

// assistant writes a reply. It returns whether tools have been called in this turn.
func (e *encoder) assistant(index int, m messages.Assistant, called bool) bool {
	e.text("role", "assistant")
	texts, calls := 0, 0
	for _, c := range m.Content {
		switch c.(type) {
		case messages.Text:
			texts++
		case messages.ToolCall:
			calls++
		case messages.Thought:
		default:
			e.fail("message %d has a part %T, which is none as a value", index, c)
		}
	}
	if texts == 0 && calls > 0 {
		e.b = append(e.b, `,"content":null`...) // the form in OpenAI's reference; some servers refuse "" here
	} else {
		e.text("content", m.Text())
	}
	if calls > 0 {
		e.name("tool_calls")
		e.open('[')
		for _, c := range m.Content {
			if call, ok := c.(messages.ToolCall); ok {
				e.call(call)
			}
		}
		e.close(']')
	}
	called = called || calls > 0
	e.thoughts(index, m, called)
	return called
}

func (e *encoder) call(c messages.ToolCall) {
	e.open('{')
	e.text("id", c.ID)
	e.b = append(e.b, `,"type":"function","function":{`...)
	e.text("name", c.Name)
	args := c.Arguments
	if args == "" {
		args = "{}"
	}
	e.text("arguments", args)
	e.close('}')
	if e.callExtra && len(c.Extras) > 0 {
		e.extras("call "+strconv.Quote(c.ID), c.Extras, "id", "type", "function", "index")
	}
	e.close('}')
}

// thoughts writes the fields of a reply that the server wants back.
func (e *encoder) thoughts(index int, m messages.Assistant, called bool) {
	if e.allExtras {
		e.others(index, m.Extras)
		return
	}
	if e.toolTurns && !called {
		return
	}
	for _, name := range e.fields {
		if raw, ok := m.Extras[name]; ok {
			e.raw(name, raw, "message "+strconv.Itoa(index)+" "+strconv.Quote(name))
			return
		}
	}
	if len(e.fields) > 0 && e.fields[0] == fieldReasoningContent {
		if thought := m.Thought(); thought != "" {
			e.text(fieldReasoningContent, thought)
		}
	}
}
