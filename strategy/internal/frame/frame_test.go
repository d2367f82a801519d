package frame_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

const asking strategy.State = "asking"

// table returns the table of a strategy that asks once; limited adds an end at the limit.
func table(limited bool) *strategy.Table {
	rules := []strategy.Rule{
		{From: frame.In(frame.Ready), On: "started", To: asking},
		{From: frame.In(asking), On: "finished", To: frame.Done},
	}
	if limited {
		rules = append(rules, strategy.Rule{From: frame.In(asking), On: "gave_up", To: frame.Limited})
	}
	return frame.Table("once", []strategy.StateRule{{Name: asking, Awaits: nextstep.KindGetChatCompletion}}, rules)
}

// Limited is a state only if a rule leads to it, because an unreachable state is refused.
func TestTable(t *testing.T) {
	for _, limited := range []bool{false, true} {
		made := table(limited)
		require.NoError(t, made.Validate())
		names := []strategy.State{}
		for _, s := range made.States {
			names = append(names, s.Name)
		}
		want := frame.In(frame.Ready, asking, frame.Done, frame.Failed)
		if limited {
			want = frame.In(frame.Ready, asking, frame.Done, frame.Limited, frame.Failed)
		}
		require.Equal(t, want, names)
		require.Equal(t, strategy.Rule{From: frame.In(frame.Ready, asking), On: frame.Failing, To: frame.Failed}, made.Rules[len(made.Rules)-1])
	}
}

func TestFrame(t *testing.T) {
	wrong := errors.New("wrong")
	s := frame.Settings{Err: wrong}
	type texts struct{ Ask string }
	require.NoError(t, frame.ParsePrompts(&s, "once", texts{}, texts{"Do {{.Goal}}."}, map[string]any{"": map[string]any{"Goal": "it"}}))
	f := frame.New(table(false), &s)
	require.ErrorIs(t, f.Check(), wrong)
	require.NoError(t, f.FSM().Check())
	require.Equal(t, frame.Ready, f.State())

	require.Equal(t, "Do it.", f.Prompt("Ask", map[string]any{"Goal": "it"}))
	require.NoError(t, f.PromptErr())
	require.Empty(t, f.Prompt("Ask", map[string]any{}))
	first := f.PromptErr()
	require.ErrorContains(t, first, "once: prompt Ask")
	f.Prompt("Ask", nil)
	require.Equal(t, first, f.PromptErr())

	reached := delegation.Output{Messages: messages.History{messages.UserText("go")}}
	cause := frame.ErrorOf(nextstep.Failure{Code: "auth", Message: "no key"})
	require.Equal(t, nextstep.ReportError{Err: &delegation.Error{Code: "auth", Message: "no key"}, Output: reached}, f.Fail(cause, reached))
	require.Equal(t, frame.Failed, f.State())
}

func TestEditCalls(t *testing.T) {
	call := messages.ToolCall{ID: "c", Name: "look", Arguments: "{}"}
	h := messages.History{messages.UserText("go"), messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "so"}, call}}}
	call.Arguments = `{"at":1}`
	c := frame.Conversation{History: h}
	c.EditCalls([]messages.ToolCall{call})
	require.Equal(t, []messages.ToolCall{call}, c.Calls)
	require.Equal(t, []messages.ToolCall{call}, h[1].(messages.Assistant).Calls())
	c = frame.Conversation{History: h[:1]}
	c.EditCalls([]messages.ToolCall{call})
	require.Nil(t, c.Calls)
}

// A strategy concludes because of the last results of its conversation, and of no others.
func TestMustConclude(t *testing.T) {
	call := messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "look"}}}
	result := func(reason string) messages.Tool {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c", ToolName: "look", Reason: reason}}
	}
	for _, c := range []struct {
		h    messages.History
		want string
	}{
		{nil, ""},
		{messages.History{call, result(messages.ReasonLimit)}, messages.ReasonLimit},
		{messages.History{call, result(messages.ReasonRepetition), result(""), messages.UserText("a note")}, messages.ReasonRepetition},
		{messages.History{call, result(messages.ReasonSame), result("error")}, ""},
		{messages.History{call, result(messages.ReasonLimit), messages.AssistantText("so"), messages.UserText("go on")}, ""},
		{messages.History{call, result(messages.ReasonRepetition), call, result("")}, ""},
	} {
		require.Equal(t, c.want, frame.MustConclude(c.h))
	}
	require.Equal(t, &delegation.Error{Code: delegation.CodeLimit, Message: "p: the limit of 3 steps is reached"}, frame.LimitReached("p", "", "of 3 steps"))
	require.Equal(t, &delegation.Error{Code: delegation.CodeLimit, Message: "p: the limit of tool calls is reached"}, frame.LimitReached("p", messages.ReasonLimit, "of 3 steps"))
	require.Equal(t, delegation.CodeRepetition, frame.LimitReached("p", messages.ReasonRepetition, "of 3 steps").Code)
}

// In words nothing but the calls is told otherwise, and each result once.
func TestInWords(t *testing.T) {
	said := func(id, text string) messages.Assistant {
		a := messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "look", Arguments: `{"at":1}`}}}
		if text != "" {
			a.Content = append([]messages.AssistantContent{messages.Thought{Text: "hm"}, messages.Text{Text: text}}, a.Content...)
		}
		return a
	}
	image := messages.Image{URL: "https://example.com/a.png"}
	out := func(id, reason string) messages.Tool {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "look", Output: "Paris", Reason: reason, Images: []messages.Image{image}}}
	}
	failed := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "5", ToolName: "ask", Output: "no", Status: messages.StatusFailed, Untrusted: true}}
	h := messages.History{
		messages.System{Text: "be brief"},
		messages.UserText("go"), said("1", "I look."), out("1", ""), said("2", ""), out("2", messages.ReasonSame),
		said("3", ""), out("3", messages.ReasonRepetition), said("4", ""), out("4", ""), failed, messages.UserText("answer"),
	}
	told, anew := frame.InWords(h)
	require.NotNil(t, anew)
	require.NoError(t, told.Validate())
	require.Len(t, told, 7)
	require.Equal(t, h[:2], told[:2])
	require.Equal(t, messages.AssistantText("I look."), told[2])
	require.Equal(t, messages.User{Content: []messages.UserContent{messages.Text{Text: "The tool look was called with {\"at\":1}. This is the result:\nParis"}, image}}, told[3])
	require.Contains(t, told[5].(messages.User).Text(), "It did not work:\nWhat stands between the marks below came from outside")
	require.True(t, told[5].(messages.User).Untrusted)
	require.Equal(t, messages.UserText("answer"), told[6])

	told, _ = frame.InWords(h, "look")
	require.Len(t, told, 5)
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", -1, "abc"},
		{" abc ", 5, " abc "},
		{"abcd", 3, "abc\n…"},
		{"ab cd", 3, "ab\n…"},
		{"aé", 2, "a\n…"},
		{"é", 1, "\n…"},
	} {
		require.Equal(t, c.want, frame.Cut(c.text, c.n, func() string { return "…" }))
	}
	frame.Cut("abc", 3, nil)
}

// The conversation may begin with anything: a nil message is repaired before it is read.
func TestOpen(t *testing.T) {
	system, user := messages.System{Text: "A"}, messages.UserText("go")
	for _, c := range []struct {
		keep         bool
		before, want messages.History
	}{
		{false, messages.History{system, user}, messages.History{messages.System{Text: "B"}, user}},
		{true, messages.History{system, user}, messages.History{system, user}},
		{true, messages.History{user}, messages.History{messages.System{Text: "B"}, user}},
		{true, messages.History{nil, &system, user}, messages.History{system, user}},
		{true, nil, messages.History{messages.System{Text: "B"}}},
	} {
		talk := frame.Converse(table(false), &frame.Settings{}, nil)
		require.NoError(t, talk.Open(delegation.Input{Messages: c.before}, "B", c.keep))
		require.Equal(t, c.want, talk.History)
	}
}

func TestIsEmpty(t *testing.T) {
	blank, text := " \n", "a"
	require.True(t, frame.IsEmpty(delegation.Output{}))
	require.True(t, frame.IsEmpty(delegation.Output{Result: &blank}))
	require.False(t, frame.IsEmpty(delegation.Output{Result: &text}))
	require.False(t, frame.IsEmpty(delegation.Output{Data: []byte("1")}))
	require.False(t, frame.IsEmpty(delegation.Output{Err: &delegation.Error{Code: delegation.CodeFailed}}))
}
