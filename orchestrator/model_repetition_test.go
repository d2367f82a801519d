package orchestrator_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// endless is a client whose first reply has many pieces, of one kind. Later ones are "Done.".
type endless struct {
	piece  func(i int) string
	kind   string // "" for text, or thought, call (one whose arguments do not end) or calls (one a piece)
	plain  bool   // an error without what had come
	asked  []llmclient.Request
	told   int // pieces of the first reply that were told
	whole  bool
	silent time.Duration // before each piece
}

const mostPieces = 40_000

func (c *endless) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	own := *req
	own.Messages = req.Messages.Clip()
	if c.asked = append(c.asked, own); len(c.asked) > 1 {
		return &llmclient.Response{Message: messages.AssistantText("Done."), Finish: llmclient.FinishStop}, nil
	}
	if !c.whole {
		onDelta = llmclient.Watch(ctx, onDelta)
	}
	var text strings.Builder
	var calls []messages.AssistantContent
	for i := range mostPieces {
		if c.silent > 0 {
			<-time.After(c.silent)
		}
		if ctx.Err() != nil {
			break
		}
		piece := c.piece(i)
		text.WriteString(piece)
		c.told++
		switch {
		case onDelta == nil:
		case c.kind == "call":
			llmclient.CallDeltas(ctx)(llmclient.CallDelta{Tool: "a", Text: piece})
		case c.kind == "calls":
			llmclient.CallDeltas(ctx)(llmclient.CallDelta{Index: i, Tool: "a", Text: piece})
			calls = append(calls, messages.ToolCall{ID: fmt.Sprint("call_", i), Name: "a", Arguments: piece})
		case c.kind == "thought":
			onDelta(llmclient.Delta{Kind: llmclient.DeltaThought, Text: piece})
		default:
			onDelta(llmclient.Delta{Text: piece})
		}
	}
	content := append([]messages.AssistantContent{messages.Text{Text: text.String()}}, calls...)
	if c.kind == "thought" {
		content[0] = messages.Thought{Text: text.String()}
	} else if c.kind != "" {
		content = calls
	}
	switch message := (messages.Assistant{Content: content}); {
	case ctx.Err() == nil:
		return &llmclient.Response{Message: message, Finish: llmclient.FinishStop}, nil
	case c.plain:
		return nil, ctx.Err()
	default:
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: message, Err: ctx.Err()}
	}
}

// blocks returns the pieces of a text that repeats a block after a beginning.
func blocks(beginning, block string) func(int) string {
	return func(i int) string {
		if i == 0 {
			return beginning
		}
		return block
	}
}

// bothWays runs a task with Run and with Stream, each with a client of its own, and checks the
// first response.
func bothWays(t *testing.T, c endless, check func(c *endless, first llmclient.Response, res orchestrator.Result, err error), edits ...func(*orchestrator.Config)) {
	t.Helper()
	for _, streamed := range []bool{false, true} {
		own := c
		cfg := orchestrator.Config{
			Client: &own, Strategies: strategy.Set{"main": completetask.New(completetask.Config{})}, Tools: []tools.Tool{echo("a")},
		}
		var first *llmclient.Response
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			if a, ok := answer.(nextstep.APIResponse); ok && first == nil {
				first = a.Response
			}
			return answer, err
		})(&cfg)
		for _, edit := range edits {
			edit(&cfg)
		}
		o, err := orchestrator.New(cfg)
		require.NoError(t, err)
		task := orchestrator.Task{Input: delegation.Input{Goal: "Go on."}}
		var res orchestrator.Result
		if streamed {
			res, err = orchestrator.Collect(o.Stream(t.Context(), task))
		} else {
			res, err = o.Run(t.Context(), task)
		}
		if first == nil {
			first = &llmclient.Response{}
		}
		check(&own, *first, res, err)
	}
}

// told counts the messages of a request that say that a reply repeated itself.
func told(req llmclient.Request) (n int) {
	for _, m := range req.Messages {
		if u, ok := m.(messages.User); ok && strings.HasPrefix(u.Text(), "Your last reply went on repeating the same thing") {
			n++
		}
	}
	return n
}

// TestRepetition cuts off replies that repeat themselves without end, and tells the model so.
func TestRepetition(t *testing.T) {
	recorded, err := os.ReadFile("testdata/repeating-reply.txt")
	require.NoError(t, err)
	beginning, block, ok := strings.Cut(strings.TrimSuffix(string(recorded), "\n"), "====\n") // SmolLM2-135M, asked for a longer line
	require.True(t, ok)
	long := strings.Repeat("a clause, ", 51)
	for name, c := range map[string]struct {
		endless
		most int // bytes that may come
	}{
		"recorded":   {endless{piece: blocks(beginning, block)}, len(beginning) + 5<<10},
		"one letter": {endless{piece: blocks("Well: ", "ha")}, 5 << 10},
		"long block": {endless{piece: blocks("One.", long+"\n")}, 25 * 512},
		"thought":    {endless{piece: blocks("Hm.", " wait,"), kind: "thought"}, 5 << 10},
		"arguments":  {endless{piece: blocks(`{"x":"`, `\n\n`), kind: "call"}, 5 << 10},
		"calls":      {endless{piece: blocks(`{"x":"the first"}`, `{"x":"the same"}`), kind: "calls"}, 11 * 17},
		"plain":      {endless{piece: blocks("", "no no "), plain: true}, 5 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, c.endless, func(c2 *endless, first llmclient.Response, res orchestrator.Result, err error) {
				require.NoError(t, err)
				require.Equal(t, machine.StatusDone, res.Status)
				require.Equal(t, "Done.", res.Output.Text())
				require.Equal(t, llmclient.FinishRepetition, first.Finish)
				came := 0
				for i := range c2.told {
					came += len(c2.piece(i))
				}
				require.LessOrEqual(t, came, c.most)
				require.Positive(t, first.Usage.Estimated, "a reply that was cut off has a price")
				require.GreaterOrEqual(t, first.Usage.Output, int64(min(came, 4<<10)/4))
				require.Len(t, c2.asked, 2)
				require.Zero(t, told(c2.asked[0]))
				require.Equal(t, 1, told(c2.asked[1]))
				if c.kind == "" && !c.plain {
					reply := c2.asked[1].Messages[1].(messages.Assistant).Text()
					require.Less(t, len(reply), len(c2.piece(0))+2*len(c2.piece(1)), "what it repeated stands there once")
					require.True(t, strings.HasPrefix(reply, c2.piece(0)))
				}
			})
		})
	}
}

// TestRepetition_ends cuts off both replies of a model that knows no better; the run fails with
// what there is, and does not tell it again.
func TestRepetition_ends(t *testing.T) {
	var asked []llmclient.Request
	client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		asked = append(asked, *req)
		return (&endless{piece: blocks("It is so: ", "yes ")}).Complete(ctx, req, onDelta)
	})
	bothWays(t, endless{}, func(_ *endless, _ llmclient.Response, res orchestrator.Result, err error) {
		require.ErrorContains(t, err, "completetask: the answer was cut off where it went on repeating itself")
		require.Equal(t, delegation.CodeTruncated, res.Output.Err.Code)
		require.Equal(t, `"repetition"`, string(res.Output.Metadata["finish"]))
		require.True(t, strings.HasPrefix(res.Output.Text(), "It is so: yes"))
		require.Less(t, len(res.Output.Text()), 100)
		require.Len(t, asked, 2)
		require.Equal(t, 1, told(asked[1]))
		asked = nil
	}, func(cfg *orchestrator.Config) { cfg.Client = client })
}

// TestRepetition_wanted lets pass what is no repetition without end, and any if it is turned off.
func TestRepetition_wanted(t *testing.T) {
	numbers := func(i int) string { return fmt.Sprintf("%d. ........ 0x%04x | 0 | 0 |\n", i, i) }
	off := func(cfg *orchestrator.Config) { cfg.Repetition = orchestrator.Repetition{Times: -1, Calls: -1} }
	for name, c := range map[string]struct {
		endless
		edit func(*orchestrator.Config)
	}{
		"numbers":      {endless{piece: numbers}, nil},
		"in thoughts":  {endless{piece: numbers, kind: "thought"}, nil},
		"in arguments": {endless{piece: numbers, kind: "call"}, nil},
		"other calls":  {endless{piece: numbers, kind: "calls"}, nil},
		"turned off":   {endless{piece: blocks("", "ha")}, off},
		"calls, off":   {endless{piece: blocks("", `{"x":1}`), kind: "calls"}, off},
		"asked whole":  {endless{piece: blocks("", "ha"), whole: true}, nil},
		"more times":   {endless{piece: blocks("", "ha")}, func(cfg *orchestrator.Config) { cfg.Repetition.Times = mostPieces }},
		"more bytes":   {endless{piece: blocks("", "ha")}, func(cfg *orchestrator.Config) { cfg.Repetition.Bytes = 2 * mostPieces }},
		"more calls":   {endless{piece: blocks("", `{"x":1}`), kind: "calls"}, func(cfg *orchestrator.Config) { cfg.Repetition = orchestrator.Repetition{Times: -1, Calls: mostPieces} }},
	} {
		t.Run(name, func(t *testing.T) {
			edits := []func(*orchestrator.Config){func(cfg *orchestrator.Config) { cfg.Limits.ToolCalls = 1 }}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			bothWays(t, c.endless, func(c2 *endless, first llmclient.Response, _ orchestrator.Result, _ error) {
				if c.whole && c2.told < mostPieces {
					return // with Stream the client is asked for pieces
				}
				require.Equal(t, mostPieces, c2.told)
				require.NotEqual(t, llmclient.FinishRepetition, first.Finish)
			}, edits...)
		})
	}
}

// TestRepetition_wholeCalls looks at the calls of replies that have ended: a client need not stream
// calls.
func TestRepetition_wholeCalls(t *testing.T) {
	for n, want := range map[int]llmclient.FinishReason{8: llmclient.FinishToolCalls, 9: llmclient.FinishRepetition} {
		reply := scripted.Reply{}
		for i := range n {
			reply.Calls = append(reply.Calls, messages.ToolCall{ID: fmt.Sprint(i), Name: "a", Arguments: "{}"})
		}
		bothWays(t, endless{}, func(_ *endless, first llmclient.Response, res orchestrator.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, want, first.Finish)
			require.Len(t, first.Message.Calls(), n)
			if want == llmclient.FinishRepetition {
				require.Len(t, res.Output.Messages[1].(messages.Assistant).Calls(), 1)
				require.Equal(t, "cut_off", res.Output.Messages[2].(messages.Tool).Reason, "it is not run")
			}
		}, func(cfg *orchestrator.Config) { cfg.Client = scripted.New(reply, scripted.Text("Done.")) })
	}
}

// TestRun_idle notices a silence between pieces in Run, too; the time before the first, which a
// client that asks for the whole reply takes, does not count.
func TestRun_idle(t *testing.T) {
	for _, whole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &endless{piece: func(i int) string { return fmt.Sprint(i) }, silent: time.Minute, whole: whole}
			o, err := orchestrator.New(orchestrator.Config{
				Client: c, Strategies: strategy.Set{"main": completetask.New(completetask.Config{})}, Timeouts: orchestrator.Timeouts{ModelIdle: 20 * time.Second},
			})
			require.NoError(t, err)
			res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Go on."}})
			if whole {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "nothing arrived for 20s")
			require.Equal(t, delegation.Code(llmclient.CodeTimeout), res.Output.Err.Code)
			require.Equal(t, 1, c.told)
		})
	}
}
