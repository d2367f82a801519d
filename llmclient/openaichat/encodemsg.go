package openaichat

import (
	"strconv"

	"github.com/segue-go/segue/llmclient/internal/wire"
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
		e.bridge(h, i)
		e.open('{')
		switch m := m.(type) {
		case messages.System:
			e.text("role", "system")
			e.content(inMessage(i), m.Text, m.Cache)
			e.author(i, m.Name)
			e.others(i, m.Extras, m.Name)
		case messages.User:
			called = false
			e.text("role", "user")
			e.user(i, m)
			e.author(i, m.Name)
			e.others(i, m.Extras, m.Name)
		case messages.Assistant:
			called = e.assistant(i, m, called)
		case messages.Tool:
			e.text("role", "tool")
			e.text("tool_call_id", e.callID(m.CallID))
			e.toolResult(i, m)
			e.others(i, m.Extras, "")
		default:
			e.fail("message %d is a %T, which is no message as a value", i, m)
		}
		e.close('}')
	}
	e.close(']')
}

// bridge writes a reply between the result of a tool and another message than a reply where the
// server wants one: Mistral answers "Unexpected role 'user' after role 'tool'".
func (e *encoder) bridge(h messages.History, i int) {
	if i == 0 || !e.mistral {
		return
	}
	_, told := h[i-1].(messages.Tool)
	switch h[i].(type) {
	case messages.User, messages.System:
		if told {
			e.open('{')
			e.text("role", "assistant")
			e.text("content", "OK.")
			e.close('}')
		}
	}
}

// callID returns the id of a call in the form that the server takes.
func (e *encoder) callID(id string) string {
	if e.id == nil {
		return id
	}
	return e.id(id)
}

// author writes the name of the author of a message, if it has one.
func (e *encoder) author(index int, name string) {
	if name != "" {
		e.takes(authorNames, inMessage(index))
		e.text("name", name)
	}
}

// others writes all extras of a message, if the dialect sends them. The extra "name" of a message
// without a Name is sent as it is, even to a server that is known to refuse names. It stays
// an extra only until the message goes through JSON; there, except in a result, it becomes Name.
func (e *encoder) others(index int, extras messages.Extras, name string) {
	if !e.allExtras || len(extras) == 0 {
		return
	}
	known := []string{"role", "content", "tool_calls", "tool_call_id", "name"}
	if name == "" {
		known = known[:len(known)-1]
	}
	e.extras("message "+strconv.Itoa(index), extras, known...)
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
	switch {
	case texts == 0 && calls > 0:
		e.b = append(e.b, `,"content":null`...) // the form in OpenAI's reference; some servers refuse "" here
		if m.Cache != "" {
			e.fail("message %d is a reply without text, so that its Cache has no place: mark the message after it", index)
		}
	default:
		e.content(inMessage(index), m.Text(), m.Cache)
	}
	e.author(index, m.Name)
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
	e.text("id", e.callID(c.ID))
	e.b = append(e.b, `,"type":"function","function":{`...)
	e.text("name", wire.CalledName(c.Name))
	args := c.Arguments
	if !e.anyArgs || args == "" {
		args = wire.CalledArguments(args)
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
		e.others(index, m.Extras, m.Name)
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
