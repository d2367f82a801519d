package messages_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/segue-go/segue/messages"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func calls(ids ...string) messages.Assistant {
	var a messages.Assistant
	for _, id := range ids {
		a.Content = append(a.Content, messages.ToolCall{ID: id, Name: "read", Arguments: "{}"})
	}
	return a
}

func answer(id string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "read", Output: "ok"}}
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("c%d", i)
	}
	return ids
}

func TestValidate(t *testing.T) {
	user := messages.UserText("hello")
	for _, tt := range []struct {
		name string
		h    messages.History
		want *messages.LawError
	}{
		{"nil", nil, nil},
		{"plain", messages.History{messages.System{}, user, messages.AssistantText("hi"), user}, nil},
		{"a user message may be empty", messages.History{messages.User{}}, nil},
		{"only a thought", messages.History{messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Text: "t"}}}}, nil},
		{"answers in any order", messages.History{calls("a", "b"), answer("b"), answer("a"), user}, nil},
		{"S4-23 ids again in a later turn", messages.History{calls("0"), answer("0"), calls("0"), answer("0")}, nil},

		{"nil message", messages.History{user, nil}, &messages.LawError{Index: 1, Law: messages.LawVariant, Type: "<nil>"}},
		{"pointer", messages.History{&user}, &messages.LawError{Law: messages.LawVariant, Type: "*messages.User"}},
		{"embedding", messages.History{foreign{}}, &messages.LawError{Law: messages.LawVariant, Type: "messages_test.foreign"}},
		{
			"pointer part",
			messages.History{messages.User{Content: []messages.UserContent{&messages.Text{}}}},
			&messages.LawError{Law: messages.LawVariant, Type: "*messages.Text"},
		},
		{
			"nil part",
			messages.History{messages.Assistant{Content: []messages.AssistantContent{nil}}},
			&messages.LawError{Law: messages.LawVariant, Type: "<nil>"},
		},
		{"empty", messages.History{user, messages.Assistant{}}, &messages.LawError{Index: 1, Law: messages.LawEmpty}},
		{"empty text", messages.History{messages.AssistantText("")}, &messages.LawError{Law: messages.LawEmpty}},
		{"no id", messages.History{calls("a", "")}, &messages.LawError{Law: messages.LawCallID}},
		{"same id", messages.History{calls("a", "b", "a")}, &messages.LawError{Law: messages.LawDuplicate, CallID: "a"}},
		{"open at the end", messages.History{calls("a", "b"), answer("a")}, &messages.LawError{Law: messages.LawUnanswered, CallID: "b"}},
		{"open before a user", messages.History{user, calls("a"), user, answer("a")}, &messages.LawError{Index: 1, Law: messages.LawUnanswered, CallID: "a"}},
		{"S4-24 a message in between", messages.History{calls("a", "b"), answer("a"), user, answer("b")}, &messages.LawError{Law: messages.LawUnanswered, CallID: "b"}},
		{"open before the next turn", messages.History{calls("a"), calls("b"), answer("b")}, &messages.LawError{Law: messages.LawUnanswered, CallID: "a"}},
		{"orphan", messages.History{user, answer("a")}, &messages.LawError{Index: 1, Law: messages.LawOrphan, CallID: "a"}},
		{"answer of another turn", messages.History{calls("a"), answer("a"), calls("b"), answer("a")}, &messages.LawError{Index: 3, Law: messages.LawOrphan, CallID: "a"}},
		{"twice", messages.History{calls("a"), answer("a"), answer("a")}, &messages.LawError{Index: 2, Law: messages.LawTwice, CallID: "a"}},
		{"late second answer", messages.History{calls("a"), answer("a"), user, answer("a")}, &messages.LawError{Index: 3, Law: messages.LawOrphan, CallID: "a"}},

		{"many calls, same id", messages.History{calls(append(numbered(100), "c7")...)}, &messages.LawError{Law: messages.LawDuplicate, CallID: "c7"}},
		{"many calls, open", append(messages.History{calls(numbered(100)...)}, answers(numbered(99))...), &messages.LawError{Law: messages.LawUnanswered, CallID: "c99"}},
		{"many calls, twice", append(messages.History{calls(numbered(100)...)}, answers([]string{"c3", "c3"})...), &messages.LawError{Index: 2, Law: messages.LawTwice, CallID: "c3"}},
		{"many calls", append(messages.History{calls(numbered(100)...)}, answers(numbered(100))...), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.h.Validate()
			if tt.want == nil {
				require.NoError(t, err)
				return
			}
			require.Equal(t, tt.want, err)
			require.Contains(t, err.Error(), fmt.Sprintf("messages: message %d: ", tt.want.Index))
			require.Contains(t, err.Error(), tt.want.CallID)
			require.Contains(t, err.Error(), tt.want.Type)
		})
	}
}

func answers(ids []string) messages.History {
	var h messages.History
	for _, id := range ids {
		h = append(h, answer(id))
	}
	return h
}

// Whatever a program does with a history, except rewriting its elements, Check agrees with
// Validate.
func TestValidatorAgreesWithValidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v messages.Validator
		h := lawful.Draw(t, "start").Clip()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // another history
				h = historyOf(anything).Draw(t, "other")
			case 1: // the same messages elsewhere
				h = slices.Clone(h)
			case 2: // a fork from a prefix
				h = h[:rapid.IntRange(0, len(h)).Draw(t, "prefix")].Clip()
			case 3: // the front cut off
				h = h[rapid.IntRange(0, len(h)).Draw(t, "cut"):]
			case 4, 5: // grown at random
				h = append(h, anything(t))
			default: // grown lawfully
				h = append(h, lawful.Draw(t, "more")...)
			}
			require.Equal(t, h.Validate(), v.Check(h))
		}
	})
}

func TestValidatorReadsOnlyWhatIsNew(t *testing.T) {
	h := make(messages.History, 0, 8)
	h = append(h, messages.UserText("a"), messages.UserText("b"), calls("a"), answer("a"))
	var v messages.Validator
	require.NoError(t, v.Check(h))
	h[1] = nil // against the rules: a second look would find it
	h = append(h, messages.AssistantText("b"))
	require.NoError(t, v.Check(h))
	require.Error(t, v.Check(slices.Clone(h)), "a copy is read anew")
}

func TestValidatorAllocatesNothing(t *testing.T) {
	var more messages.History
	for range 200 {
		more = append(more, calls("a", "b", "c"), answer("c"), answer("a"), answer("b"))
	}
	h := make(messages.History, 0, 2000)
	var v messages.Validator
	allocs := testing.AllocsPerRun(100, func() {
		h = append(h, more[len(h):len(h)+4]...)
		require.NoError(t, v.Check(h))
	})
	require.Zero(t, allocs)
}

func BenchmarkValidator(b *testing.B) {
	var call messages.Message = calls("a")
	var result messages.Message = answer("a")
	h := make(messages.History, 0, 1<<20)
	var v messages.Validator
	b.ReportAllocs()
	for b.Loop() {
		if len(h) == cap(h) {
			h, v = h[:0], messages.Validator{}
		}
		h = append(h, call, result)
		if err := v.Check(h); err != nil {
			b.Fatal(err)
		}
	}
}
