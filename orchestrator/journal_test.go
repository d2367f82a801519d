package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
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
	"github.com/segue-go/segue/tools"
)

// recordsOf counts the records of a run.
func recordsOf(t *testing.T, store checkpoint.Store, run string) (n int) {
	t.Helper()
	for _, err := range store.Read(t.Context(), checkpoint.Key{Run: run}, 1) {
		require.NoError(t, err)
		n++
	}
	return n
}

// Who looks at a run that waits changes nothing: its journal does not grow, and it waits for the
// same.
func TestJournal_lookingCostsNothing(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"), question("A?", "2"))), stored(store),
		with(counted("pay", new(atomic.Int32)), tools.AskUser()), approving(orchestrator.ApprovalConfig{}))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Len(t, res.Waits, 2)
	before := recordsOf(t, store, "r")
	for range 100 {
		again, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
		require.NoError(t, err)
		require.Equal(t, machine.StatusWaiting, again.Status)
		require.Equal(t, res.Waits, again.Waits)
	}
	require.Equal(t, before, recordsOf(t, store, "r"))
}

// A run that is resumed while somebody works on it does not pay twice: whoever resumes it is told
// of a call that may have had its effect, and whichever of the two stores first has the run.
func TestJournal_resumeOfALiveRun(t *testing.T) {
	store := new(checkpoint.Memory)
	var paid atomic.Int32
	in, out := make(chan struct{}), make(chan struct{})
	build := func() *orchestrator.Orchestrator {
		pay := raw("pay", func(context.Context, string) (string, error) {
			paid.Add(1)
			close(in)
			<-out
			return "paid", nil
		})
		return batchOf(t, callsTo("pay"), []tools.Tool{pay}, stored(store))
	}
	type end struct {
		res orchestrator.Result
		err error
	}
	first := make(chan end)
	go func() {
		res, err := build().Run(context.Background(), task("go"))
		first <- end{res, err}
	}()
	<-in
	second, err := orchestrator.Collect(build().Resume(t.Context(), orchestrator.Resumption{Run: "r", TakeOver: true}))
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, second.Status)
	require.Equal(t, machine.WaitUnknown, second.Waits[0].Kind)
	close(out)
	live := <-first
	require.EqualValues(t, 1, paid.Load())
	require.ErrorIs(t, live.err, checkpoint.ErrConflict, "the run is another's now")
	require.ErrorIs(t, live.err, orchestrator.ErrTakenOver)
	require.Equal(t, machine.StatusTakenOver, live.res.Status)
	require.Equal(t, delegation.CodeTakenOver, live.res.Output.Err.Code)

	reply := machine.Reply{WaitID: second.Waits[0].ID, Text: "it was paid"}
	second, err = orchestrator.Collect(build().Resume(t.Context(), resuming("r", reply)))
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, second.Status)
	require.EqualValues(t, 1, paid.Load())
}

// A store that fails stops the run at that place, and loses nothing that it has: whoever resumes
// the run asks no model again whose answer is stored, and pays again only if a person says so.
func TestJournal_storeFails(t *testing.T) {
	full := errors.New("the disk is full")
	ended := false
	for from := 1; !ended; from++ {
		t.Run(fmt.Sprintf("record %d", from), func(t *testing.T) {
			var looked, paid, asked atomic.Int32
			list := []tools.Tool{counted("look", &looked, tools.Definition{Name: "look", ReadOnly: true}), counted("pay", &paid)}
			build := func(store checkpoint.Store) *orchestrator.Orchestrator {
				return solver(t, always(func(req *llmclient.Request) scripted.Reply {
					asked.Add(1)
					switch len(req.Messages) {
					case 1:
						return scripted.Calls(callsTo("look")...)
					case 3:
						return scripted.Calls(callsTo("pay")...)
					default:
						return scripted.Text("done")
					}
				}), stored(store), with(list...))
			}
			disk := &failing{from: from, err: full}
			res, err := build(disk).Run(t.Context(), task("go"))
			if ended = err == nil; ended {
				return
			}
			require.ErrorIs(t, err, full)
			if from == 1 {
				require.Equal(t, machine.StatusFailed, res.Status)
				require.Zero(t, asked.Load(), "nothing was begun")
				return
			}
			require.Equal(t, machine.StatusInterrupted, res.Status)
			require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
			before := paid.Load()
			res, err = orchestrator.Collect(build(&disk.Memory).Resume(t.Context(), resuming("r")))
			require.NoError(t, err)
			if res.Status == machine.StatusWaiting {
				require.EqualValues(t, 1, before)
				require.EqualValues(t, 1, paid.Load(), "it is not paid again without a person's word")
				require.Equal(t, machine.WaitUnknown, res.Waits[0].Kind)
				res, err = orchestrator.Collect(build(&disk.Memory).Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Text: "it was paid"})))
				require.NoError(t, err)
			}
			require.Equal(t, "done", res.Output.Text())
			require.EqualValues(t, 1, paid.Load())
			require.LessOrEqual(t, asked.Load(), int32(4), "only what was not stored is asked again")
			require.LessOrEqual(t, looked.Load(), int32(2))
		})
	}
}

// A parent is told of a child's failure as the journal holds it, without the live cause, so that it
// decides alike when it is resumed. Who called Run gets the cause.
func TestJournal_liveCauses(t *testing.T) {
	limited := &llmclient.Error{Code: llmclient.CodeRateLimited, Message: "slow down"}
	for _, broken := range []bool{false, true} {
		store := new(checkpoint.Memory)
		var saw []error
		var first atomic.Bool
		build := func() *orchestrator.Orchestrator {
			return staged(t, map[string]func() *scene{
				"main": func() *scene {
					return &scene{
						Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
						Child: func(out delegation.Output) nextstep.NextStep {
							saw = append(saw, out.Err.Unwrap())
							require.Equal(t, delegation.Code(llmclient.CodeRateLimited), out.Err.Code)
							if _, live := errors.AsType[*llmclient.Error](out.Err); live {
								return ask("the provider failed")
							}
							return ask("the child failed")
						},
						Reply: func(llmclient.Response) nextstep.NextStep { return nextstep.ReportError{Err: errors.New("it is over")} },
					}
				},
				"child": func() *scene { return &scene{} },
			}, stored(store), func(c *orchestrator.Config) { c.Strict = true }, withClient(func(*llmclient.Request) (*llmclient.Response, error) {
				if first.CompareAndSwap(false, true) {
					return nil, limited
				}
				return said("x").Response, nil
			}))
		}
		for e := range build().Stream(t.Context(), task("go")) {
			if broken && e.Kind == machine.EventStepTaken && e.Frame == "0" && e.Detail.(machine.StepTaken).Kind == nextstep.KindGetChatCompletion {
				break
			}
		}
		res, err := orchestrator.Collect(build().Resume(t.Context(), resuming("r")))
		require.ErrorContains(t, err, "it is over")
		require.Equal(t, machine.StatusFailed, res.Status)
		require.Len(t, saw, 2, "live, and in the replay")
		require.Equal(t, []error{nil, nil}, saw)
	}

	o := staged(t, only(func() *scene { return &scene{} }), stored(new(checkpoint.Memory)),
		withClient(func(*llmclient.Request) (*llmclient.Response, error) { return nil, limited }))
	_, err := o.Run(t.Context(), task("go"))
	live, ok := errors.AsType[*llmclient.Error](err)
	require.True(t, ok)
	require.Same(t, limited, live)
}

// Nothing of a reply reaches a strategy that its journal does not hold.
func TestJournal_rawIsNotShown(t *testing.T) {
	store := new(checkpoint.Memory)
	build := func() *orchestrator.Orchestrator {
		return staged(t, only(func() *scene {
			turn := 0
			return &scene{Reply: func(r llmclient.Response) nextstep.NextStep {
				if turn++; turn == 3 {
					return done("ok")
				}
				return ask("raw: " + string(r.Raw))
			}}
		}), stored(store), func(c *orchestrator.Config) { c.Strict = true }, withClient(func(*llmclient.Request) (*llmclient.Response, error) {
			r := said("x").Response
			r.Raw = json.RawMessage(`{"logprobs":1}`)
			return r, nil
		}))
	}
	taken := 0
	for e := range build().Stream(t.Context(), task("go")) {
		if e.Kind == machine.EventStepTaken {
			if taken++; taken == 2 {
				break
			}
		}
	}
	res, err := orchestrator.Collect(build().Resume(t.Context(), resuming("r")))
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output.Text())
}

// Text that is not UTF-8, wherever it comes from, is the same live as in a replay: a strategy that
// goes by its bytes can be resumed at every step.
func TestJournal_invalidUTF8(t *testing.T) {
	bad := "a\xff\xfeb"
	list := []tools.Tool{
		raw("say", func(context.Context, string) (string, error) { return bad, nil }),
		raw("fail", func(context.Context, string) (string, error) { return "", errors.New(bad) }),
		tools.AskUser(),
	}
	build := func(store checkpoint.Store) *orchestrator.Orchestrator {
		return staged(t, only(func() *scene {
			turn := 0
			seen := ""
			goOn := func(text string) nextstep.NextStep {
				seen += fmt.Sprintf("%q %d;", text, len(text))
				switch turn++; turn {
				case 1:
					return nextstep.Delegate{Strategy: "far", Input: delegation.Input{Goal: seen + text}}
				case 2:
					return ask(seen+text, "say", "fail", tools.AskUserName)
				case 3:
					return nextstep.ExecuteTools{Calls: []messages.ToolCall{
						{ID: "1" + text, Name: "say", Arguments: text}, {ID: "2", Name: "fail", Arguments: text}, {ID: "3", Name: tools.AskUserName, Arguments: `{"question":"` + text + `"}`},
					}}
				case 4:
					return ask(seen)
				default:
					return done(seen)
				}
			}
			return &scene{
				Start: func(in delegation.Input) nextstep.NextStep { return ask(in.Goal) },
				Reply: func(r llmclient.Response) nextstep.NextStep { return goOn(r.Message.Text()) },
				Child: func(o delegation.Output) nextstep.NextStep { return goOn(o.Text()) },
				Results: func(r []messages.ToolOutput) nextstep.NextStep {
					return goOn(r[0].CallID + r[0].Output + r[1].Output + r[2].Output)
				},
			}
		}), stored(store), with(list...), func(c *orchestrator.Config) { c.Strict = true },
			func(c *orchestrator.Config) {
				c.Remote = map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
					return delegation.Output{Result: &bad, Counts: delegation.Counts{Steps: 1}}, nil
				}}
			},
			replying(func(machine.Wait) (machine.Reply, error) { return machine.Reply{Text: bad}, nil }),
			withClient(func(*llmclient.Request) (*llmclient.Response, error) { return said(bad).Response, nil }))
	}
	ta := task("g\xff")
	whole, err := build(nil).Run(t.Context(), ta)
	require.NoError(t, err)
	require.NotContains(t, whole.Output.Text(), "\xff")
	require.Equal(t, 5, strings.Count(whole.Output.Text(), ";"))
	for steps := range 5 {
		store := new(checkpoint.Memory)
		taken := 0
		for e, err := range build(store).Stream(t.Context(), ta) {
			if e.Kind == machine.EventRunFinished {
				require.NoError(t, err)
			}
			if e.Kind == machine.EventStepTaken {
				if taken++; taken > steps {
					break
				}
			}
		}
		res, err := orchestrator.Collect(build(store).Resume(t.Context(), resuming("r")))
		require.NoError(t, err, "after %d steps", steps+1)
		require.Equal(t, whole.Output.Text(), res.Output.Text())
	}
}
