package anthropic

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// The extras of thoughts and calls that are Anthropic's. They go back to Anthropic unchanged.
const (
	extraSignature = "anthropic_signature" // of a Thought: the signature of its text
	extraRedacted  = "anthropic_redacted"  // of a Thought: what only Anthropic can read
	extraBlock     = "anthropic_block"     // of a Thought: any other block, such as the result of a tool of Anthropic's
	extraCaller    = "anthropic_caller"    // of a ToolCall: which code of Anthropic's made it
	extraRefusal   = "anthropic_refusal"   // of an Assistant: why the model refused; not sent back
)

// conversation writes the system messages at the beginning as the system prompt, and the others as
// messages.
func (e *encoder) conversation(h messages.History) {
	n := 0
	for n < len(h) {
		if _, ok := h[n].(messages.System); !ok {
			break
		}
		n++
	}
	e.system(h[:n])
	e.Name("messages")
	e.Open('[')
	begin := len(e.B)
	for i := n; i < len(h); {
		i = e.message(h, i)
	}
	if len(e.B) == begin {
		e.Fail("the request has no messages: the API wants at least one that is not a system prompt, with a text that is not blank")
	}
	e.Close(']')
}

func (e *encoder) system(h messages.History) {
	before := len(e.B)
	e.Name("system")
	e.Open('[')
	begin := len(e.B)
	e.systems(h, 0)
	if len(e.B) == begin {
		e.B = e.B[:before]
		return
	}
	e.Close(']')
}

// systems writes the texts of system messages from i on, and returns the index of the message after
// them.
func (e *encoder) systems(h messages.History, i int) int {
	for ; i < len(h); i++ {
		m, ok := h[i].(messages.System)
		if !ok {
			break
		}
		e.noName(i, m.Name)
		e.textBlock(m.Text, m.Cache)
	}
	return i
}

// message writes the message at i, or with an answer of a tool or a system message all those right
// after it, and returns the index of the next.
func (e *encoder) message(h messages.History, i int) int {
	before := len(e.B)
	begin := func(role string) int {
		e.last, e.done = 0, false
		e.Open('{')
		e.Text("role", role)
		e.Name("content")
		e.Open('[')
		return len(e.B)
	}
	var start int
	next := i + 1
	switch m := h[i].(type) {
	case messages.System: // after the beginning; only newer models take it, and not two in a row
		start = begin("system")
		next = e.systems(h, i)
	case messages.User:
		start = begin("user")
		e.noName(i, m.Name)
		e.user(i, m)
		e.cacheMessage(m.Cache, i)
	case messages.Assistant:
		start = begin("assistant")
		e.noName(i, m.Name)
		e.assistant(i, m, i+1 == len(h))
		e.cacheMessage(m.Cache, i)
	case messages.Tool:
		start = begin("user")
		next = e.results(h, i)
	default:
		e.Fail("message %d is a %T, which is no message as a value", i, m)
		return next
	}
	if len(e.B) > start {
		e.B = append(e.B, ']', '}')
		return next
	}
	if e.B = e.B[:before]; next == len(h) { // an empty message is left out, because the API takes none
		e.Fail("the last message, %d, is empty or blank, and the API takes no such message: write something in it", i)
	}
	return next
}

func (e *encoder) noName(index int, name string) {
	if name != "" {
		e.Fail("message %d has the Name %q, and the API takes none: write it into the text", index, name)
	}
}

// textBlock writes a text that is not blank: the API takes no other.
func (e *encoder) textBlock(text string, c messages.Cache) {
	if strings.TrimSpace(text) == "" {
		return
	}
	e.Open('{')
	e.Text("type", "text")
	e.Text("text", text)
	e.closeBlock(c)
}

// results writes the answers of tools from i on, and returns the index of the message after them.
// The results come first in their message, and pictures of failed calls after them: the API takes
// only text in the result of a failed call.
func (e *encoder) results(h messages.History, i int) int {
	from := i
	for ; i < len(h); i++ {
		m, ok := h[i].(messages.Tool)
		if !ok {
			break
		}
		e.result(i, m)
	}
	for j, m := range h[from:i] {
		if m, _ := m.(messages.Tool); !m.OK() {
			for _, image := range m.Images {
				e.image(from+j, image)
			}
		}
	}
	return i
}

func (e *encoder) result(index int, m messages.Tool) {
	cache := m.Cache // the API takes no mark within a result: that of a picture goes to the whole
	e.Open('{')
	e.Text("type", "tool_result")
	e.Text("tool_use_id", e.answeredID(m.CallID))
	switch text := m.ForModel(); {
	case strings.TrimSpace(text) == "" && !m.OK():
		e.Text("content", silence(m.ToolOutput)) // the API wants a text
	case strings.TrimSpace(text) == "" && len(m.Images) == 0: // the API takes no blank text
	case !m.OK() || len(m.Images) == 0:
		e.Text("content", text)
	default:
		e.Name("content")
		e.Open('[')
		e.textBlock(text, messages.CacheNone)
		for _, image := range m.Images {
			if m.Cache == messages.CacheNone && image.Cache != messages.CacheNone {
				cache = image.Cache
			}
			image.Cache = messages.CacheNone
			e.image(index, image)
		}
		e.Close(']')
	}
	if !m.OK() {
		e.B = append(e.B, `,"is_error":true`...)
	}
	e.closeBlock(cache)
}

// silence says in words that a call failed whose output is blank.
func silence(o messages.ToolOutput) string {
	text := "The call failed, and the tool said nothing."
	if o.Status == messages.StatusUnknown {
		text = "The call was cut off. It may have had its effect."
	}
	if o.Reason != "" {
		text += " Reason: " + o.Reason
	}
	return text
}

// assistant writes the blocks of a reply in their order. Thoughts of other providers are left out.
// So are thoughts at the end, as a reply that was cut has them, blanks at the end of the last
// message, and calls of Anthropic's tools that were cut off: the API refuses all of these.
func (e *encoder) assistant(index int, m messages.Assistant, last bool) {
	content := withoutLastThoughts(e.accepted(index, m.Content))
	for i, c := range content {
		switch c := c.(type) {
		case messages.Text:
			if last && i+1 == len(content) {
				c.Text = strings.TrimRightFunc(c.Text, unicode.IsSpace)
			}
			e.textBlock(c.Text, messages.CacheNone)
		case messages.Thought:
			e.thought(index, c)
		case messages.ToolCall:
			e.call(c)
		default:
			e.Fail("message %d has a part %T, which is none as a value", index, c)
		}
	}
}

// accepted returns the parts without the thoughts that the server refuses, and the calls that are
// lost.
func (e *encoder) accepted(index int, content []messages.AssistantContent) []messages.AssistantContent {
	refused := func(c messages.AssistantContent) bool {
		t, ok := c.(messages.Thought)
		if !ok || t.Extras == nil {
			return false
		}
		if own := t.Extras[extraBlock]; own != nil {
			return e.lost[textOf(own, "id")]
		}
		seal := sealOf(t)
		return seal != nil && e.omit != nil && e.omit(index, seal)
	}
	if !slices.ContainsFunc(content, refused) {
		return content
	}
	return slices.DeleteFunc(slices.Clone(content), refused)
}

func withoutLastThoughts(content []messages.AssistantContent) []messages.AssistantContent {
	for i, c := range slices.Backward(content) {
		switch c := c.(type) {
		case messages.Text:
			if strings.TrimSpace(c.Text) == "" {
				continue
			}
		case messages.Thought:
			if c.Extras[extraBlock] == nil {
				continue
			}
		}
		return content[:i+1]
	}
	return nil
}

func (e *encoder) thought(index int, t messages.Thought) {
	what := func(name string) string { return "message " + strconv.Itoa(index) + " " + strconv.Quote(name) }
	switch {
	case t.Extras[extraSignature] != nil:
		e.Open('{')
		e.Text("type", "thinking")
		e.Text("thinking", t.Text)
		e.Raw("signature", t.Extras[extraSignature], what(extraSignature))
		e.Close('}')
	case t.Extras[extraRedacted] != nil:
		e.Open('{')
		e.Text("type", "redacted_thinking")
		e.Raw("data", t.Extras[extraRedacted], what(extraRedacted))
		e.Close('}')
	case t.Extras[extraBlock] != nil:
		raw := t.Extras[extraBlock]
		if !wire.ValidJSON(raw) || raw[0] != '{' {
			e.Fail("%s is not a JSON object", what(extraBlock))
			return
		}
		e.Element(raw)
	}
}

func (e *encoder) call(c messages.ToolCall) {
	e.Open('{')
	e.Text("type", "tool_use")
	e.Text("id", e.newID(c.ID))
	e.Text("name", wire.CalledName(c.Name))
	args := wire.Paired(strings.TrimSpace(wire.CalledArguments(c.Arguments)))
	e.Raw("input", []byte(args), "the arguments of call "+strconv.Quote(c.ID))
	if raw := c.Extras[extraCaller]; raw != nil {
		e.Raw("caller", raw, "call "+strconv.Quote(c.ID)+" "+strconv.Quote(extraCaller))
	}
	e.closeBlock(messages.CacheNone)
}

// newID returns the id of a call in the form that the API takes, and different from those of all
// calls before: other providers use an id again in a later reply, and the API does not take that.
func (e *encoder) newID(id string) string {
	if e.ids == nil {
		e.ids, e.taken = map[string]string{}, map[string]int{}
	}
	first := wire.MessagesID(id)
	sent := first
	for e.taken[sent] > 0 {
		e.taken[first]++
		sent = first + "_" + strconv.Itoa(e.taken[first])
	}
	e.taken[sent]++
	e.ids[id] = sent
	return sent
}

// answeredID returns the id that the newest call with this one was sent with.
func (e *encoder) answeredID(id string) string {
	if sent, ok := e.ids[id]; ok {
		return sent
	}
	return wire.MessagesID(id)
}
