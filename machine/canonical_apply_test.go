package machine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// What comes from outside may hold anything. A live run sees what its replay will see, and comes to
// the same.
func TestApply_liveIsReplay(t *testing.T) {
	cfg := &Config{
		Strategies: strategy.Set{"lead": plan(
			asks("lead"),
			nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "a\xff", Name: "look"}, {ID: "c", Name: "pay\xff"}}},
			nextstep.Delegate{Strategy: "far"},
			nextstep.Complete{},
		)},
		Tools: toolsOfTree, Remote: []string{"far"}, Durable: true, Strict: true,
	}
	m := New(cfg)
	var journal []Record
	apply := func(r Record) {
		t.Helper()
		require.NoError(t, m.Apply(r))
		journal = append(journal, r)
		for _, intent := range m.Ready().Intents {
			journal = append(journal, intent)
			require.NoError(t, m.Apply(intent))
		}
	}
	later := time.Now()
	apply(Started{At: later, Run: "r\xff", Strategy: "lead", Input: delegation.Input{Goal: "\xff", Data: json.RawMessage(`{ }`)}})
	apply(Noted{At: later, Text: "\xff"})
	apply(m.Open()[0].Answered(nextstep.APIResponse{Response: &llmclient.Response{
		Message: messages.AssistantText("\xff"), Raw: json.RawMessage("{"), Model: "\xfe",
	}}, later, 1))
	look := m.Open()[0]
	require.Equal(t, "a\uFFFD", look.Call.ID)
	wait := Wait{Run: m.Run(), Frame: "0", Seq: 2, Kind: "form", Text: "\xff?", Options: []string{}, Expires: later.Add(time.Hour)}.Identified(look.ID)
	apply(Suspended{At: later, Effect: look.ID, Waits: []Wait{wait}, State: json.RawMessage("[ \"\xff\" ]")})
	apply(Replied{At: later, Reply: Reply{WaitID: wait.ID, Text: "\xff"}})
	look = m.Open()[0]
	require.Equal(t, `["`+"\uFFFD"+`"]`, string(look.State))
	require.Equal(t, "\uFFFD", look.Replies[0].Reply.Text)
	apply(look.Answered(nextstep.ToolResult{Output: messages.ToolOutput{CallID: look.Call.ID, Output: "\xff", Attachments: []messages.Attachment{}}}, later, 1))
	apply(m.Open()[0].Answered(nextstep.DelegationResult{Output: delegation.Output{
		Messages: messages.History{messages.UserText("\xff")}, Err: delegation.NewError("x\xff", &LimitError{}),
	}}, later, 1))
	require.True(t, m.Done())

	replay := New(cfg)
	for _, r := range journal {
		text, err := AppendRecord(nil, r)
		require.NoError(t, err)
		read, err := ReadRecord(text)
		require.NoError(t, err)
		require.NoError(t, replay.Apply(read), "%s", text)
	}
	require.Equal(t, m.Ready(), replay.Ready(), "what is told, and handed out")
	require.Equal(t, m.Output(), replay.Output())
	require.Equal(t, m.Started(), replay.Started())
}

// An answer that no journal could hold is no answer, with a journal or without: the right one still
// works.
func TestApply_refusesWhatHasNoForm(t *testing.T) {
	extras := messages.Extras{"x": json.RawMessage("{")}
	call := messages.ToolCall{ID: "b", Name: "look", Extras: extras}
	for name, a := range map[string]nextstep.Answer{
		"extras of a reply":  nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Extras: extras}}},
		"extras of its call": nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}}},
		"a broken off reply": nextstep.Failure{Partial: messages.Assistant{Content: []messages.AssistantContent{nil}}},
		"a call as made":     nextstep.ToolResult{Output: messages.ToolOutput{CallID: "b"}, Call: &call},
	} {
		m := tree(t, false)
		e := m.Open()[2] // a model
		if _, ok := a.(nextstep.ToolResult); ok {
			e = m.Open()[0]
		}
		before := m.Records()
		err := m.Apply(e.Answered(a, at, 0))
		require.ErrorAs(t, err, new(*AnswerError), name)
		require.ErrorContains(t, err, "it has no JSON form", name)
		require.Equal(t, before, m.Records())
		require.NoError(t, m.Apply(e.Answered(nextstep.Failure{Message: "no"}, at, 0)))
	}

	m := tree(t, false)
	err := m.Apply(Suspended{At: at, Effect: m.Open()[0].ID, Waits: []Wait{Wait{Kind: "form"}.Identified(m.Open()[0].ID)}, State: json.RawMessage("{")})
	require.ErrorContains(t, err, "its state is not JSON")
}
