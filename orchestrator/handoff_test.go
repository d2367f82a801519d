package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// triage looks, and hands over to the strategy "books".
func triage(history completetask.HandoffHistory) completetask.Config {
	return completetask.Config{System: "Find out what they want.", Handoffs: []completetask.Handoff{{Strategy: "books", History: history}}}
}

// handsOver is an Orchestrator whose first strategy hands over. Its model answers each request by
// what the request says, and so the same in every process.
func handsOver(t *testing.T, client llmclient.Client, first, books completetask.Config, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	look := tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, func(_ context.Context, args string) (string, error) { return "it is " + args, nil })
	return solver(t, client, append([]func(*orchestrator.Config){with(look), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"triage": completetask.New(first), "books": completetask.New(books)}
	}}, edit...)...)
}

// clerk answers: it looks, hands over with a message, looks again, and is done.
func clerk(message string) llmclient.Client {
	return llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		looked, offered := 0, false
		for _, m := range req.Messages {
			if out, ok := m.(messages.Tool); ok && out.ToolName == "look" {
				looked++
			}
		}
		for _, d := range req.Tools {
			offered = offered || d.Name == "transfer_to_books"
		}
		call := func(id, name, arguments string) (*llmclient.Response, error) {
			return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
				messages.ToolCall{ID: id, Name: name, Arguments: arguments},
			}}, Finish: llmclient.FinishToolCalls}, nil
		}
		switch {
		case offered && looked == 0:
			return call("c1", "look", "{}")
		case offered:
			return call("c2", "transfer_to_books", fmt.Sprintf(`{"message":%q}`, message))
		case lastRole(req.Messages) != messages.RoleTool || looked == 1 && req.Messages.Last().(messages.Tool).ToolName != "look":
			return call("c3", "look", `{"at":"the books"}`)
		default:
			return &llmclient.Response{Message: messages.AssistantText("It is " + lastUser(req.Messages)), Finish: llmclient.FinishStop}, nil
		}
	})
}

func lastRole(h messages.History) messages.Role { return h.Last().Role() }

// handed stores the run r, in which somebody says something before the handoff and after it.
func handed(t *testing.T, history completetask.HandoffHistory) *checkpoint.Memory {
	t.Helper()
	store := new(checkpoint.Memory)
	var o *orchestrator.Orchestrator
	requests := 0
	model := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		if requests++; requests == 2 || requests == 4 {
			if err := o.Note(ctx, keyOfRun, fmt.Sprint("note ", requests)); err != nil {
				return nil, err
			}
		}
		return clerk("of last year").Complete(ctx, req, onDelta)
	})
	o = handsOver(t, model, triage(history), completetask.Config{System: "You keep the books."}, stored(store))
	res, err := o.Run(t.Context(), orchestrator.Task{Run: "r", Strategy: "triage", Input: delegation.Input{Goal: "Sum up."}})
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
	require.Equal(t, 1, res.Output.Counts.Handoffs)
	require.Len(t, notesOf(t, store, keyOfRun), 2)
	return store
}

// A run that has handed off compares as equal with the strategies that made it; another prompt of
// the successor is a difference in words in its first request, and another strategy there one in
// shape.
func TestDiff_handoff(t *testing.T) {
	for _, history := range []completetask.HandoffHistory{completetask.HistoryAll, completetask.HistoryGoal, completetask.HistoryLast} {
		t.Run(string(history), func(t *testing.T) {
			store := handed(t, history)
			records := recordsIn(t, store, "r")
			diff := func(first, books completetask.Config, edit ...func(*orchestrator.Config)) *runs.Difference {
				d, err := runs.Diff(t.Context(), handsOver(t, scripted.New(), first, books, append(edit, stored(store))...), keyOfRun)
				require.NoError(t, err)
				return d
			}
			books := completetask.Config{System: "You keep the books."}
			require.Nil(t, diff(triage(history), books))

			d := diff(triage(history), completetask.Config{System: "You burn the books."})
			require.True(t, d.Worded)
			require.Equal(t, "0", d.Frame)
			require.Contains(t, fmt.Sprint(d.Effect.Step.(nextstep.GetChatCompletion).Request.Messages[0]), "You burn the books.")
			first := placeOf(t, records[:d.Record], func(a machine.Answered) bool { return a.Kind == machine.EffectModel })
			require.Equal(t, d.Record, first, "the first answer that the successor was given")

			without := triage(history)
			without.Handoffs = nil
			d = diff(without, books)
			require.True(t, d.Worded, "its first request offers no such tool; later it asks once more where the other took over")
			require.Equal(t, 2, d.Record)

			d = diff(triage(history), books, func(c *orchestrator.Config) {
				c.Strategies["sub"] = c.Strategies["books"]
				c.Strategies["books"] = func() strategy.Strategy { return &scene{Start: delegates} }
			})
			require.False(t, d.Worded)
			require.Equal(t, "0.1", d.Now.Frame)
		})
	}
}

// A run that has handed off replays strictly, event by event. If its successor would ask for
// something else, that is said.
func TestReplay_handoff(t *testing.T) {
	store := handed(t, completetask.HistoryAll)
	strict := func(c *orchestrator.Config) { c.Strict = true }
	replay := func(books completetask.Config) (told []string, err error) {
		o := handsOver(t, scripted.New(), triage(completetask.HistoryAll), books, stored(store), strict)
		for e, problem := range o.Replay(t.Context(), keyOfRun) {
			switch d := e.Detail.(type) {
			case machine.FrameLeft:
				told = append(told, fmt.Sprint("left ", d.Strategy, " ", d.Handoff))
			case machine.FrameEntered:
				told = append(told, fmt.Sprint("entered ", d.Strategy, " ", d.After))
			case machine.Noting:
				told = append(told, fmt.Sprint(e.Kind, " ", d.Note))
			}
			err = errors.Join(err, problem)
		}
		return told, err
	}
	told, err := replay(completetask.Config{System: "You keep the books."})
	require.NoError(t, err)
	require.Equal(t, []string{
		"entered triage ", "noted 1", "note_heard 1", "left triage books", "entered books triage", "noted 2", "note_heard 2", "left books ",
	}, told)

	_, err = replay(completetask.Config{System: "You burn the books."})
	var other *machine.ReplayError
	require.ErrorAs(t, err, &other)
	require.Equal(t, "0", other.Now.Frame)
}

// A fork at each record of a run that has handed off goes on to the same end, with the notes and
// the handoffs that it has taken over. An edited answer leads to no handoff, and another input to
// the same one.
func TestFork_handoff(t *testing.T) {
	store := handed(t, completetask.HistoryGoal)
	records := recordsIn(t, store, "r")
	o := handsOver(t, clerk("of last year"), triage(completetask.HistoryGoal), completetask.Config{System: "You keep the books."}, stored(store))
	at := placeOf(t, records, func(n machine.Noted) bool { return n.Text == "note 2" })
	for i := 1; i <= len(records); i++ {
		run := fmt.Sprint("f", i)
		_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: keyOfRun, At: i, Run: run})
		require.NoError(t, err, "record %d", i)
		res := goOn(t, o, run)
		require.Equal(t, machine.StatusDone, res.Status)
		require.Equal(t, 1, res.Output.Counts.Handoffs)
		if i >= at {
			require.Contains(t, fmt.Sprint(res.Output.Messages), "note 2", "record %d", i)
		}
		for _, err := range o.Replay(t.Context(), checkpoint.Key{Run: run}) {
			require.NoError(t, err)
		}
	}

	handing := placeOf(t, records, func(a machine.Answered) bool {
		r, ok := a.Answer.(nextstep.APIResponse)
		return ok && len(r.Response.Message.Calls()) > 0 && r.Response.Message.Calls()[0].Name == "transfer_to_books"
	})
	said := nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("I do it myself."), Finish: llmclient.FinishStop}}
	_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: keyOfRun, At: handing, Run: "alone", Answer: said})
	require.NoError(t, err)
	stubborn := handsOver(t, scripted.New(scripted.Text("It is done.")), triage(completetask.HistoryGoal), completetask.Config{}, stored(store))
	res := goOn(t, stubborn, "alone") // it is asked once more, for it has heard a note
	require.Zero(t, res.Output.Counts.Handoffs)
	require.Equal(t, "It is done.", res.Output.Text())
	_, err = runs.Fork(t.Context(), o, runs.ForkConfig{From: keyOfRun, Run: "again", Input: &delegation.Input{Goal: "Sum it up."}})
	require.NoError(t, err)
	res = goOn(t, o, "again")
	require.Contains(t, res.Output.Text(), "Sum it up.\n\nof last year")
}

// What is redacted in the message of a handoff is not handed over, and a run that goes on in another
// process after the handoff is the one that was stored.
func TestRedact_handoff(t *testing.T) {
	for _, history := range []completetask.HandoffHistory{completetask.HistoryAll, completetask.HistoryGoal} {
		t.Run(string(history), func(t *testing.T) {
			store := new(checkpoint.Memory)
			var o *orchestrator.Orchestrator
			requests := 0
			model := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
				if requests++; requests == 2 {
					if err := o.Note(ctx, keyOfRun, "mine is "+card); err != nil {
						return nil, err
					}
				}
				if strings.Contains(fmt.Sprint(req.Messages), card) {
					return nil, errors.New("the model has seen the card")
				}
				return clerk("charge "+card).Complete(ctx, req, onDelta)
			})
			o = handsOver(t, model, triage(history), completetask.Config{System: "You keep the books."}, stored(store), redacting(withoutCards))
			events, err := collect(t, o, orchestrator.Task{Run: "r", Strategy: "triage", Input: delegation.Input{Goal: "Charge " + card}})
			require.NoError(t, err)
			require.NotContains(t, seen(t, events), card)
			require.NotContains(t, whole(t, store), card)
			require.Contains(t, whole(t, store), "charge [card]")
			require.Equal(t, machine.StatusDone, finished(t, events).Status)

			at := placeOf(t, recordsIn(t, store, "r"), func(a machine.Answered) bool { return a.Kind == machine.EffectTool })
			_, err = runs.Fork(t.Context(), o, runs.ForkConfig{From: keyOfRun, At: at, Run: "f"})
			require.NoError(t, err)
			require.Contains(t, goOn(t, o, "f").Output.Text(), "[card]")
		})
	}
}
