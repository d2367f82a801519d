package strategytest

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// conversation is an input with messages, with a name for reports.
type conversation struct {
	name string
	in   delegation.Input
}

// lastSaid is the last user message of every conversation.
const lastSaid = "Tell me what the second look showed."

// conversations lists inputs with messages: with a conversation before the goal of an input, and
// without a goal.
func conversations(in delegation.Input) []conversation {
	looked := func(id, output string) []messages.Message {
		return []messages.Message{
			messages.Assistant{Content: []messages.AssistantContent{
				messages.Text{Text: "I look."}, messages.ToolCall{ID: id, Name: "look_before", Arguments: "{}"},
			}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "look_before", Status: messages.StatusOK, Output: output}},
		}
	}
	history := messages.History{messages.System{Text: "You are somebody else."}, messages.UserText("Look twice.")}
	history = append(history, looked("before_1", "red")...)
	history = append(history, looked("before_2", "blue")...)
	history = append(history, messages.AssistantText("I have looked twice."), messages.UserText(lastSaid))
	with, without := in, in
	with.Messages, without.Messages, without.Goal = history.Clip(), history.Clip(), ""
	if with.Goal == "" {
		with.Goal = "a task"
	}
	return []conversation{{"messages and a goal", with}, {"messages without a goal", without}}
}

// converse explores with another input, less deeply.
func (e *explorer) converse(c conversation) {
	with := explorer{Subject: e.Subject, problems: e.problems, survived: e.survived, snapshot: e.snapshot, about: "given " + c.name + ": "}
	with.Input, with.Steps = c.in, min(2, e.Steps)
	if len(with.problems) < most {
		if c.in.Goal == "" {
			with.heard()
		}
		with.explore(nil)
	}
	e.problems = with.problems
}

// heard reports a first request that does not contain the last user message.
func (e *explorer) heard() {
	d, _, ok := e.walk(nil)
	if !ok || d.m.Done() {
		return
	}
	step, ok := d.pending().(nextstep.GetChatCompletion)
	if !ok {
		return
	}
	said := func(m messages.Message) bool {
		u, ok := m.(messages.User)
		return ok && strings.Contains(u.Text(), lastSaid)
	}
	if !slices.ContainsFunc(step.Request.Messages, said) {
		e.report(nil, "its first request does not hold what the user said last: hand over what Input.Conversation returns")
	}
}
