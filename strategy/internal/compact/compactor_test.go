package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/compact"
	"github.com/segue-go/segue/tools"
)

// conversation draws a valid conversation whose last message of the user is not answered.
func conversation(t *rapid.T) messages.History {
	texts := 0
	text := func(label string) string { // no two are the same
		texts++
		return fmt.Sprint(texts, " ") + strings.Repeat("word ", rapid.IntRange(1, 120).Draw(t, label))
	}
	var h messages.History
	if rapid.Bool().Draw(t, "system") {
		h = append(h, messages.System{Text: text("system text")})
	}
	n := 0
	for turn := range rapid.IntRange(1, 12).Draw(t, "turns") {
		u := messages.UserText(fmt.Sprintf("%d %s", turn, text("goal")))
		u.Pinned = rapid.IntRange(0, 5).Draw(t, "pinned") == 0
		h = append(h, u)
		for range rapid.IntRange(0, 4).Draw(t, "rounds") {
			a := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: text("says")}}}
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				n++
				a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprint("c", n), Name: "look", Arguments: `{"at":1}`})
			}
			h = append(h, a)
			for _, c := range a.Calls() {
				h = append(h, messages.Tool{ToolOutput: messages.ToolOutput{
					CallID: c.ID, ToolName: c.Name, Output: text("result"), Untrusted: rapid.IntRange(0, 7).Draw(t, "untrusted") == 0,
				}})
			}
		}
		h = append(h, messages.AssistantText(text("answer")))
	}
	return append(h, messages.UserText("the task "+text("task")))
}

// compactor returns a Compactor of a drawn Config, of a frame with that conversation.
func compactor(t *rapid.T, h messages.History) (compact.Compactor, compaction.Config) {
	cfg := compaction.Config{
		Window: rapid.IntRange(100, 6000).Draw(t, "window"), Keep: rapid.IntRange(1, 5).Draw(t, "keep"), MaxTokens: rapid.IntRange(1, 200).Draw(t, "max tokens"),
		How: rapid.SampledFrom([]compaction.How{compaction.Summarize, compaction.Trim}).Draw(t, "how"),
	}
	rules, err := compact.New(&cfg)
	require.NoError(t, err)
	c := rules.Compactor()
	c.Start(h)
	return c, cfg
}

func request(h messages.History) *llmclient.Request { return &llmclient.Request{Messages: h.Clip()} }

// After any compaction the conversation is valid, what has to stay is there byte for byte and in
// order, and it is shorter; the same conversation is always cut in the same way.
func TestCompactor_laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := conversation(t)
		c, cfg := compactor(t, h)
		before, err := json.Marshal(h)
		require.NoError(t, err)
		due := c.Due(request(h))
		if !c.Begin(h) {
			return
		}
		var after messages.History
		if cfg.How == compaction.Trim {
			after = c.Trim(h)
		} else {
			step, ok := c.Ask(h, "own")
			require.True(t, ok)
			require.NoError(t, step.Request.Messages.Validate())
			require.True(t, step.Aside)
			after = c.Summarized(h, llmclient.Response{Message: messages.AssistantText("what was said"), Finish: llmclient.FinishStop})
		}
		step := c.Declare(nextstep.GetChatCompletion{Request: *request(after)})
		require.NotNil(t, step.Compacted)
		require.NoError(t, after.Validate())
		require.LessOrEqual(t, step.Compacted.After, step.Compacted.Before)
		unchanged, err := json.Marshal(h)
		require.NoError(t, err)
		require.Equal(t, string(before), string(unchanged), "the conversation before is not written to")
		stays(t, h, after, step.Compacted)
		if due && c.Due(request(after)) && c.Begin(after) { // what is still too long can be cut further only if there is more than the last round
			require.Greater(t, len(after), 3)
		}
	})
}

// stays checks what is still in a conversation after a compaction.
func stays(t *rapid.T, h, after messages.History, told *nextstep.Compaction) {
	forms := map[string]int{}
	order := make([]string, len(after))
	summaries, untrusted := 0, false
	for i, m := range after {
		order[i] = form(t, m)
		forms[order[i]]++
		if u, ok := m.(messages.User); ok && u.Summary {
			summaries++
			untrusted = u.Untrusted
		}
	}
	require.Equal(t, 1, summaries)
	last, lost, holds := -1, 0, false
	for i, m := range h {
		at := -1
		for j := last + 1; j < len(after); j++ {
			if order[j] == form(t, m) {
				at = j
				break
			}
		}
		u, isUser := m.(messages.User)
		_, isSystem := m.(messages.System)
		if isSystem || isUser && u.Pinned || i == len(h)-1 {
			require.GreaterOrEqual(t, at, 0, "message %d has to stay, in order", i)
		}
		if at >= 0 {
			last = at
			continue
		}
		lost++
		if o, ok := m.(messages.Tool); ok {
			holds = holds || o.Untrusted
		}
	}
	require.Equal(t, holds, untrusted, "a summary of untrusted text is untrusted")
	require.Equal(t, len(h)-lost, told.Kept)
	require.Equal(t, len(h), told.From)
}

func form(t *rapid.T, m messages.Message) string {
	text, err := messages.MarshalMessage(m)
	require.NoError(t, err)
	return string(text)
}

// The last turns stay if they fit, however much is before them.
func TestCompactor_keepsTheLastTurns(t *testing.T) {
	rules, err := compact.New(&compaction.Config{Window: 2000, Keep: 3, How: compaction.Trim})
	require.NoError(t, err)
	var h messages.History
	for i := range 40 {
		h = append(h, messages.UserText(fmt.Sprintf("question %d", i)), messages.AssistantText(strings.Repeat("x", 200)))
	}
	h = append(h, messages.UserText("the task"))
	c := rules.Compactor()
	c.Start(h)
	require.True(t, c.Due(request(h)))
	require.True(t, c.Begin(h))
	after := c.Trim(h)
	require.Len(t, after, 6)
	require.Equal(t, h[len(h)-5:], after[1:], "two turns with their answers, and the task")
}

// In one turn the task and the last rounds stay, and a call has its result.
func TestCompactor_cutsWithinALongTurn(t *testing.T) {
	rules, err := compact.New(&compaction.Config{Window: 2000, Keep: 3})
	require.NoError(t, err)
	h := messages.History{messages.System{Text: "be brief"}, messages.UserText("the task")}
	for i := range 60 {
		id := fmt.Sprint("c", i)
		h = append(h,
			messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "look", Arguments: "{}"}}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "look", Output: strings.Repeat("y", 100)}},
		)
	}
	c := rules.Compactor()
	c.Start(h)
	require.True(t, c.Due(request(h)))
	require.True(t, c.Begin(h))
	step, ok := c.Ask(h, "own")
	require.True(t, ok)
	require.Nil(t, step.Anew, "it is the first request of the frame")
	require.Contains(t, step.Request.Messages[1].(messages.User).Text(), "[result of look]\nyyy")
	require.Equal(t, 1024, step.Request.MaxTokens)
	after := c.Summarized(h, llmclient.Response{Message: messages.AssistantText("57 were looked at")})
	require.NoError(t, after.Validate())
	require.Equal(t, h[:2], after[:2])
	require.True(t, after[2].(messages.User).Summary)
	require.Contains(t, after[2].(messages.User).Text(), "57 were looked at")
	require.Equal(t, h[len(h)-6:], after[3:])
	made, failed := c.Counts()
	require.Equal(t, [2]int{1, 0}, [2]int{made, failed})
}

// The provider's own count makes the estimate better.
func TestCompactor_isCalibrated(t *testing.T) {
	rules, err := compact.New(&compaction.Config{Window: 1000})
	require.NoError(t, err)
	c := rules.Compactor()
	h := messages.History{messages.UserText(strings.Repeat("a", 3000))} // 754 tokens, of 800
	c.Start(h)
	require.False(t, c.Due(request(h)))
	c.Answered(messages.Usage{Input: 1500}) // it was twice as much
	require.True(t, c.Due(request(h)))
	c.Answered(messages.Usage{Input: 300})
	require.False(t, c.Due(request(append(h, messages.AssistantText(strings.Repeat("b", 3000))))))
	for _, odd := range []int64{-5, 0} {
		c.Answered(messages.Usage{Input: odd}) // says nothing
		require.False(t, c.Due(request(append(h, messages.AssistantText(strings.Repeat("b", 3000))))))
	}
	c.Answered(messages.Usage{Input: 1 << 60}) // at most a token a byte
	require.True(t, c.Due(request(h)))
}

// A request that is refused says how long a request may be; once until one succeeds.
func TestCompactor_refused(t *testing.T) {
	rules, err := compact.New(&compaction.Config{How: compaction.Trim, Keep: 1})
	require.NoError(t, err)
	c := rules.Compactor()
	h := messages.History{messages.UserText(strings.Repeat("a", 8000)), messages.AssistantText("b"), messages.UserText("the task")}
	c.Start(h)
	tooLong := nextstep.Failure{Code: delegation.Code(llmclient.CodeContextLength)}
	require.False(t, c.Due(request(h)), "no window is known")
	require.False(t, c.Refused(nextstep.Failure{Code: delegation.Code(llmclient.CodeRateLimited)}))
	require.True(t, c.Refused(tooLong))
	require.True(t, c.Begin(h))
	after := c.Trim(h)
	step := c.Declare(nextstep.GetChatCompletion{Request: *request(after)})
	require.Equal(t, compact.WhyRefused, step.Compacted.Why)
	require.NotNil(t, step.Anew)
	require.False(t, c.Refused(tooLong), "the request after the compaction was refused too")
	c.Answered(messages.Usage{})
	require.True(t, c.Refused(tooLong))
	require.True(t, c.Due(request(h)), "about the window is known now")
}

// A refusal without a reason is one of the length if the request is estimated to be beyond the
// window.
func TestCompactor_refusedBeyondTheWindow(t *testing.T) {
	h := messages.History{messages.UserText("hello"), messages.AssistantText("hi"), messages.UserText("the task " + strings.Repeat("a", 4400))}
	refused := nextstep.Failure{Code: delegation.Code(llmclient.CodeBadRequest), Message: "invalid request"}
	for window, want := range map[int]bool{0: false, 1000: true, 1100: true, 1200: false} { // the request has about 1120 tokens
		rules, err := compact.New(&compaction.Config{Window: window, How: compaction.Trim, Keep: 1})
		require.NoError(t, err)
		c := rules.Compactor()
		c.Start(h)
		require.Equal(t, window > 0, c.Due(request(h)))
		require.False(t, c.Refused(nextstep.Failure{Code: delegation.Code(llmclient.CodeAuth)}))
		require.Equal(t, want, c.Refused(refused), window)
		require.False(t, c.Refused(refused), "once until a request succeeds")
	}
}

// A summary that is none leaves old turns out, and says why; an earlier summary stays.
func TestCompactor_summaryFails(t *testing.T) {
	for why, reply := range map[string]llmclient.Response{
		"it is empty":                          {Message: messages.AssistantText(" \n")},
		"it was cut off":                       {Message: messages.AssistantText("It"), Finish: llmclient.FinishLength},
		"the model ended with content_filter":  {Message: messages.AssistantText("It"), Finish: llmclient.FinishContentFilter},
		"it is longer than what it stands for": {Message: messages.AssistantText(strings.Repeat("long", 4000))},
	} {
		rules, err := compact.New(&compaction.Config{Window: 1000, Keep: 1})
		require.NoError(t, err)
		c := rules.Compactor()
		former := messages.UserText("former")
		former.Summary = true
		h := messages.History{former, messages.UserText(strings.Repeat("a", 4000)), messages.AssistantText("b"), messages.UserText("the task")}
		c.Start(h)
		require.True(t, c.Due(request(h)))
		require.True(t, c.Begin(h))
		_, ok := c.Ask(h, "own")
		require.True(t, ok)
		after := c.Summarized(h, reply)
		step := c.Declare(nextstep.GetChatCompletion{Request: *request(after)})
		require.Equal(t, why, step.Compacted.Failed)
		require.Equal(t, string(compaction.Trim), step.Compacted.How)
		require.Len(t, after, 2)
		require.Contains(t, after[0].(messages.User).Text(), "former\n\nEarlier messages")
		_, failed := c.Counts()
		require.Equal(t, 1, failed)
	}
}

// A Compactor that is restored from its State decides the same.
func TestCompactor_state(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := conversation(t)
		c, cfg := compactor(t, h)
		c.Due(request(h))
		c.Answered(messages.Usage{Input: rapid.Int64Range(0, 9000).Draw(t, "input")})
		begun := rapid.Bool().Draw(t, "begun") && c.Begin(h)
		text, err := json.Marshal(c.State())
		require.NoError(t, err)
		var state compact.State
		require.NoError(t, json.Unmarshal(text, &state))
		rules, err := compact.New(&cfg)
		require.NoError(t, err)
		other := rules.Compactor()
		require.True(t, other.Restore(&state, h))
		if !begun {
			require.Equal(t, c.Due(request(h)), other.Due(request(h)))
			require.Equal(t, c.Begin(h), other.Begin(h))
		}
		if c.Begun() {
			require.Equal(t, c.Trim(h), other.Trim(h))
		}
		require.Equal(t, c.State(), other.State())
		var none compact.Compactor
		require.Equal(t, state.Cut == nil, none.Restore(&state, h), "a compaction that was begun needs its rules")
	})
}

// What is estimated is only what is new, and what a request has besides messages counts, too.
func TestCompactor_measures(t *testing.T) {
	rules, err := compact.New(&compaction.Config{Window: 1000})
	require.NoError(t, err)
	c := rules.Compactor()
	r := request(messages.History{messages.UserText("hello")})
	require.False(t, c.Due(r))
	r.Tools = []tools.Definition{{Name: "look", Description: strings.Repeat("d", 4000)}}
	require.True(t, c.Due(r))
	r.Tools = nil
	r.Schema = &llmclient.Schema{Schema: json.RawMessage(`{"description":"` + strings.Repeat("d", 4000) + `"}`)}
	require.True(t, c.Due(r))
	r.Schema, r.Messages = nil, messages.History{messages.User{Content: []messages.UserContent{messages.Image{URL: "data:"}}}}
	require.True(t, c.Due(r))

	h := make(messages.History, 0, 4096)
	grow := func() { h = append(h, messages.UserText("hello"), messages.AssistantText("hi")) }
	for range 1000 {
		grow()
	}
	c.Due(request(h))
	short := testing.AllocsPerRun(10, func() { grow(); c.Due(request(h)) })
	require.Less(t, short, 12.0, "only two messages are new")
}

func TestNew_refuses(t *testing.T) {
	for text, cfg := range map[string]compaction.Config{
		"compaction: Window: -1 is not a number of tokens of at least 100": {Window: -1},
		"compaction: Window: 99 is not a number of tokens":                 {Window: 99},
		"compaction: At: 1.5 is not a share of the Window":                 {At: 1.5},
		"compaction: Keep: -1 turns cannot stay":                           {Keep: -1},
		"compaction: How: \"drop\" is not one of":                          {How: "drop"},
		"compaction: MaxTokens: -1 is not a number of tokens":              {MaxTokens: -1},
		"compaction: Prompts: template: Request":                           {Prompts: compaction.Prompts{Request: "{{.Nothing}}"}},
	} {
		_, err := compact.New(&cfg)
		require.ErrorContains(t, err, text)
	}
	rules, err := compact.New(nil)
	require.NoError(t, err)
	c := rules.Compactor()
	require.False(t, c.Due(request(messages.History{messages.UserText(strings.Repeat("a", 1<<20))})))
	require.Nil(t, c.State())
	require.Zero(t, rules.Summaries()+rules.Refusals())
}
