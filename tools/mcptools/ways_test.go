package mcptools_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools/mcptools"
)

// noted is a store that notes what was appended.
type noted struct {
	*checkpoint.Memory
	mu  sync.Mutex
	log []checkpoint.Batch
}

func (n *noted) Append(ctx context.Context, b checkpoint.Batch) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.Memory.Append(ctx, b)
	if err == nil && len(b.Records) > 0 {
		kept := checkpoint.Batch{Key: b.Key, Records: slices.Clone(b.Records), Writer: "dead", Epoch: 1}
		for i := range kept.Records {
			kept.Records[i].Data = bytes.Clone(kept.Records[i].Data)
		}
		if b.Header != nil {
			header := *b.Header
			kept.Header = &header
		}
		n.log = append(n.log, kept)
	}
	return err
}

// begun returns a store as a process has left it that died after so many appends, how many requests
// were answered by then, and whether a call has begun that was not answered.
func (n *noted) begun(t *testing.T, appends int) (store *checkpoint.Memory, answered int, open bool) {
	t.Helper()
	store = new(checkpoint.Memory)
	for _, b := range n.log[:appends] {
		require.NoError(t, store.Append(t.Context(), b))
		for _, r := range b.Records {
			rec, err := machine.ReadRecord(r.Data)
			require.NoError(t, err)
			switch rec := rec.(type) {
			case machine.Intended:
				open = true
			case machine.Suspended:
				open = false
			case machine.Answered:
				if rec.Kind == machine.EffectModel {
					answered++
				} else {
					open = false
				}
			}
		}
	}
	return store, answered, open
}

// toEnd answers what a run waits for until it ends, and counts the questions about calls that may
// have had their effect.
func toEnd(t *testing.T, o *orchestrator.Orchestrator, res orchestrator.Result) (end orchestrator.Result, unknown int) {
	t.Helper()
	for res.Status == machine.StatusWaiting {
		reply := machine.Reply{WaitID: res.Waits[0].ID, Text: "Ada"}
		if res.Waits[0].Kind == machine.WaitUnknown {
			unknown++
			reply.Text, reply.Approve = "", true
		}
		res = resumed(t, o, reply)
	}
	return res, unknown
}

// A call of a server's tool comes to the same end by every way: as a run, as a stream, and cut off
// after each append. Where it may have had its effect a person is asked, unless it may be made
// again; and what is answered is not made again. The calls of a server that asks go on where they
// were.
func TestCall_ways(t *testing.T) {
	for _, tool := range []string{"pay", "pay.once", "deploy"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			dir, effects := t.TempDir(), map[string]string{"pay": "paid", "pay.once": "paid", "deploy": "deployed"}[tool]
			server := serveHTTP(t, newServer(dir), false)
			build := func(store checkpoint.Store, answered int) *orchestrator.Orchestrator {
				list := connect(t, mcptools.Config{Name: "test", URL: server.URL, TrustHints: true})
				name := tool
				for _, o := range list.Listing().Offers {
					if o.Name == tool {
						name = o.ToolName
					}
				}
				script := []scripted.Reply{scripted.Calls(scripted.Call(name, map[bool]string{true: "{}", false: `{"amount":7}`}[tool == "deploy"], "1")), scripted.Text("done")}
				o, err := paying(list, store, script[answered:]...)
				require.NoError(t, err)
				return o
			}
			text := func(res orchestrator.Result) string {
				out := res.Output.ToolMetas()[0]
				return fmt.Sprint(res.Status, " ", res.Output.Text(), " ", out.Status, " ", out.Output)
			}
			store := &noted{Memory: new(checkpoint.Memory)}
			o := build(store, 0)
			res, err := o.Run(t.Context(), goTask())
			require.NoError(t, err)
			res, unknown := toEnd(t, o, res)
			require.Zero(t, unknown)
			require.Equal(t, messages.StatusOK, res.Output.ToolMetas()[0].Status)
			want := text(res)
			require.Len(t, lines(t, dir, effects), 1)
			key := lines(t, dir, "keys")

			o = build(new(checkpoint.Memory), 0)
			res, err = orchestrator.Collect(o.Stream(t.Context(), goTask()))
			require.NoError(t, err)
			res, _ = toEnd(t, o, res)
			require.Equal(t, want, text(res))

			made, asked := 0, 0
			for n := 1; n <= len(store.log); n++ {
				before, keys := len(lines(t, dir, effects)), len(lines(t, dir, "keys"))
				left, answered, open := store.begun(t, n)
				o := build(left, answered)
				res, unknown := toEnd(t, o, resumed(t, o))
				require.Equal(t, want, text(res), "cut off after append %d", n)
				require.Equal(t, open && tool != "pay.once", unknown == 1, "cut off after append %d", n)
				made += len(lines(t, dir, effects)) - before
				asked += unknown
				if again := lines(t, dir, "keys")[keys:]; open && len(again) > 0 {
					require.Equal(t, key, again, "a call that is made again has the same key")
				}
			}
			require.Positive(t, made)
			require.Less(t, made, len(store.log), "what is answered is not made again")
			require.Equal(t, tool != "pay.once", asked > 0)
		})
	}
}
