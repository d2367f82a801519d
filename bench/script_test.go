package bench_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

const (
	goal     = "Add the numbers."
	finalTxt = "All numbers are added."
)

// script is a conversation as data: the replies of the model, and the expected answers of its
// tools. The library, the loops and the server all use it.
type script struct {
	goal    string
	replies []reply // the last one has no calls
}

type reply struct {
	text  string
	calls []call
}

type call struct{ id, name, arguments, result string }

// adding returns rounds of calls to add, width at a time.
func adding(goal string, rounds, width int) *script {
	s := &script{goal: goal}
	for r := range rounds {
		var calls []call
		for w := range width {
			calls = append(calls, call{
				id:        fmt.Sprintf("call_%d_%d", r, w),
				name:      "add",
				arguments: fmt.Sprintf(`{"a":%d,"b":%d}`, r, w+1),
				result:    strconv.Itoa(r + w + 1),
			})
		}
		s.replies = append(s.replies, reply{calls: calls})
	}
	s.replies = append(s.replies, reply{text: finalTxt})
	return s
}

// delegating returns a conversation that delegates n tasks, each answered by the child's last
// reply.
func delegating(n int, child *script) *script {
	s := &script{goal: "Hand out the work."}
	for i := range n {
		s.replies = append(s.replies, reply{calls: []call{{
			id:        fmt.Sprintf("call_%d", i),
			name:      "delegate",
			arguments: fmt.Sprintf(`{"task":%q}`, child.goal),
			result:    child.answer(),
		}}})
	}
	s.replies = append(s.replies, reply{text: "All work is done."})
	return s
}

// steps counts the model calls.
func (s *script) steps() int { return len(s.replies) }

// calls counts the tool calls.
func (s *script) calls() int {
	n := 0
	for _, r := range s.replies {
		n += len(r.calls)
	}
	return n
}

func (s *script) answer() string { return s.replies[len(s.replies)-1].text }

// width returns the number of calls in a round.
func (s *script) width() int { return max(1, len(s.replies[0].calls)) }

// next finds the reply to a history of n messages.
func (s *script) next(n int) (int, error) {
	i := (n - 1) / (1 + s.width())
	if i >= len(s.replies) {
		return 0, fmt.Errorf("bench: the script has no reply to %d messages", n)
	}
	return i, nil
}

// responses returns the replies for the library.
func (s *script) responses() []*llmclient.Response {
	var all []*llmclient.Response
	for _, r := range s.replies {
		resp := &llmclient.Response{Finish: llmclient.FinishStop, Model: "scripted", Usage: messages.Usage{Input: 100, Output: 10, Total: 110}}
		if r.text != "" {
			resp.Message = messages.AssistantText(r.text)
		}
		for _, c := range r.calls {
			resp.Finish = llmclient.FinishToolCalls
			resp.Message.Content = append(resp.Message.Content, messages.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments})
		}
		all = append(all, resp)
	}
	return all
}

// messages returns the replies for the loop.
func (s *script) messages() []message {
	var all []message
	for _, r := range s.replies {
		m := message{Role: "assistant", Content: r.text}
		for _, c := range r.calls {
			m.Calls = append(m.Calls, toolCall{ID: c.id, Name: c.name, Arguments: c.arguments})
		}
		all = append(all, m)
	}
	return all
}

// transcript returns the history that a run must leave, a line for each message.
func (s *script) transcript() []string {
	lines := []string{line("user", s.goal, "")}
	for _, r := range s.replies {
		var calls []string
		for _, c := range r.calls {
			calls = append(calls, said(c.id, c.name, c.arguments))
		}
		lines = append(lines, line("assistant", r.text, "", calls...))
		for _, c := range r.calls {
			lines = append(lines, line("tool", c.result, c.id))
		}
	}
	return lines
}

func line(role, text, id string, calls ...string) string {
	return strings.Join(append([]string{role, text, id}, calls...), "|")
}

func said(id, name, arguments string) string { return id + ":" + name + arguments }
