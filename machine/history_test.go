package machine_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/scenetest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// A history that is trimmed in place is read anew: no model is sent an answer whose call was cut
// out.
func TestHistory_trimmedInPlaceIsNoticed(t *testing.T) {
	call := calling("t").Response.Message
	e := begin(t, only(func() *scene {
		return scenetest.Trimmer(func(h messages.History) messages.History { return slices.Delete(h, 1, 3) }, // the call goes, its answer stays
			messages.UserText("go"), messages.AssistantText("a"), call, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1"}})
	}))
	e.answer("1", said("a"))
	require.True(t, e.m.Done())
	var broken *messages.LawError
	require.True(t, errors.As(e.m.Output().Err, &broken))
	require.Equal(t, messages.LawOrphan, broken.Law)
}

// digests returns those of the requests of a run.
func digests(t *testing.T, s func() *scene) (all []string) {
	t.Helper()
	e := begin(t, only(s))
	for !e.m.Done() {
		all = append(all, e.open[0].Digest)
		e.answer(e.ids()[0], said("a"))
	}
	return all
}

// The digest of a step is that of what stands in it, whether the history before was trimmed in
// place or in a copy.
func TestHistory_digestIsOfWhatStandsInTheStep(t *testing.T) {
	of := func(trim func(messages.History) messages.History) []string {
		return digests(t, func() *scene {
			return scenetest.Trimmer(trim, messages.UserText("go"), messages.AssistantText("a"), messages.UserText("on"), messages.AssistantText("b"))
		})
	}
	inPlace := of(func(h messages.History) messages.History { return slices.Delete(h, 1, 3) })
	copied := of(func(h messages.History) messages.History { return slices.Delete(slices.Clone(h), 1, 3) })
	require.Equal(t, copied, inPlace)
	require.Len(t, copied, 2)
	require.NotEqual(t, copied, of(func(h messages.History) messages.History { return slices.Clone(h) }))
}

// The digest of a step names the tools that are offered, also where they are the first of those
// that were offered before.
func TestHistory_digestNamesTheTools(t *testing.T) {
	defs := []tools.Definition{{Name: "a"}, {Name: "b"}}
	of := func(offered ...int) []string {
		return digests(t, func() *scene {
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
		})
	}
	same, fewer, none := of(2, 2), of(2, 1), of(2, 0)
	require.Len(t, same, 2)
	require.NotEqual(t, same[1], fewer[1])
	require.NotEqual(t, same[1], none[1])
	require.NotEqual(t, fewer[1], none[1])
	require.Equal(t, fewer[1], of(1, 1)[1])
}

// A journal whose steps are not asked for in the same words is gone on with, and that is told once
// a frame; where the whole of a step has to be as it was, it is not.
func TestDrift(t *testing.T) {
	words := "go"
	set := only(func() *scene {
		return &scene{
			Start:   func(delegation.Input) nextstep.NextStep { return ask(words, "r") },
			Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			Results: func([]messages.ToolOutput) nextstep.NextStep { return ask(words, "r") },
		}
	})
	e := begin(t, set, offering("r"))
	e.answer("1", calling("r"))
	e.answer("2/1", result("c1", "x"))
	e.answer("3", calling("r"))
	words = "go on"
	replay := func(cfg machine.Config, most int) (told []string, err error) {
		m := machine.New(&cfg)
		for _, r := range e.records[:most] {
			if err := m.Apply(r); err != nil {
				return told, err
			}
			for _, ev := range m.Ready().Events {
				if d, ok := ev.Detail.(machine.Drifted); ok {
					told = append(told, d.What)
				}
			}
			m.Advance()
		}
		return told, nil
	}
	told, err := replay(*e.cfg, len(e.records))
	require.NoError(t, err)
	require.Equal(t, []string{"step 1 is not asked for in the same words"}, told)
	strict := *e.cfg
	strict.Strict = true
	_, err = replay(strict, len(e.records))
	var other *machine.ReplayError
	require.ErrorAs(t, err, &other)
	require.Equal(t, 1, other.Seq)
	require.NotEqual(t, other.Recorded.Digest, other.Now.Digest)
	words = "go"
	_, err = replay(strict, len(e.records))
	require.NoError(t, err)

	tables := *e.cfg
	tables.Fingerprints = map[string]string{"main": "new"}
	told, err = replay(tables, 1)
	require.NoError(t, err)
	require.Empty(t, told, "the run began with those")
	e.records[0] = func() machine.Record {
		s := e.records[0].(machine.Started)
		s.Fingerprints = map[string]string{"main": "old"}
		return s
	}()
	told, err = replay(tables, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"the table of the strategy main is another one"}, told)
}

// What a step declares about its request is told by the step's event, whether it was answered or
// not. It is not a part of the digest: it changes nothing that is sent.
func TestHistory_declaredAnew(t *testing.T) {
	why := "it was cut"
	run := func(anew *string) (e *engine, asked []string) {
		e = begin(t, only(func() *scene {
			turn := 0
			next := func() nextstep.NextStep {
				turn++
				step := ask("go").(nextstep.GetChatCompletion)
				if turn > 1 {
					step.Anew = anew
				}
				return step
			}
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return next() },
				Reply: func(llmclient.Response) nextstep.NextStep { return next() },
			}
		}))
		for i, a := range []nextstep.Answer{said("a"), said("b"), nextstep.Failure{Source: nextstep.SourceModel, Code: "unavailable", Message: "no"}} {
			asked = append(asked, e.open[0].Digest)
			e.answer(strconv.Itoa(i+1), a)
		}
		require.True(t, e.m.Done())
		return e, asked
	}
	e, digests := run(&why)
	var told []*string
	for _, ev := range e.events(machine.EventStepTaken) {
		told = append(told, ev.Detail.(machine.StepTaken).Anew)
	}
	require.Equal(t, []*string{nil, &why, &why}, told)
	_, same := run(nil)
	require.Equal(t, same, digests)
	require.Equal(t, digests[0], digests[1])
}
