package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// After results the model is told what to do next: to mend a call that other arguments may mend, or
// else to go on. A result that is the same as before says it itself.
func TestResultsSayWhatToDoNext(t *testing.T) {
	const mend, same = "Correct the arguments and try again.", "This is the same result as before."
	result := func(status messages.Status, reason string) messages.ToolOutput {
		return messages.ToolOutput{ToolName: "f", Output: "result", Status: status, Reason: reason}
	}
	ok := result(messages.StatusOK, "")
	for _, name := range []string{"fenced", "hermes", "llama", "pythonic", "react", "xml"} {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		told := func(outputs ...messages.ToolOutput) string {
			h := messages.History{messages.UserText("q"), messages.Assistant{}}
			var said messages.Assistant
			for i, o := range outputs {
				o.CallID = string(rune('a' + i))
				said.Content = append(said.Content, messages.ToolCall{ID: o.CallID, Name: "f", Arguments: "{}"})
				h = append(h, messages.Tool{ToolOutput: o})
			}
			h[1] = said
			plain, err := p.FormatQuery(h)
			require.NoError(t, err)
			text := plain.Last().(messages.User).Text()
			return text[strings.LastIndex(text, "\n\n")+2:]
		}
		goOn := told(ok)
		require.NotContains(t, goOn, "result", name)
		require.NotEqual(t, mend, goOn, name)
		for want, cases := range map[string][][]messages.ToolOutput{
			goOn: {{ok, ok}, {result(messages.StatusFailed, "timeout")}, {result(messages.StatusUnknown, tools.ReasonError)}},
			mend: {
				{result(messages.StatusFailed, tools.ReasonError)},
				{result(messages.StatusFailed, tools.ReasonArguments)},
				{result(messages.StatusFailed, "")},
				{ok, result(messages.StatusFailed, tools.ReasonError)},
				{result(messages.StatusFailed, tools.ReasonError), result(messages.StatusOK, messages.ReasonSame)},
			},
		} {
			for _, outputs := range cases {
				require.Equal(t, want, told(outputs...), "%s: %+v", name, outputs)
			}
		}
		for _, status := range []messages.Status{messages.StatusOK, messages.StatusFailed} {
			require.True(t, strings.HasPrefix(told(result(status, messages.ReasonSame)), same), name)
		}
	}
}
