package frame_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prompts"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

const asking strategy.State = "asking"

// table is that of a strategy that asks once; limited says whether it may end for want of steps.
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

// Limited is a state only where a rule leads to it: a state that cannot be reached is refused.
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
	texts, err := prompts.Parse("once", struct{ Ask string }{}, struct{ Ask string }{"Do {{.Goal}}."}, prompts.Samples{"": map[string]any{"Goal": "it"}})
	require.NoError(t, err)
	wrong := errors.New("wrong")
	f := frame.New(&frame.Settings{Table: table(false), Texts: texts, Err: wrong})
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
	require.Equal(t, []messages.ToolCall{call}, frame.EditCalls(h, []messages.ToolCall{call}))
	require.Equal(t, []messages.ToolCall{call}, h[1].(messages.Assistant).Calls())
	require.Nil(t, frame.EditCalls(h[:1], []messages.ToolCall{call}))
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text, want string
		n          int
		cut        bool
	}{
		{"abc", "abc", 3, false},
		{" abc ", " abc ", 5, false},
		{"abcd", "abc", 3, true},
		{"ab cd", "ab", 3, true},
		{"aé", "a", 2, true},
		{"é", "", 1, true},
	} {
		got, cut := frame.Cut(c.text, c.n)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.cut, cut, c.text)
	}
}
