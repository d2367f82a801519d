package scripted_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

func TestLoad(t *testing.T) {
	file, err := os.Open("testdata/replies.json")
	require.NoError(t, err)
	defer file.Close()
	replies, err := scripted.Load(file)
	require.NoError(t, err)
	require.Equal(t, []scripted.Reply{
		{
			For: "weather", Thought: "I must look.", Text: "One moment.", Deltas: []string{"One ", "moment."},
			Calls: []messages.ToolCall{
				{ID: "c1", Name: "get_weather", Arguments: `{"city":"Oslo","days":[1,2]}`},
				{Name: "get_time", Arguments: `{"broken": `},
				{Name: "noop"},
			},
			Finish: llmclient.FinishToolCalls, Usage: messages.Usage{Input: 12, Output: 8, Total: 20, Reasoning: 4},
			Delay: 20 * time.Millisecond, Times: 2,
		},
		{Err: &llmclient.Error{Code: llmclient.CodeRateLimited, Status: 429, Type: "tokens", Message: "slow down", RequestID: "r1", RetryAfter: 2 * time.Second}},
		{Text: "Rain."},
		{},
	}, replies)
}

func TestLoad_Strict(t *testing.T) {
	for script, want := range map[string]string{
		``:                   "scripted: a script is a JSON array of replies: EOF",
		`{}`:                 "a script is a JSON array of replies",
		`[{}`:                "a script is a JSON array of replies: unexpected EOF",
		`[] []`:              "there is text after the array of replies",
		`[] x`:               "there is text after the array of replies",
		`[{}, {"txt": "a"}]`: `scripted: reply 2: json: unknown field "txt"`,
		`[{"calls": [{"name": "a", "args": {}}]}]`: `reply 1: json: unknown field "args"`,
		`[null]`:                              "reply 1: null is not an object",
		`["a"]`:                               `reply 1: "a" is not an object`,
		`[{"text": "ab", "deltas": ["a"]}]`:   `reply 1: its deltas join to "a", but its text is "ab"`,
		`[{"calls": [{"id": "a"}]}]`:          "reply 1: its call 1 has no name",
		`[{"error": {"message": "no code"}}]`: "reply 1: its error has no code",
		`[{"delay": "soon"}]`:                 `reply 1: time: invalid duration "soon"`,
		`[{"delay": 5}]`:                      "reply 1: json: cannot unmarshal",
	} {
		replies, err := scripted.Load(strings.NewReader(script))
		require.ErrorContains(t, err, want, script)
		require.Nil(t, replies)
	}
}

// Any file gives usable replies, or an error.
func FuzzLoad(f *testing.F) {
	whole, err := os.ReadFile("testdata/replies.json")
	require.NoError(f, err)
	for _, seed := range []string{string(whole), `[]`, `[{"calls":[{"name":"a","arguments":[1, "b"]}]}]`, `[{"deltas":["a","b"]}]`, `[{"times":-1}]`, `[{"delay":"-1s"}]`, `[1`, "[{\"text\":\"\xff\"}]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		replies, err := scripted.Load(strings.NewReader(script))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "scripted: "), err)
			return
		}
		c := scripted.New(replies...)
		for i := range replies {
			reply := replies[i]
			reply.Delay, reply.For = 0, ""
			streamed := ""
			resp, err := scripted.New(reply).Complete(t.Context(), user("x"), func(d llmclient.Delta) {
				if d.Kind == llmclient.DeltaText {
					streamed += d.Text
				}
			})
			if reply.Err != nil {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, resp.Message.Text(), streamed)
			require.Len(t, resp.Message.Calls(), len(reply.Calls))
		}
		require.GreaterOrEqual(t, c.Remaining(), 0)
	})
}
