package messages_test

import (
	"math"
	"testing"

	"github.com/segue-go/segue/messages"
	"github.com/stretchr/testify/require"
)

func TestTexts(t *testing.T) {
	image := messages.Image{URL: "u"}
	require.Equal(t, "", messages.User{}.Text())
	require.Equal(t, "", messages.User{Content: []messages.UserContent{image}}.Text())
	require.Equal(t, "hello", messages.UserText("hello").Text())
	require.Equal(t, "ab", messages.User{Content: []messages.UserContent{messages.Text{Text: "a"}, image, messages.Text{Text: "b"}}}.Text())

	reply := messages.Assistant{Content: []messages.AssistantContent{
		messages.Thought{Text: "t1"},
		messages.Text{Text: "a"},
		messages.ToolCall{ID: "1"},
		messages.Text{Text: "b"},
		messages.Text{Text: "c"},
		messages.Thought{Text: "t2"},
		messages.ToolCall{ID: "2"},
	}}
	require.Equal(t, "a\n\nbc", reply.Text())
	require.Equal(t, "t1t2", reply.Thought())
	require.Equal(t, []messages.ToolCall{{ID: "1"}, {ID: "2"}}, reply.Calls())
	require.Equal(t, "hi", messages.AssistantText("hi").Text())
	require.Nil(t, messages.AssistantText("hi").Calls())
}

// Texts with a call between them are not glued: "I will look that up.Done." reads badly.
func TestText_aroundACall(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"I will look that up.", "Done.", "I will look that up.\n\nDone."},
		{"I will look that up.\n", "Done.", "I will look that up.\nDone."},
		{"I will look that up.", " Done.", "I will look that up. Done."},
		{"", "Done.", "Done."},
		{"I will look that up.", "", "I will look that up."},
	} {
		reply := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: c.before}, messages.ToolCall{ID: "1"}, messages.Text{Text: c.after}}}
		require.Equal(t, c.want, reply.Text())
	}
}

func TestRoles(t *testing.T) {
	for _, m := range []messages.Message{messages.System{}, messages.User{}, messages.Assistant{}, messages.Tool{}} {
		data, err := messages.MarshalMessage(m)
		require.NoError(t, err)
		require.Contains(t, string(data), `{"role":"`+string(m.Role())+`"`)
	}
}

func TestDecode(t *testing.T) {
	type args struct{ Path string }
	for _, arguments := range []string{"", " \n", "null", "{}"} {
		got := args{Path: "default"}
		require.NoError(t, messages.ToolCall{Arguments: arguments}.Decode(&got))
		require.Equal(t, "default", got.Path)
	}
	var got args
	require.NoError(t, messages.ToolCall{Arguments: `{"path":"a"}`}.Decode(&got))
	require.Equal(t, "a", got.Path)

	var sized struct{ Size int }
	require.NoError(t, messages.ToolCall{Arguments: `{"size":5.0}`}.Decode(&sized))
	require.Equal(t, 5, sized.Size)
	require.Error(t, messages.ToolCall{Arguments: `{"size":5.5}`}.Decode(&sized))

	err := messages.ToolCall{ID: "c1", Name: "read", Arguments: `{"path": `}.Decode(&got)
	require.ErrorContains(t, err, `messages: arguments of call "c1" to "read" are not JSON at byte 9: `)
	err = messages.ToolCall{ID: "c1", Name: "read", Arguments: `{"path": 1}`}.Decode(&got)
	require.ErrorContains(t, err, `messages: arguments of call "c1" to "read": `)
}

func TestHistoryClipAndLast(t *testing.T) {
	require.Nil(t, messages.History(nil).Last())
	h := append(make(messages.History, 0, 4), messages.UserText("a"))
	clipped := h.Clip()
	_ = append(clipped, messages.UserText("mine"))
	h = append(h, messages.UserText("b"))
	require.Equal(t, messages.UserText("b"), h.Last(), "who appends to a clipped history writes elsewhere")
	require.Equal(t, messages.UserText("a"), clipped.Last())
}

func TestUsageAdd(t *testing.T) {
	one := messages.Usage{Input: 1, Output: 2, Total: 3, Cached: 4, Reasoning: 5}
	require.Equal(t, messages.Usage{Input: 2, Output: 4, Total: 6, Cached: 8, Reasoning: 10}, one.Add(one))
	require.Equal(t, one, one.Add(messages.Usage{}))
}

func TestOutputOK(t *testing.T) {
	for status, ok := range map[messages.Status]bool{"": true, messages.StatusOK: true, messages.StatusFailed: false, messages.StatusUnknown: false} {
		require.Equal(t, ok, messages.ToolOutput{Status: status}.OK(), status)
	}
}

// A provider may report any number: a sum stops at the largest int64 and never becomes negative.
func TestUsage_saturates(t *testing.T) {
	huge := messages.Usage{Input: math.MaxInt64, Total: math.MaxInt64 - 1}
	require.Equal(t, messages.Usage{Input: math.MaxInt64, Total: math.MaxInt64, Output: 2}, huge.Add(messages.Usage{Input: 1, Total: 5, Output: 2}))
}

// A signature alone is content: it must be sent back.
func TestAssistant_EmptyWithoutSignatures(t *testing.T) {
	signed := messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Extras: messages.Extras{"signature": []byte(`"s"`)}}}}
	require.False(t, signed.Empty())
	require.NoError(t, messages.History{messages.UserText("go"), signed}.Validate())
	blank := messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Extras: messages.Extras{}}, messages.Text{Citations: []messages.Citation{{URL: "u"}}}}}
	require.True(t, blank.Empty())
}

func TestUser_TextLeavesOutWhatIsNoText(t *testing.T) {
	u := messages.User{Content: []messages.UserContent{messages.Text{Text: "a"}, messages.Image{URL: "u"}, messages.File{ID: "f"}, messages.Audio{}, messages.Text{Text: "b"}}}
	require.Equal(t, "ab", u.Text())
}
