package explore

import (
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// scribble overwrites the spare capacity of the slices of a step. If the strategy still uses this
// capacity, its next step differs.
func scribble(step nextstep.NextStep) {
	switch s := step.(type) {
	case nextstep.GetChatCompletion:
		fill(s.Request.Messages, messages.Message(messages.User{Content: []messages.UserContent{messages.Text{Text: "scribbled"}}}))
		fill(s.Request.Tools, tools.Definition{Name: "scribbled"})
	case nextstep.Delegate:
		fill(s.Input.Messages, messages.Message(messages.User{Content: []messages.UserContent{messages.Text{Text: "scribbled"}}}))
		fill(s.Tools, "scribbled")
	case nextstep.ExecuteTools:
		fill(s.Calls, messages.ToolCall{Name: "scribbled"})
	}
}

// fill fills the spare capacity of a slice.
func fill[S ~[]E, E any](list S, with E) {
	spare := list[len(list):cap(list)]
	for i := range spare {
		spare[i] = with
	}
}
