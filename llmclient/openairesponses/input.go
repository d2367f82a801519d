package openairesponses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// The extras that hold what messages have no place for. They are sent back to this API only.
const (
	extraReasoning = "openai_reasoning" // of a Thought: a reasoning item
	extraItem      = "openai_item"      // of a Thought: an item of another kind, such as a search of the provider's own
	extraCall      = "openai_call"      // of a ToolCall: the other fields of the item
	extraPhases    = "openai_phases"    // of an Assistant: the phase of each text, "commentary", "final_answer" or null
	extraBreaks    = "openai_breaks"    // of an Assistant: of each text, whether a line break was put before it; not sent back
	extraParts     = "openai_parts"     // of an Assistant: parts that are no text; never sent back
)

// input writes the conversation as a list of items. The items of a message depend on nothing but
// the message, so that a longer conversation begins with the items of a shorter one.
func (e *encoder) input(h messages.History) {
	if len(h) == 0 {
		e.Fail("the request has no messages")
	}
	e.Name("input")
	e.Open('[')
	for i, m := range h {
		switch m := m.(type) {
		case messages.System:
			e.unnamed(i, m.Name)
			e.message("system", []messages.UserContent{messages.Text{Text: m.Text}}, m.Cache, i)
		case messages.User:
			e.unnamed(i, m.Name)
			e.message("user", m.Content, m.Cache, i)
		case messages.Assistant:
			e.unnamed(i, m.Name)
			e.assistant(i, m)
		case messages.Tool:
			e.result(i, m)
		default:
			e.Fail("message %d is a %T, which is no message as a value", i, m)
		}
	}
	e.Close(']')
}

func (e *encoder) unnamed(index int, name string) {
	if name != "" {
		e.Fail("message %d: the Responses API takes no Name: write the name into the text", index)
	}
}

// message writes a message with its content: a single text as a string, anything else as a list of
// parts.
func (e *encoder) message(role string, content []messages.UserContent, cache messages.Cache, index int) {
	e.Open('{')
	e.Text("type", "message")
	e.Text("role", role)
	if len(content) == 0 {
		content = []messages.UserContent{messages.Text{}}
		if cache != messages.CacheNone {
			e.Fail("message %d has a Cache, but no part to mark", index)
		}
	}
	if t, ok := content[0].(messages.Text); ok && len(content) == 1 && t.Cache == messages.CacheNone && cache == messages.CacheNone {
		e.Text("content", t.Text)
		e.Close('}')
		return
	}
	e.parts("content", content, cache, index)
	e.Close('}')
}

// parts writes a list of parts, of which the last one gets the cache mark.
func (e *encoder) parts(name string, list []messages.UserContent, cache messages.Cache, index int) {
	e.List(name, len(list), func(i int) {
		own := messages.CacheNone
		if i == len(list)-1 {
			own = cache
		}
		e.part(list[i], own, index)
	})
}

// part writes a part of a message or of a result. The cache mark is that of the part, or else the
// given one.
func (e *encoder) part(c messages.UserContent, cache messages.Cache, index int) {
	e.Open('{')
	switch c := c.(type) {
	case messages.Text:
		e.Text("type", "input_text")
		e.Text("text", c.Text)
		cache = cmp.Or(c.Cache, cache)
	case messages.Image:
		e.Text("type", "input_image")
		e.Text("image_url", c.URL)
		if c.Detail != "" {
			e.Text("detail", c.Detail)
		}
		cache = cmp.Or(c.Cache, cache)
	case messages.File:
		e.file(c, index)
		cache = cmp.Or(c.Cache, cache)
	case messages.Audio:
		e.Fail("message %d: the Responses API takes no Audio: give what is said as text, or ask with openaichat", index)
	default:
		e.Fail("message %d has a part %T, which is none as a value", index, c)
	}
	e.mark(cache, index)
	e.Close('}')
}

// mark writes a cache mark. The shortest lifetime that the API has, half an hour, is its default;
// the next one is twelve hours.
func (e *encoder) mark(cache messages.Cache, index int) {
	switch cache {
	case messages.CacheNone:
	case messages.Cache5m:
		e.B = append(e.B, `,"prompt_cache_breakpoint":{"mode":"explicit"}`...)
	case messages.Cache1h:
		e.B = append(e.B, `,"prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}`...)
	default:
		e.Fail("message %d has the unknown Cache %q", index, cache)
	}
}

// file writes a document: by its id, by its address, or with its bytes, which need a name.
func (e *encoder) file(c messages.File, index int) {
	e.Text("type", "input_file")
	switch {
	case (c.URL == "") == (c.ID == ""):
		e.Fail("message %d: a File has either a URL or an ID", index)
	case c.ID != "":
		e.Text("file_id", c.ID)
	case strings.HasPrefix(c.URL, "https://"):
		e.Text("file_url", c.URL)
	case !strings.HasPrefix(c.URL, "data:"):
		e.Fail("message %d: the URL of a File must be an https or a data URL", index)
	default:
		e.Text("filename", wire.FileName(c))
		e.Text("file_data", c.URL)
	}
}

// result writes the result of a call: a text, or a list if there is more.
func (e *encoder) result(index int, m messages.Tool) {
	e.Open('{')
	e.Text("type", "function_call_output")
	e.Text("call_id", wire.ResponsesID(m.CallID))
	if len(m.Images) == 0 && m.Cache == messages.CacheNone {
		e.Text("output", m.ForModel())
		e.Close('}')
		return
	}
	parts := []messages.UserContent{messages.Text{Text: m.ForModel()}}
	for _, image := range m.Images {
		parts = append(parts, image)
	}
	e.parts("output", parts, m.Cache, index)
	e.Close('}')
}

// assistant writes a reply as the items that it came in, texts and calls without their ids, which
// name what the server has not kept. The API refuses a reasoning item with nothing behind it, as a
// reply that was cut has, and one without its content, so these are left out.
func (e *encoder) assistant(index int, m messages.Assistant) {
	if m.Cache != messages.CacheNone {
		e.Fail("message %d: the Responses API takes no Cache of a reply: set that of the message behind it", index)
	}
	phases, breaks := perText[json.RawMessage](m, extraPhases), perText[bool](m, extraBreaks)
	texts := 0
	for i, c := range m.Content {
		switch c := c.(type) {
		case messages.Text:
			if c.Text != "" {
				text := c.Text
				if texts < len(breaks) && breaks[texts] {
					text = strings.TrimPrefix(text, paragraph)
				}
				e.said(text, phases, texts)
				texts++
			}
		case messages.Thought:
			if raw, ok := c.Extras[extraItem]; ok {
				e.item(raw, index)
			} else if raw, ok := c.Extras[extraReasoning]; ok && !e.forget && !e.refused.Has(e.model, raw) &&
				followed(m.Content[i+1:]) && hasContent(raw) {
				e.item(raw, index)
			}
		case messages.ToolCall:
			e.call(c)
		default:
			e.Fail("message %d has a part %T, which is none as a value", index, c)
		}
	}
}

// hasContent reports whether a reasoning item has its content, encrypted or not. Without it, it
// would only be the name of an item that the server should have kept.
func hasContent(raw []byte) bool {
	it := readItem(raw)
	encrypted := func(m member) bool { return string(m.name) == "encrypted_content" }
	return len(it.content) > 0 || slices.ContainsFunc(it.others, encrypted)
}

// followed reports whether anything but reasoning is written for the rest of a reply.
func followed(rest []messages.AssistantContent) bool {
	for _, c := range rest {
		switch c := c.(type) {
		case messages.Text:
			if c.Text != "" {
				return true
			}
		case messages.ToolCall:
			return true
		case messages.Thought:
			if _, ok := c.Extras[extraItem]; ok {
				return true
			}
		}
	}
	return false
}

// perText returns what an extra says of each text of a reply; nil if there is no such extra, or if
// the texts are not those that it is of.
func perText[T any](m messages.Assistant, extra string) (list []T) {
	raw, ok := m.Extras[extra]
	if !ok || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	texts := 0
	for _, c := range m.Content {
		if t, ok := c.(messages.Text); ok && t.Text != "" {
			texts++
		}
	}
	if texts != len(list) {
		return nil
	}
	return list
}

// said writes a text of the model.
func (e *encoder) said(text string, phases []json.RawMessage, at int) {
	e.Open('{')
	e.Text("type", "message")
	e.Text("role", "assistant")
	e.Text("content", text)
	if at < len(phases) && string(phases[at]) != "null" {
		e.Raw("phase", phases[at], extraPhases)
	}
	e.Close('}')
}

// item writes an item as it came.
func (e *encoder) item(raw []byte, index int) {
	if e.IsJSON(raw, "an item of message "+strconv.Itoa(index)) {
		e.Element(raw)
	}
}

func (e *encoder) call(c messages.ToolCall) {
	e.Open('{')
	e.Text("type", "function_call")
	e.Text("call_id", wire.ResponsesID(c.ID))
	e.Text("name", wire.CalledName(c.Name))
	e.Text("arguments", cmp.Or(c.Arguments, "{}"))
	if raw, ok := c.Extras[extraCall]; ok {
		e.members(raw, "call "+strconv.Quote(c.ID)+" "+extraCall, "type", "id", "call_id", "name", "arguments")
	}
	e.Close('}')
}
