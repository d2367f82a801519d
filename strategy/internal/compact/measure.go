package compact

import (
	"github.com/segue-go/segue/internal/contentsize"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// perMessage and perFence are what a message and the marks around an untrusted output count besides
// the texts, in bytes.
const (
	perMessage = 16
	perFence   = 250
)

// Sizes of a rate, which is a number of tokens per 1024 bytes.
const (
	unit      = 1024
	leastRate = unit / 16 // of usages that cannot be right
	calibrate = 1024      // requests of fewer bytes say little: the provider adds its own
)

// size returns the bytes of a message.
func size(m messages.Message) int {
	n := perMessage
	switch m := m.(type) {
	case messages.System:
		n += len(m.Name) + len(m.Text)
	case messages.User:
		n += len(m.Name)
		for _, c := range m.Content {
			n += contentsize.Of(c)
		}
	case messages.Assistant:
		for _, c := range m.Content {
			switch c := c.(type) {
			case messages.Text:
				n += len(c.Text)
			case messages.Thought:
				n += len(c.Text)
			case messages.ToolCall:
				n += perMessage + len(c.ID) + len(c.Name) + len(c.Arguments)
			}
		}
	case messages.Tool:
		n += len(m.CallID) + len(m.Output)
		for _, image := range m.Images {
			n += contentsize.Of(image)
		}
		if m.Untrusted {
			n += perFence
		}
	}
	return n
}

// sizeOf returns the bytes of some messages.
func sizeOf(h []messages.Message) int {
	n := 0
	for _, m := range h {
		n += size(m)
	}
	return n
}

// meter measures requests. It reads only what is new in a request.
type meter struct {
	mark    messages.Mark
	text    int               // bytes of the messages that mark knows
	offered *tools.Definition // the first of the tools that were measured
	offers  int
	tools   int // their bytes
}

// request returns the bytes of a request.
func (m *meter) request(r *llmclient.Request) int {
	known := m.mark.Known(r.Messages)
	if known == 0 {
		m.text = 0
	}
	m.text += sizeOf(r.Messages[known:])
	m.mark = r.Messages.Mark()
	n := m.text + m.definitions(r.Tools)
	if r.Schema != nil {
		n += len(r.Schema.Schema)
	}
	return n
}

// definitions returns the bytes of the tools of a request.
func (m *meter) definitions(defs []tools.Definition) int {
	if len(defs) == 0 {
		return 0
	}
	if m.offered == &defs[0] && m.offers == len(defs) {
		return m.tools
	}
	m.offered, m.offers, m.tools = &defs[0], len(defs), 0
	for i := range defs {
		m.tools += perMessage + len(defs[i].Name) + len(defs[i].Description) + len(defs[i].Parameters)
	}
	return m.tools
}

// tokens returns what so many bytes are in tokens.
func tokens(bytes, rate int) int { return (bytes*rate + unit - 1) / unit }

// rateOf returns the rate of a request of so many bytes, of which the provider says how many tokens
// it read; 0 if that says nothing.
func rateOf(bytes int, input int64) int {
	switch {
	case bytes < calibrate || input <= 0:
		return 0
	case input >= int64(bytes):
		return unit
	default:
		return max(leastRate, int(input)*unit/bytes)
	}
}
