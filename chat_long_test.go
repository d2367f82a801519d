package segue_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/tools"
)

// reader is a model with a window of 16,000 tokens. It calls a tool twice in each turn, and its
// summaries have the sentences that begin with "Fact".
type reader struct {
	t         *testing.T
	turn      int
	requests  []int // bytes, by turn
	input     int   // the longest request, in tokens
	summaries int
	longest   int // the longest summary, in bytes
}

const window = 16_000

var fact = regexp.MustCompile(`Fact \d+: [^.]*\.`)

func (r *reader) reply(req *llmclient.Request) scripted.Reply {
	require.NoError(r.t, req.Messages.Validate())
	bytes := 0
	for _, m := range req.Messages {
		text, err := messages.MarshalMessage(m)
		require.NoError(r.t, err)
		bytes += len(text)
	}
	used := messages.Usage{Input: int64(bytes / 4), Output: 50}
	r.input = max(r.input, bytes/4)
	require.LessOrEqual(r.t, bytes/4, window, "turn %d", r.turn)
	r.requests[r.turn] += bytes
	last := req.Messages.Last()
	if u, ok := last.(messages.User); ok && len(req.Tools) == 0 {
		r.summaries++
		facts := fact.FindAllString(u.Text(), -1)
		slices.Sort(facts)
		text := "Nothing else matters. " + strings.Join(slices.Compact(facts), " ")
		r.longest = max(r.longest, len(text))
		return scripted.Reply{Text: text, Usage: used}
	}
	calls := 0
	for _, m := range slices.Backward(req.Messages) {
		if m.Role() == messages.RoleUser {
			break
		}
		if m.Role() == messages.RoleTool {
			calls++
		}
	}
	if calls < 2 {
		return scripted.Reply{Calls: []messages.ToolCall{scripted.Call("look", fmt.Sprintf(`{"at":%d}`, 10*r.turn+calls), fmt.Sprintf("c%d_%d", r.turn, calls))}, Usage: used}
	}
	return scripted.Reply{Text: fmt.Sprintf("That is the answer of turn %d. %s", r.turn, strings.Repeat("More is to be said. ", 10)), Usage: used}
}

// A chat of 2,000 turns with tools, in a window of 16,000 tokens: no request is too long or breaks
// a law, a turn costs the same in the end as in the beginning, and what was pinned in turn 3 and
// what summaries have is still there.
func TestChat_longerThanTheWindow(t *testing.T) {
	turns := prove.DepthOr(600, 2000)
	r := &reader{t: t, requests: make([]int, turns)}
	look := tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, func(context.Context, string) (string, error) {
		return strings.Repeat("There is a lot to be seen. ", 20), nil
	})
	agent := &segue.Agent{
		Model: scripted.NewClient(scripted.Config{Replies: []scripted.Reply{{Func: r.reply, Times: -1}}, NoRecord: true}),
		Tools: []tools.Tool{look}, System: "You look things up.", Compact: &compaction.Config{Window: window},
	}
	chat := agent.Chat(nil)
	allocated := make([]uint64, turns+1)
	for r.turn = range turns {
		if r.turn == 3 {
			rule := messages.UserText("My customer number is 4711.")
			rule.Pinned = true
			chat.History = append(chat.History.Clip(), rule)
		}
		question := fmt.Sprintf("This is question %d. What is there?", r.turn)
		if r.turn == 5 || r.turn == turns/2 || r.turn == turns-200 {
			question += fmt.Sprintf(" Fact %d: the door has the code %d.", r.turn, r.turn*7)
		}
		allocated[r.turn] = totalAlloc()
		answer, err := chat.Ask(t.Context(), question)
		require.NoError(t, err)
		require.Contains(t, answer, fmt.Sprintf("the answer of turn %d.", r.turn))
		require.NoError(t, chat.History.Validate())
	}
	allocated[turns] = totalAlloc()

	text, err := chat.History.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(text), `{"role":"user","content":[{"type":"text","text":"My customer number is 4711."}],"pinned":true}`)
	for _, planted := range []int{5, turns / 2, turns - 200} {
		require.Contains(t, string(text), fmt.Sprintf("Fact %d: the door has the code %d.", planted, planted*7))
	}
	early, late := sum(r.requests[100:200]), sum(r.requests[turns-100:])
	require.InEpsilon(t, early, late, 0.15, "bytes of the requests of a hundred turns")
	require.InEpsilon(t, allocated[200]-allocated[100], allocated[turns]-allocated[turns-100], 0.25, "bytes that a hundred turns allocate")
	require.Less(t, len(text), 4*window)
	require.Greater(t, r.summaries, turns/40)
	require.Less(t, r.summaries, turns/5)
	t.Logf("%d turns, %d summaries (%d bytes at most), %d tokens in the longest request; requests of turns 100 to 200 and of the last 100: %d and %d bytes; allocated %d and %d",
		turns, r.summaries, r.longest, r.input, early, late, allocated[200]-allocated[100], allocated[turns]-allocated[turns-100])
}

func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}
