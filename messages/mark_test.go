package messages_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/messages"
)

// turn is a call and its answer.
func turn(id, output string) []messages.Message {
	return []messages.Message{
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "t"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "t", Output: output}},
	}
}

// conversation has spare capacity, so that it can be changed in place.
func conversation(msgs ...messages.Message) messages.History {
	return append(slices.Grow(messages.History{}, 32), msgs...)
}

func TestMark(t *testing.T) {
	base := func() messages.History {
		return append(conversation(messages.System{Text: "s"}, messages.UserText("go")), append(turn("1", "ok"), turn("1", "ok")...)...)
	}
	for name, test := range map[string]struct {
		edit func(messages.History) messages.History
		want int
	}{
		"the same":       {func(h messages.History) messages.History { return h }, 6},
		"grown in place": {func(h messages.History) messages.History { return append(h, messages.UserText("more")) }, 6},
		"grown in a copy": {func(h messages.History) messages.History {
			return append(h.Clip(), messages.UserText("more"))
		}, 0}, // other memory: read again
		"shorter":          {func(h messages.History) messages.History { return h[:4] }, 0},
		"another":          {func(messages.History) messages.History { return base() }, 0},
		"empty":            {func(messages.History) messages.History { return nil }, 0},
		"begins elsewhere": {func(h messages.History) messages.History { return append(h[1:], turn("2", "")...) }, 0},
		"trimmed in place, grown past its length": {func(h messages.History) messages.History {
			return append(slices.Delete(h, 1, 3), turn("2", "x")...)
		}, 0},
		"a turn like the last one trimmed in place": {func(h messages.History) messages.History {
			return append(slices.Delete(h, 2, 4), turn("1", "ok")...)
		}, 0},
		"the first replaced in place": {func(h messages.History) messages.History { h[0] = messages.System{Text: "t"}; return h }, 0},
		"the last replaced in place":  {func(h messages.History) messages.History { h[5] = turn("1", "no")[1]; return h }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := base()
			mark := h.Mark()
			require.Equal(t, test.want, mark.Known(test.edit(h)))
		})
	}
	for name, change := range map[string][2]messages.Message{
		"name of a system message": {messages.System{Text: "s"}, messages.System{Text: "s", Name: "boss"}},
		"cache of a user message":  {messages.User{}, messages.User{Cache: messages.Cache5m}},
		"name of a reply":          {messages.Assistant{}, messages.Assistant{Name: "bot"}},
		"images of a result":       {messages.Tool{}, messages.Tool{ToolOutput: messages.ToolOutput{Images: []messages.Image{{URL: "u"}}}}},
		"cache of a result":        {messages.Tool{}, messages.Tool{Cache: messages.Cache5m}},
	} {
		h := conversation(messages.UserText("go"), change[0])
		mark := h.Mark()
		require.Equal(t, 2, mark.Known(h), name)
		h[1] = change[1]
		require.Zero(t, mark.Known(h), name)
	}
	var none messages.Mark
	require.Zero(t, none.Known(base()))
	none = messages.History(nil).Mark()
	require.Zero(t, none.Known(base()))
}

// However a history is grown, trimmed or replaced in place at its ends, Validator and Validate
// agree.
func TestValidator_agreesWithValidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v messages.Validator
		h := conversation(messages.UserText("go"))
		for i := range rapid.IntRange(1, 20).Draw(t, "moves") {
			switch rapid.SampledFrom([]string{"say", "turn", "call", "delete", "shift", "pop", "replace"}).Draw(t, "move") {
			case "say":
				h = append(h, messages.UserText("again"))
			case "turn":
				h = append(h, turn("1", "ok")...)
			case "call":
				h = append(h, turn("1", "ok")[0])
			case "delete":
				from := rapid.IntRange(0, len(h)-1).Draw(t, "from")
				h = slices.Delete(h, from, rapid.IntRange(from, len(h)).Draw(t, "to"))
			case "shift":
				h = h[min(1, len(h)-1):]
			case "pop":
				h = h[:len(h)-1]
			case "replace":
				h[len(h)-1] = turn("1", "ok")[i%2]
			}
			if len(h) == 0 {
				h = conversation(messages.UserText("go"))
			}
			want, got := h.Validate(), v.Check(h)
			if (want == nil) != (got == nil) {
				t.Fatalf("Validate %v, Validator %v, of %v", want, got, h)
			}
		}
	})
}
