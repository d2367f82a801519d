package orchestrator_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/scenetest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// A history that is trimmed in place is read anew: no model is sent an answer whose call was cut
// out.
func TestHistory_trimmedInPlaceIsNoticed(t *testing.T) {
	call := calling("t").Response.Message
	model := scripted.New(scripted.Text("a"), scripted.Text("b"))
	o := solver(t, model, func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": func() strategy.Strategy {
			return scenetest.Trimmer(func(h messages.History) messages.History { return slices.Delete(h, 1, 3) }, // the call goes, its answer stays
				messages.UserText("go"), messages.AssistantText("a"), call, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1"}})
		}}
	})
	_, err := o.Run(t.Context(), task("go"))
	var broken *messages.LawError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, messages.LawOrphan, broken.Law)
	require.Len(t, model.Requests(), 1)
}

// The digest of a step is that of what stands in it, whether the history before was trimmed in
// place or in a copy.
func TestHistory_digestIsOfWhatStandsInTheStep(t *testing.T) {
	digests := func(trim func(messages.History) messages.History) (all []string) {
		store := &checkpoint.Memory{}
		o := solver(t, scripted.New(scripted.Text("a"), scripted.Text("b")), stored(store), func(c *orchestrator.Config) {
			c.Strategies = strategy.Set{"solve": func() strategy.Strategy {
				return scenetest.Trimmer(trim, messages.UserText("go"), messages.AssistantText("a"), messages.UserText("on"), messages.AssistantText("b"))
			}}
		})
		_, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err)
		for rec, err := range store.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
			require.NoError(t, err)
			var entry struct{ Digest string }
			require.NoError(t, json.Unmarshal(rec.Data, &entry))
			all = append(all, entry.Digest)
		}
		return all
	}
	inPlace := digests(func(h messages.History) messages.History { return slices.Delete(h, 1, 3) })
	copied := digests(func(h messages.History) messages.History { return slices.Delete(slices.Clone(h), 1, 3) })
	require.Equal(t, copied, inPlace)
	require.Len(t, copied, 3)
	require.NotEqual(t, copied, digests(func(h messages.History) messages.History { return slices.Clone(h) }))
}

// The digest of a step names the tools that are offered, also where they are the first of those
// that were offered before.
func TestHistory_digestNamesTheTools(t *testing.T) {
	digests := func(offered ...int) (all []string) {
		store := &checkpoint.Memory{}
		defs := []tools.Definition{{Name: "a"}, {Name: "b"}}
		o := staged(t, only(func() *scene {
			turn := 0
			next := func() nextstep.NextStep {
				turn++
				return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText("go")}, Tools: defs[:offered[turn-1]]}}
			}
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return next() },
				Reply: func(llmclient.Response) nextstep.NextStep {
					if turn == len(offered) {
						return done("ok")
					}
					return next()
				},
			}
		}), stored(store), with(echo("a"), echo("b")))
		_, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err)
		for rec, err := range store.Read(t.Context(), checkpoint.Key{Run: "r"}, 2) {
			require.NoError(t, err)
			var entry struct{ Digest string }
			require.NoError(t, json.Unmarshal(rec.Data, &entry))
			all = append(all, entry.Digest)
		}
		return all
	}
	same, fewer, none := digests(2, 2), digests(2, 1), digests(2, 0)
	require.Len(t, same, 2)
	require.NotEqual(t, same[1], fewer[1])
	require.NotEqual(t, same[1], none[1])
	require.NotEqual(t, fewer[1], none[1])
	require.Equal(t, fewer[1], digests(1, 1)[1])
}
