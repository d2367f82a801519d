package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// bureau is another service: it remembers its tasks by their keys, and asks before it ends one.
type bureau struct {
	keys  []string          // of each call
	tasks map[string]string // ids by key
	seen  []tools.Resumption
}

func (b *bureau) task(ctx context.Context) string {
	key := tools.IdempotencyKey(ctx)
	b.keys = append(b.keys, key)
	if b.tasks == nil {
		b.tasks = map[string]string{}
	}
	if b.tasks[key] == "" {
		b.tasks[key] = fmt.Sprint("task", len(b.tasks)+1)
	}
	return b.tasks[key]
}

// delegating is an Orchestrator with one strategy, which delegates to the remote.
func delegating(t *testing.T, store checkpoint.Store, far orchestrator.Remote, edits ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	return staged(t, only(func() *scene {
		return &scene{
			Start: func(in delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far", Input: in} },
			Child: func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
		}
	}), append(edits, stored(store), func(c *orchestrator.Config) { c.Remote = map[string]orchestrator.Remote{"far": far} })...)
}

func answering(text string) (delegation.Output, error) {
	return delegation.Output{Result: &text, Counts: delegation.Counts{Steps: 1}}, nil
}

// A remote that has suspended goes on in another process with its state and the answers, whichever
// way it said so: the task is made once.
func TestRemote_suspended(t *testing.T) {
	state, questions := json.RawMessage(`{"task":"task1"}`), []string{"Which size?", "Which colour?"}
	ways := map[string]func(context.Context) error{
		"tools.Suspend": func(ctx context.Context) error {
			return tools.Suspend(ctx, state, tools.Question{Text: questions[0]}, tools.Question{Text: questions[1]})
		},
		"a SuspendedError": func(context.Context) error {
			return &orchestrator.SuspendedError{State: state, Waits: []machine.Wait{{Kind: "question", Text: questions[0]}, {Kind: "pick", Text: questions[1]}}}
		},
		"a wrapped SuspendedError": func(context.Context) error {
			return fmt.Errorf("far: %w", &orchestrator.SuspendedError{State: state, Waits: []machine.Wait{{Text: questions[0]}, {Text: questions[1]}}})
		},
	}
	for name, suspend := range ways {
		for wrapped, edits := range map[string][]func(*orchestrator.Config){"": nil, " behind a middleware": {handles(passing)}} {
			t.Run(name+wrapped, func(t *testing.T) {
				var b bureau
				far := func(ctx context.Context, _ nextstep.Delegate) (delegation.Output, error) {
					id := b.task(ctx)
					r, ok := tools.Resumed(ctx)
					if !ok {
						return delegation.Output{}, suspend(ctx)
					}
					b.seen = append(b.seen, r)
					return answering(id + " " + r.Answers[0].Text + " " + r.Answers[1].Text)
				}
				store := new(checkpoint.Memory)
				res := ran(t, delegating(t, store, far, edits...), task("go"))
				require.Equal(t, machine.StatusWaiting, res.Status)
				require.Len(t, res.Waits, 2)
				again := delegating(t, store, far, edits...)
				res = goOn(t, again, "r", answersTo(res, "large", "red")...)
				require.Equal(t, "task1 large red", res.Output.Text())
				require.Len(t, b.seen, 1)
				require.JSONEq(t, string(state), string(b.seen[0].State))
				require.Len(t, b.keys, 2)
				require.NotEmpty(t, b.keys[0])
				require.Equal(t, b.keys[0], b.keys[1])
			})
		}
	}
}

// A remote may ask as a tool does: it is called again from its beginning, and has not suspended.
// What a middleware has suspended is not the remote's.
func TestRemote_asks(t *testing.T) {
	asks := func(ctx context.Context, _ nextstep.Delegate) (delegation.Output, error) {
		if _, ok := tools.Resumed(ctx); ok {
			return delegation.Output{}, errors.New("resumed")
		}
		text, err := tools.Ask(ctx, tools.Question{Text: "Size?"})
		if err != nil {
			return delegation.Output{}, fmt.Errorf("asking: %w", err)
		}
		return answering(text)
	}
	guards := handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.State == nil {
			return nil, &orchestrator.SuspendedError{State: []byte(`"mine"`), Waits: []machine.Wait{{Kind: "may", Text: "May it?"}}}
		}
		return next(ctx, e)
	})
	for name, c := range map[string]struct {
		far   orchestrator.Remote
		edits []func(*orchestrator.Config)
	}{
		"itself":     {asks, nil},
		"in process": {asks, []func(*orchestrator.Config){replying(func(machine.Wait) (machine.Reply, error) { return machine.Reply{Text: "large"}, nil })}},
		"middleware": {func(ctx context.Context, _ nextstep.Delegate) (delegation.Output, error) {
			if _, ok := tools.Resumed(ctx); ok {
				return delegation.Output{}, errors.New("resumed")
			}
			return answering("large")
		}, []func(*orchestrator.Config){guards}},
	} {
		t.Run(name, func(t *testing.T) {
			o := delegating(t, new(checkpoint.Memory), c.far, c.edits...)
			res := ran(t, o, task("go"))
			if res.Status == machine.StatusWaiting {
				res = goOn(t, o, "r", answersTo(res, "large")...)
			}
			require.Equal(t, "large", res.Output.Text())
		})
	}
}

// The intent of a remote is stored before it is called. If the process dies before the answer, the
// remote is called again with the same key, and nobody is asked. Other calls have other keys.
func TestRemote_key(t *testing.T) {
	store, left := new(checkpoint.Memory), new(checkpoint.Memory)
	var b bureau
	works := func(ctx context.Context, _ nextstep.Delegate) (delegation.Output, error) {
		if len(b.keys) == 0 { // a process that dies now leaves this
			list := recordsIn(t, store, "r")
			intent, ok := list[len(list)-1].(machine.Intended)
			require.True(t, ok, "the last record is a %T", list[len(list)-1])
			require.Equal(t, machine.EffectRemote, intent.Kind)
			require.NotEmpty(t, intent.Digest)
			copyRun(t, store, left, func(machine.Record) bool { return true })
		}
		return answering(b.task(ctx))
	}
	res := ran(t, delegating(t, store, works), task("go"))
	require.Equal(t, "task1", res.Output.Text())

	o := delegating(t, left, works)
	require.Equal(t, "task1", goOn(t, o, "r").Output.Text())
	require.Len(t, b.keys, 2)
	require.NotEmpty(t, b.keys[0])
	require.Equal(t, b.keys[0], b.keys[1])

	other := task("go")
	other.Run = "other"
	res = ran(t, o, other)
	require.Equal(t, "task2", res.Output.Text())
}

// copyRun copies the records of the run r that are to be kept to another store, as a process leaves
// them that dies.
func copyRun(t *testing.T, from, to checkpoint.Store, keep func(machine.Record) bool) {
	t.Helper()
	var records []checkpoint.Record
	for _, rec := range recordsIn(t, from, "r") {
		if keep(rec) {
			data, err := machine.AppendRecord(nil, rec)
			require.NoError(t, err)
			records = append(records, checkpoint.Record{Seq: len(records) + 1, Type: machine.TypeOf(rec), Data: data})
		}
	}
	header := headOf(t, from, "r").Header
	require.NoError(t, to.Append(t.Context(), checkpoint.Batch{Key: checkpoint.Key{Run: "r"}, Writer: "dead", Epoch: 1, Records: records, Header: &header}))
}

// The journal of a run that an earlier release began has no intents of remotes, and the state of a
// remote as the remote gave it. It is read as it was, and goes on with the state and the answers.
func TestRemote_ofAnEarlierRelease(t *testing.T) {
	const journal = `{"v":2,"type":"started","at":"2026-03-04T05:06:07Z","run":"r","strategy":"main","input":{"goal":"go"},"limits":{},"parallel":4}
{"v":2,"type":"suspended","at":"2026-03-04T05:06:08Z","effect":"1","waits":[WAIT],"state":"task1"}`
	wait := machine.Wait{Run: "r", Frame: "0", Seq: 1, Kind: "question", Text: "Size?"}.Identified(machine.EffectID{Seq: 1})
	data, err := json.Marshal(wait)
	require.NoError(t, err)
	store := new(checkpoint.Memory)
	var records []checkpoint.Record
	for line := range strings.Lines(strings.Replace(journal, "WAIT", string(data), 1)) {
		records = append(records, checkpoint.Record{Seq: len(records) + 1, Data: []byte(line)})
	}
	require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
		Key: checkpoint.Key{Run: "r"}, Writer: "dead", Epoch: 1, Records: records,
		Header: &checkpoint.Header{Status: checkpoint.StatusWaiting, Strategy: "main", Format: machine.RecordVersion},
	}))
	o := delegating(t, store, func(ctx context.Context, _ nextstep.Delegate) (delegation.Output, error) {
		r, ok := tools.Resumed(ctx)
		if !ok {
			return delegation.Output{}, errors.New("from scratch")
		}
		return answering(string(r.State) + " " + r.Answers[0].Text)
	})
	res := goOn(t, o, "r", machine.Reply{WaitID: wait.ID, Text: "large"})
	require.Equal(t, `"task1" large`, res.Output.Text())
}
