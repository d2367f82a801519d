package messages_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/messages"
)

func interrupted(id string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{
		CallID: id, ToolName: "read", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted,
		Output: "No result: the run was interrupted before this call was answered. Whether it had an effect is unknown.",
	}}
}

func named(id, tool, output string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: tool, Output: output}}
}

func TestRepair(t *testing.T) {
	user, context := messages.UserText("hello"), messages.UserText("context")
	read := messages.ToolCall{ID: "0", Name: "read", Arguments: "{}"}
	write := messages.ToolCall{ID: "0", Name: "write", Arguments: "{}"}
	with := func(calls ...messages.ToolCall) messages.Assistant {
		var a messages.Assistant
		for _, c := range calls {
			a.Content = append(a.Content, c)
		}
		return a
	}
	renamed := func(c messages.ToolCall, id string) messages.ToolCall {
		c.ID = id
		return c
	}
	for _, tt := range []struct {
		name     string
		in, want messages.History
		repairs  []messages.Repair
	}{
		{
			"S3-15 an open call is closed",
			messages.History{user, calls("c1", "c2"), answer("c1"), user},
			messages.History{user, calls("c1", "c2"), answer("c1"), interrupted("c2"), user},
			[]messages.Repair{{1, "closed", "c2"}},
		},
		{
			"S3-15 an assistant message left empty is dropped",
			messages.History{user, messages.Assistant{}, messages.AssistantText(""), user},
			messages.History{user, user},
			[]messages.Repair{{1, "empty_dropped", ""}, {2, "empty_dropped", ""}},
		},
		{
			"S4-24 a message between calls and results goes behind them",
			messages.History{calls("a", "b"), context, answer("b"), user, answer("a")},
			messages.History{calls("a", "b"), answer("b"), answer("a"), context, user},
			[]messages.Repair{{2, "moved", "b"}, {4, "moved", "a"}},
		},
		{
			"an answer behind a later turn still finds its call",
			messages.History{calls("a"), calls("b"), answer("b"), answer("a")},
			messages.History{calls("a"), answer("a"), calls("b"), answer("b")},
			[]messages.Repair{{3, "moved", "a"}},
		},
		{
			"the nearest call of an id has the answer",
			messages.History{calls("0"), calls("0"), answer("0")},
			messages.History{calls("0"), interrupted("0"), calls("0"), answer("0")},
			[]messages.Repair{{0, "closed", "0"}},
		},
		{
			"orphans and second answers are dropped",
			messages.History{answer("a"), calls("a"), answer("a"), answer("a"), answer("b")},
			messages.History{calls("a"), answer("a")},
			[]messages.Repair{{0, "answer_dropped", "a"}, {3, "answer_dropped", "a"}, {4, "answer_dropped", "b"}},
		},
		{
			"W-2 a call sent twice is kept once",
			messages.History{with(read, read), named("0", "read", "x"), named("0", "read", "y")},
			messages.History{with(read), named("0", "read", "x")},
			[]messages.Repair{{0, "call_dropped", "0"}, {2, "answer_dropped", "0"}},
		},
		{
			"another call with the same id gets its own, and its own answer by name",
			messages.History{with(read, write), named("0", "write", "w"), named("0", "read", "r")},
			messages.History{with(read, renamed(write, "0_2")), named("0_2", "write", "w"), named("0", "read", "r")},
			[]messages.Repair{{0, "renamed", "0"}},
		},
		{
			"a new id is never one that is taken",
			messages.History{with(read, write, renamed(read, "0_2")), named("0_2", "read", "r2")},
			messages.History{
				with(read, renamed(write, "0_3"), renamed(read, "0_2")), named("0_2", "read", "r2"), interrupted("0"),
				messages.Tool{ToolOutput: messages.ToolOutput{CallID: "0_3", ToolName: "write", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Output: interrupted("").Output}},
			},
			[]messages.Repair{{0, "renamed", "0"}, {0, "closed", "0"}, {0, "closed", "0"}},
		},
		{
			"calls without an id get one each",
			messages.History{user, with(renamed(read, ""), renamed(read, "")), named("", "read", "1"), named("", "read", "2")},
			messages.History{user, with(renamed(read, "call_1"), renamed(read, "call_1_2")), named("call_1", "read", "1"), named("call_1_2", "read", "2")},
			[]messages.Repair{{1, "renamed", ""}, {1, "renamed", ""}},
		},
		{
			"pointers and what is no message",
			messages.History{nil, &user, (*messages.Tool)(nil), foreign{}},
			messages.History{user},
			[]messages.Repair{{0, "dropped", ""}, {1, "dereferenced", ""}, {2, "dropped", ""}, {3, "dropped", ""}},
		},
		{
			"parts alike",
			messages.History{messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "a"}, nil, &read, (*messages.Text)(nil)}}, answer("0")},
			messages.History{messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "a"}, read}}, answer("0")},
			[]messages.Repair{{0, "part_dropped", ""}, {0, "dereferenced", ""}, {0, "part_dropped", ""}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.in)
			got, repairs := tt.in.Repair()
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.repairs, repairs)
			require.Equal(t, before, tt.in)
			for _, r := range repairs {
				require.Greater(t, len(strings.Fields(r.String())), 4, "in words: %s", r)
			}
		})
	}
}

func TestRepairReturnsALawfulHistoryAsItIs(t *testing.T) {
	h := messages.History{messages.UserText("a"), calls("a"), answer("a")}
	got, repairs := h.Repair()
	require.Same(t, &h[0], &got[0])
	require.Nil(t, repairs)

	got, repairs = messages.History(nil).Repair()
	require.Nil(t, got)
	require.Nil(t, repairs)
}

func TestRepairLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := historyOf(anything).Draw(t, "history")
		before := slices.Clone(h)
		got, repairs := h.Repair()
		require.NoError(t, got.Validate())
		require.Equal(t, before, h, "the input is never changed")
		require.Equal(t, h.Validate() == nil, repairs == nil, "it says what it did, and only then does it")

		again, none := got.Repair()
		require.Equal(t, got, again)
		require.Nil(t, none)

		sameAgain, sameRepairs := h.Repair()
		require.Equal(t, got, sameAgain, "the same history is repaired alike")
		require.Equal(t, repairs, sameRepairs)
	})
}

// Repair never loses a text of a person or a model, or an answer whose call is present.
func TestRepairKeepsWhatWasSaid(t *testing.T) {
	said := func(h messages.History) (texts []string) {
		for _, m := range h {
			switch m := m.(type) {
			case messages.System:
				texts = append(texts, m.Text)
			case messages.User:
				texts = append(texts, m.Text())
			case messages.Assistant:
				if text := m.Text() + m.Thought(); text != "" {
					texts = append(texts, text)
				}
			}
		}
		return texts
	}
	rapid.Check(t, func(t *rapid.T) {
		h := historyOf(value).Draw(t, "history")
		got, _ := h.Repair()
		// An assistant message with a call and no text adds nothing here, before and after.
		require.Equal(t, strings.Join(said(h), "|"), strings.Join(said(got), "|"))
	})
}

// Two texts stay two paragraphs if the call between them is left out: every content of up to five
// of these parts.
func TestRepair_keepsParagraphs(t *testing.T) {
	parts := []messages.AssistantContent{
		messages.Text{Text: "a"},
		messages.Text{Text: " b"},
		messages.Text{Text: "c\n"},
		messages.Text{},
		messages.Thought{Text: "t"},
		messages.ToolCall{ID: "1", Name: "read", Arguments: "{}"},
		messages.ToolCall{ID: "2", Name: "read", Arguments: "{}"},
	}
	dropped := 0
	var from func(content []messages.AssistantContent)
	from = func(content []messages.AssistantContent) {
		said := messages.Assistant{Content: content}
		got, repairs := messages.History{said}.Repair()
		if !said.Empty() {
			require.Equal(t, said.Text(), got[0].(messages.Assistant).Text(), "%+v", content)
		}
		if slices.ContainsFunc(repairs, func(r messages.Repair) bool { return r.Kind == "call_dropped" }) {
			dropped++
		}
		for _, p := range parts {
			if len(content) < 5 {
				from(append(slices.Clip(content), p))
			}
		}
	}
	from(nil)
	require.Greater(t, dropped, 5000)
}
