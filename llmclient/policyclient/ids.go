package policyclient

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// identify gives calls ids such as "call_7_1". They differ from the ids of native calls and of the
// conversation, and are the same for the same request and reply.
func (r *reply) identify(parts []markdownpolicy.Part, native []messages.ToolCall) {
	var taken map[string]bool
	turn, n := 0, 0
	for i, p := range parts {
		call, ok := p.Content.(messages.ToolCall)
		if !ok {
			continue
		}
		if taken == nil {
			taken, turn = idsOf(r.asked.Messages, native), turnAfter(r.asked.Messages)
		}
		for call.ID = ""; call.ID == "" || taken[call.ID]; {
			n++
			call.ID = fmt.Sprintf("call_%d_%d", turn, n)
		}
		parts[i].Content = call
	}
}

// idsOf returns the ids of all calls and results.
func idsOf(h messages.History, beside []messages.ToolCall) map[string]bool {
	ids := map[string]bool{}
	for _, c := range beside {
		ids[c.ID] = true
	}
	for id := range callIDs(h) {
		ids[id] = true
	}
	return ids
}

// turnAfter returns the number for ids after a conversation. It is the length of the conversation,
// or more if its ids contain a greater number because it was longer before. So ids of removed calls
// are not used again.
func turnAfter(h messages.History) int {
	turn := len(h)
	for id := range callIDs(h) {
		number, rest, ok := strings.Cut(strings.TrimPrefix(id, "call_"), "_")
		n, err := strconv.ParseInt(number, 10, 32)
		if _, odd := strconv.ParseUint(rest, 10, 32); ok && err == nil && odd == nil && strings.HasPrefix(id, "call_") {
			turn = max(turn, int(n)+1)
		}
	}
	return turn
}

// callIDs calls yield with the ids of all calls and results.
func callIDs(h messages.History) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, m := range h {
			switch m := m.(type) {
			case messages.Assistant:
				for _, c := range m.Calls() {
					if !yield(c.ID) {
						return
					}
				}
			case messages.Tool:
				if !yield(m.CallID) {
					return
				}
			default: // other messages have none
			}
		}
	}
}
