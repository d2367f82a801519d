package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// Text cannot hold pictures, files and sound: they go on to the client that is asked, and so do the
// names of authors and cache marks. Pictures of results stand behind the results.
func TestFormatQuery_passesOnWhatIsNoText(t *testing.T) {
	asked := messages.User{Name: "ann", Cache: messages.Cache5m, Content: []messages.UserContent{
		messages.Text{Text: "see"}, messages.Image{URL: "u"}, messages.File{ID: "f"}, messages.Audio{Format: "wav", URL: "data:,"},
	}}
	calls := messages.Assistant{Name: "bot", Cache: messages.Cache1h, Content: []messages.AssistantContent{
		messages.Thought{Text: "hm", Extras: messages.Extras{"signature": []byte(`"s"`)}},
		messages.ToolCall{ID: "a", Name: "look", Arguments: "{}"},
		messages.ToolCall{ID: "b", Name: "look", Arguments: "{}"},
	}}
	result := func(id string, images ...messages.Image) messages.Tool {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "look", Output: "seen " + id, Images: images}}
	}
	last := result("b", messages.Image{URL: "2", Detail: "low"}, messages.Image{URL: "3"})
	last.Cache = messages.Cache5m
	h := messages.History{messages.System{Text: "s", Cache: messages.Cache1h}, asked, calls, result("a", messages.Image{URL: "1"}), last}
	for _, policy := range []markdownpolicy.Policy{
		markdownpolicy.Fenced,
		markdownpolicy.XML,
		markdownpolicy.Hermes,
		markdownpolicy.ReAct{},
		markdownpolicy.Llama,
		markdownpolicy.Mistral,
		markdownpolicy.Pythonic,
		markdownpolicy.Structured{},
		markdownpolicy.Think{},
		markdownpolicy.Chain{markdownpolicy.Hermes},
	} {
		out, err := policy.FormatQuery(h)
		require.NoError(t, err)
		require.Len(t, out, 4)
		require.Equal(t, h[:2], out[:2])
		require.Equal(t, messages.Assistant{Name: "bot", Cache: messages.Cache1h, Content: messages.AssistantText(out[2].(messages.Assistant).Text()).Content}, out[2])
		results := out[3].(messages.User)
		require.Contains(t, results.Text(), "seen a")
		require.Contains(t, results.Text(), "seen b")
		require.Equal(t, messages.Cache5m, results.Cache)
		require.Equal(t, []messages.UserContent{messages.Image{URL: "1"}, messages.Image{URL: "2", Detail: "low"}, messages.Image{URL: "3"}}, results.Content[1:])
	}
}
