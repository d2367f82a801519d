package orchestrator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

const (
	tellNext  = "\n\n(If a step of the task is left, call the tool for it. If none is left, say the answer in a sentence.)"
	tellWrong = "\nCorrect the arguments and try again."
)

// After results of calls that were read in the text, the model is told what to do next. Nothing of
// that is in the conversation.
func TestLeftTold(t *testing.T) {
	ok := func(id string) messages.Tool {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "list_rooms", Output: "Linden", Status: messages.StatusOK}}
	}
	ended := func(id string, status messages.Status, reason string) messages.Tool {
		m := ok(id)
		m.Status, m.Reason = status, reason
		return m
	}
	outside := func(m messages.Tool) messages.Tool {
		m.Untrusted = true
		return m
	}
	const first, second, third = "text_call_1_1", "text_call_3_1", "text_call_5_1"
	type reply = []messages.Tool // the results of the calls of a reply
	for name, c := range map[string]struct {
		replies []reply
		want    []string // what the model is told more, for each result
	}{
		"the first reply":       {[]reply{{ok(first)}}, []string{""}},
		"the second":            {[]reply{{ok(first)}, {ok(second)}}, []string{"", tellNext}},
		"the third":             {[]reply{{ok(first)}, {ok(second)}, {ok(third)}}, []string{"", tellNext, tellNext}},
		"after the last result": {[]reply{{ok(first), ok("text_call_1_2")}, {ok(second), ok("text_call_3_2")}}, []string{"", "", "", tellNext}},
		"an error":              {[]reply{{ended(first, messages.StatusFailed, tools.ReasonError)}}, []string{tellWrong}},
		"wrong arguments":       {[]reply{{ended(first, messages.StatusFailed, tools.ReasonArguments)}}, []string{tellWrong}},
		"an error of several": {
			[]reply{{ok(first)}, {ended(second, messages.StatusFailed, tools.ReasonError), ok("text_call_3_2")}}, []string{"", tellWrong, tellNext},
		},
		"an error that arguments do not mend": {[]reply{{ok(first)}, {ended(second, messages.StatusFailed, "timeout")}}, []string{"", ""}},
		"nobody knows":                        {[]reply{{ok(first)}, {ended(second, messages.StatusUnknown, tools.ReasonError)}}, []string{"", ""}},
		"the same":                            {[]reply{{ok(first)}, {ended(second, messages.StatusOK, messages.ReasonSame)}}, []string{"", ""}},
		"the same error":                      {[]reply{{ended(first, messages.StatusFailed, messages.ReasonSame)}}, []string{""}},
		"native calls":                        {[]reply{{ok("call_1_1")}, {ok("call_3_1")}, {ended("1", messages.StatusFailed, tools.ReasonError)}}, []string{"", "", ""}},
		"one after a native call":             {[]reply{{ok("call_1_1")}, {ok(second)}, {ok(third)}}, []string{"", "", tellNext}},
		"from outside":                        {[]reply{{outside(ok(first))}, {outside(ok(second))}}, []string{"", tellNext}},
		"an error from outside":               {[]reply{{outside(ended(first, messages.StatusFailed, tools.ReasonError))}}, []string{tellWrong}},
	} {
		t.Run(name, func(t *testing.T) {
			before, want := messages.History{messages.UserText("Which rooms are free?")}, messages.History{messages.UserText("Which rooms are free?")}
			at := 0
			for _, results := range c.replies {
				var said messages.Assistant
				for _, m := range results {
					said.Content = append(said.Content, messages.ToolCall{ID: m.CallID, Name: m.ToolName, Arguments: "{}"})
				}
				before, want = append(before, said), append(want, said)
				for _, m := range results {
					before = append(before, m)
					if more := c.want[at]; more != "" {
						m.Output, m.Untrusted = m.ForModel()+more, false
					}
					want = append(want, m)
					at++
				}
			}
			given := slices.Clone(before)
			model := scripted.New(scripted.Text("Linden."))
			res := ran(t, solver(t, model, with(officeTools()...)), orchestrator.Task{Input: delegation.Input{Messages: before}})
			require.Equal(t, want, model.Requests()[0].Messages)
			require.Equal(t, given, before)
			require.Equal(t, given, res.Output.Messages[:len(given)])
		})
	}
}

// What was told once is told in all later requests, so that each extends the one before.
func TestLeftTold_extends(t *testing.T) {
	listDays := func(day string) scripted.Reply {
		return scripted.Text(`{"name": "list_rooms", "arguments": {"day": "` + day + `"}}`)
	}
	model := scripted.New(listDays("Monday"), listDays("Tuesday"), listDays("Friday"), scripted.Text("Linden."))
	called, _ := calledIn(t, solver(t, model, with(officeTools()...)), delegation.Input{Goal: "Which rooms are free?"})
	require.Len(t, called, 3)
	requests := model.Requests()
	require.Len(t, requests, 4)
	for i, r := range requests[1:] {
		require.Equal(t, requests[i].Messages, r.Messages[:len(requests[i].Messages)])
	}
	last := requests[3].Messages
	for i, want := range map[int]string{2: "did list_rooms", 4: "did list_rooms" + tellNext, 6: "did list_rooms" + tellNext} {
		require.Equal(t, want, last[i].(messages.Tool).Output)
	}
}
