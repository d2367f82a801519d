package toolrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// suspending suspends its call, and reports what it was given when it goes on.
func suspending(state string, questions ...tools.Question) tools.Tool {
	return rawTool("deploy", func(ctx context.Context, _ string) (string, error) {
		if r, ok := tools.Resumed(ctx); ok {
			return fmt.Sprintf("%s %v", r.State, r.Answers), nil
		}
		if err := tools.Suspend(ctx, json.RawMessage(state), questions...); err != nil {
			return "", fmt.Errorf("deploy: %w", err)
		}
		return "", nil
	})
}

func TestSuspend(t *testing.T) {
	tool := suspending(`{"step":2}`, tools.Question{Text: "Sure?"}, tools.Question{Kind: "signature", Text: "Sure?", Options: []string{"a"}})
	job := toolrun.Job{Call: messages.ToolCall{ID: "1", Name: "deploy"}, Tool: tool, Ask: nobody}
	c := toolrun.Runner{}.Begin(t.Context(), job)
	_, ok := c.Suspended()
	require.False(t, ok, "it has not begun")
	out := c.Perform()
	require.Equal(t, tools.ReasonSuspended, out.Reason)
	require.False(t, out.OK())
	s, ok := c.Suspended()
	require.True(t, ok)
	require.Equal(t, toolrun.Suspension{
		State: json.RawMessage(`{"step":2}`), Questions: []tools.Question{{Kind: tools.KindQuestion, Text: "Sure?"}, {Kind: "signature", Text: "Sure?", Options: []string{"a"}}},
	}, s)

	job.Resumption = &tools.Resumption{State: s.State, Answers: []tools.Answer{{Text: "yes"}, {Err: &tools.DeclinedError{}}}}
	out = toolrun.Runner{}.Run(t.Context(), job)
	require.True(t, out.OK())
	require.Equal(t, `{"step":2} [{yes <nil>} { tools: the person declined to answer}]`, out.Output)
}

// What cannot be suspended is told to the tool at once, which can then say so.
func TestSuspend_refused(t *testing.T) {
	one := tools.Question{Text: "Sure?"}
	many := make([]tools.Question, 33)
	for i := range many {
		many[i].Text = fmt.Sprint(i)
	}
	for want, c := range map[string]struct {
		state     string
		questions []tools.Question
	}{
		"Suspend needs a question":                                  {`{}`, nil},
		"Suspend was given 33 questions, more than 32":              {`{}`, many},
		"Suspend was given the question \"Sure?\" twice":            {`{}`, []tools.Question{one, {Kind: tools.KindQuestion, Text: "Sure?"}}},
		"the state of a suspended call is not JSON":                 {`{`, []tools.Question{one}},
		"the state of a suspended call has 262146 bytes, more than": {`"` + strings.Repeat("a", (256<<10)) + `"`, []tools.Question{one}},
	} {
		job := toolrun.Job{Call: messages.ToolCall{ID: "1", Name: "deploy"}, Tool: suspending(c.state, c.questions...), Ask: nobody}
		running := toolrun.Runner{}.Begin(t.Context(), job)
		out := running.Perform()
		require.Equal(t, tools.ReasonError, out.Reason, out.Output)
		require.Contains(t, out.Output, want)
		_, ok := running.Suspended()
		require.False(t, ok)
	}
}

func TestSuspend_nobody(t *testing.T) {
	require.Equal(t, tools.ErrNobody, tools.Suspend(t.Context(), nil, tools.Question{Text: "Sure?"}), "outside a runner")
	_, ok := tools.Resumed(t.Context())
	require.False(t, ok)
	out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{Tool: suspending("1", tools.Question{Text: "Sure?"})})
	require.Equal(t, "deploy: "+tools.ErrNobody.Error(), out.Output)
}

// A tool that suspends its call and then returns a result has a result.
func TestSuspend_andAResult(t *testing.T) {
	tool := rawTool("deploy", func(ctx context.Context, _ string) (string, error) {
		_ = tools.Suspend(ctx, nil, tools.Question{Text: "Sure?"})
		return "done", nil
	})
	c := toolrun.Runner{}.Begin(t.Context(), toolrun.Job{Tool: tool, Ask: nobody})
	require.Equal(t, "done", c.Perform().Output)
	_, ok := c.Suspended()
	require.False(t, ok)
}

// A call whose tool cannot know whether it had its effect is not a failed one: nobody should make
// it again without a look.
func TestErrEffectUnknown(t *testing.T) {
	lost := fmt.Errorf("the line is dead: %w", tools.ErrEffectUnknown)
	for _, c := range []struct {
		def  tools.Definition
		err  error
		want messages.Status
	}{
		{tools.Definition{Name: "pay"}, lost, messages.StatusUnknown},
		{tools.Definition{Name: "pay"}, errors.New("no"), messages.StatusFailed},
		{tools.Definition{Name: "pay", ReadOnly: true}, lost, messages.StatusFailed},
		{tools.Definition{Name: "pay", Idempotent: true}, lost, messages.StatusFailed},
	} {
		tool := tools.NewRaw(c.def, func(context.Context, string) (string, error) { return "", c.err })
		out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{Tool: tool})
		require.Equal(t, c.want, out.Status)
		require.Equal(t, tools.ReasonError, out.Reason)
		require.Equal(t, c.err.Error(), out.Output)
	}
}
