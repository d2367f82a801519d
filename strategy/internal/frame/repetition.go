package frame

import (
	"slices"

	"github.com/segue-go/segue/messages"
)

// WhyRepetition is the beginning of each prompt Conclude after a repetition; another one follows.
const WhyRepetition = `{{if eq .Why "repetition"}}The same call again would have the same result, so it was not made.{{else}}`

// anewWords says why the request after a repetition does not extend the last one.
var anewWords = new("the calls and their results are told in words, after a repetition")

// InWords returns the conversation of a request after a repetition, in which the calls and their
// results are told in words: shown as calls, they are written again. Calls of some tools are left
// out. It returns why the request does not extend the last one.
func InWords(h messages.History, without ...string) (told messages.History, anew *string) {
	calls := map[string]string{} // arguments by id
	for _, m := range h {
		switch m := m.(type) {
		case messages.Assistant:
			for _, c := range m.Calls() {
				calls[c.ID] = c.Arguments
			}
			if text := m.Text(); text != "" {
				told = append(told, messages.AssistantText(text))
			}
		case messages.Tool:
			if m.Reason != messages.ReasonSame && m.Reason != messages.ReasonRepetition && !slices.Contains(without, m.ToolName) {
				told = append(told, inWords(m.ToolOutput, calls[m.CallID]))
			}
		default:
			told = append(told, m)
		}
	}
	return told, anewWords
}

// inWords tells what came of a call.
func inWords(r messages.ToolOutput, arguments string) messages.User {
	came := "This is the result"
	if !r.OK() {
		came = "It did not work"
	}
	u := messages.UserText("The tool " + r.ToolName + " was called with " + arguments + ". " + came + ":\n" + r.ForModel())
	for _, image := range r.Images {
		u.Content = append(u.Content, image)
	}
	u.Untrusted = r.Untrusted
	return u
}
