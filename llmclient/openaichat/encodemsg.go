package openaichat

import (
	"strconv"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// messages writes the conversation.
func (e *encoder) messages(h messages.History) {
	if len(h) == 0 {
		e.Fail("the request has no messages")
	}
	e.Name("messages")
	e.Open('[')
	called := false // tools were called since the last user message
	for i, m := range h {
		e.bridge(h, i)
		e.Open('{')
		switch m := m.(type) {
		case messages.System:
			e.Text("role", "system")
			e.content(inMessage(i), m.Text, m.Cache)
			e.author(i, m.Name)
			e.others(i, m.Extras, m.Name)
		case messages.User:
			called = false
			e.Text("role", "user")
			e.user(i, m)
			e.author(i, m.Name)
			e.others(i, m.Extras, m.Name)
		case messages.Assistant:
			called = e.assistant(i, m, called)
		case messages.Tool:
			e.Text("role", "tool")
			e.Text("tool_call_id", e.callID(m.CallID))
			e.toolResult(i, m)
			e.others(i, m.Extras, "")
		default:
			e.Fail("message %d is a %T, which is no message as a value", i, m)
		}
		e.Close('}')
	}
	e.Close(']')
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
			e.Open('{')
			e.Text("role", "assistant")
			e.Text("content", "OK.")
			e.Close('}')
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
		e.Text("name", name)
	}
}

// others writes all extras of a message, if the dialect sends them. The extra "name" of a message
// without a Name is sent as it is, even to a server that is known to refuse names. It stays
// an extra only until the message goes through JSON; there, except in a result, it becomes Name.
func (e *encoder) others(index int, extras messages.Extras, name string) {
	if !e.allExtras {
		return
	}
	own := []string{"role", "content", "tool_calls", "tool_call_id", "name"}
	if name == "" {
		own = own[:len(own)-1]
	}
	e.Extras("message "+strconv.Itoa(index), extras, nil, own...)
}

// assistant writes a reply. It returns whether tools have been called in this turn.
func (e *encoder) assistant(index int, m messages.Assistant, called bool) bool {
	e.Text("role", "assistant")
	texts, calls := 0, 0
	for _, c := range m.Content {
		switch c.(type) {
		case messages.Text:
			texts++
		case messages.ToolCall:
			calls++
		case messages.Thought:
		default:
			e.Fail("message %d has a part %T, which is none as a value", index, c)
		}
	}
	switch {
	case texts == 0 && calls > 0:
		e.B = append(e.B, `,"content":null`...) // the form in OpenAI's reference; some servers refuse "" here
		if m.Cache != "" {
			e.Fail("message %d is a reply without text, so that its Cache has no place: mark the message after it", index)
		}
	default:
		e.content(inMessage(index), m.Text(), m.Cache)
	}
	e.author(index, m.Name)
	if calls > 0 {
		e.Name("tool_calls")
		e.Open('[')
		for _, c := range m.Content {
			if call, ok := c.(messages.ToolCall); ok {
				e.call(call)
			}
		}
		e.Close(']')
	}
	called = called || calls > 0
	e.thoughts(index, m, called)
	return called
}

func (e *encoder) call(c messages.ToolCall) {
	e.Open('{')
	e.Text("id", e.callID(c.ID))
	e.B = append(e.B, `,"type":"function","function":{`...)
	e.Text("name", wire.CalledName(c.Name))
	args := c.Arguments
	if !e.anyArgs || args == "" {
		args = wire.CalledArguments(args)
	}
	e.Text("arguments", args)
	e.Close('}')
	if e.callExtra {
		e.Extras("call "+strconv.Quote(c.ID), c.Extras, nil, "id", "type", "function", "index")
	}
	e.Close('}')
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
			e.Raw(name, raw, "message "+strconv.Itoa(index)+" "+strconv.Quote(name))
			return
		}
	}
	if len(e.fields) > 0 && e.fields[0] == fieldReasoningContent {
		if thought := m.Thought(); thought != "" {
			e.Text(fieldReasoningContent, thought)
		}
	}
}
