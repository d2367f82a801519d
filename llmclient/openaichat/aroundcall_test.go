package openaichat_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
)

// Text behind a call is a paragraph of its own, as in messages.Assistant.Text. A text that a server
// goes on with while a call is being written is not.
func TestStream_TextAroundACall(t *testing.T) {
	said := func(text string) string { return chunk(`"content":` + strconv.Quote(text)) }
	called := func(index, id, args string) string {
		return chunk(`"tool_calls":[{"index":` + index + `,"id":"` + id + `","function":{"name":"f","arguments":` + strconv.Quote(args) + `}}]`)
	}
	a, b := call("a", "f", "{}"), call("b", "f", "{}")
	text := func(s string) messages.Text { return messages.Text{Text: s} }
	for name, test := range map[string]struct {
		data []string
		want []messages.AssistantContent
	}{
		"glued":           {[]string{said("I will look that up."), called("0", "a", "{}"), said("Done"), said(".")}, []messages.AssistantContent{text("I will look that up."), a, text("Done.")}},
		"two calls":       {[]string{said("One."), called("0", "a", "{}"), said("Two."), called("1", "b", "{}"), said("Three.")}, []messages.AssistantContent{text("One."), a, text("Two."), b, text("Three.")}},
		"a blank before":  {[]string{said("One. "), called("0", "a", "{}"), said("Two.")}, []messages.AssistantContent{text("One. Two."), a}},
		"a blank behind":  {[]string{said("One."), called("0", "a", "{}"), said("\n")}, []messages.AssistantContent{text("One.\n"), a}},
		"a call is open":  {[]string{said("On"), called("0", "a", "{"), said("e."), called("0", "", "}")}, []messages.AssistantContent{text("One."), a}},
		"only behind":     {[]string{called("0", "a", "{}"), said("Done.")}, []messages.AssistantContent{text("Done."), a}},
		"a call repeated": {[]string{said("One."), called("0", "a", "{}"), called("0", "a", "{}"), said("Two.")}, []messages.AssistantContent{text("One."), a, text("Two.")}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, sayEvents(t, append(test.data, chunk(``, `"finish_reason":"tool_calls"`))...))
			require.Equal(t, test.want, must(t, resp, err).Message.Content)
		})
	}
}
