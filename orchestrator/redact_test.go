package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

const card = "4111-1111-1111-1111"

// withoutCards is the plainest redaction there is: of the JSON form.
func withoutCards(rec machine.Record) (machine.Record, error) {
	data, err := machine.AppendRecord(nil, rec)
	if err != nil {
		return nil, err
	}
	return machine.ReadRecord(bytes.ReplaceAll(data, []byte(card), []byte("[card]")))
}

func redacting(redact func(machine.Record) (machine.Record, error)) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Redact = redact }
}

// whole is all that a store holds.
func whole(t *testing.T, store *checkpoint.Memory) string {
	t.Helper()
	page, err := store.List(t.Context(), checkpoint.Query{All: true})
	require.NoError(t, err)
	var all strings.Builder
	for _, h := range page.Heads {
		fmt.Fprintf(&all, "%+v\n", h)
		for r, err := range store.Read(t.Context(), h.Key, 1) {
			require.NoError(t, err)
			fmt.Fprintf(&all, "%s\n", r.Data)
		}
		posted, err := store.Posted(t.Context(), h.Key)
		require.NoError(t, err)
		for _, m := range posted {
			fmt.Fprintf(&all, "%s\n", m.Data)
		}
	}
	return all.String()
}

// seen is all that a consumer sees of a run, times aside.
func seen(t *testing.T, events []machine.Event) string {
	t.Helper()
	var all strings.Builder
	for _, e := range events {
		e.Time = time.Time{}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		all.Write(append(text, '\n'))
	}
	return all.String()
}

// A card number comes in by every way that there is: it stands nowhere, and the run that goes on in
// another process is the one that was stored.
func TestRedact_nothingIsKept(t *testing.T) {
	store := new(checkpoint.Memory)
	var log bytes.Buffer
	asks := tools.NewRaw(tools.Definition{Name: "asks", Timeout: -1}, func(ctx context.Context, args string) (string, error) {
		if strings.Contains(args, card) {
			return "", errors.New("the model has seen the card")
		}
		answer, err := tools.Ask(ctx, tools.Question{Text: "Is " + card + " yours?", Options: []string{card, "no"}})
		if err != nil {
			return "", err
		}
		return card + " " + answer, nil
	})
	build := func() (*orchestrator.Orchestrator, *scripted.Client) {
		client := scripted.New(
			scripted.Calls(scripted.Call("asks", `{"card":"`+card+`"}`, "1")),
			scripted.Text("Your card is "+card+"."),
		)
		return solver(t, client, stored(store), with(asks), redacting(withoutCards), func(c *orchestrator.Config) {
			c.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(&log), &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.LogContent = true
		}), client
	}
	o, client := build()
	ta := task("Charge " + card)
	ta.Metadata, ta.Labels = map[string]string{"m": card}, map[string]string{"l": card}
	ta.Input.Messages = messages.History{messages.UserText("mine is " + card)}
	events := watched(t, o, ta)
	end := events[len(events)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusWaiting, end.Status)
	require.Equal(t, "Is [card] yours?", end.Waits[0].Text)
	sent := client.Requests()

	key := checkpoint.Key{Run: "r"}
	require.NoError(t, o.Answer(t.Context(), key, machine.Reply{WaitID: end.Waits[0].ID, Text: "yes, " + card}))
	require.NoError(t, o.Note(t.Context(), key, "he said "+card))
	require.NotContains(t, whole(t, store), card, "what is posted")

	o, client = build()
	_, err := client.Complete(t.Context(), &sent[0], nil) // the first reply stands in the journal
	require.NoError(t, err)
	rest, err := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
	require.NoError(t, err)
	done := rest[len(rest)-1].Detail.(machine.RunFinished)
	require.Equal(t, machine.StatusDone, done.Status)
	require.Equal(t, "Your card is [card].", done.Output.Text())
	require.Contains(t, whole(t, store), "he said [card]")
	require.Contains(t, seen(t, rest), "[card] yes, [card]", "the question is asked once, and found again")

	requests, err := json.Marshal(append(sent, client.Requests()...))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"store": whole(t, store), "events": seen(t, append(events, rest...)), "requests": string(requests), "log": log.String(),
	} {
		require.NotContains(t, text, card, name)
		require.Contains(t, text, "[card]", name)
	}

	again, err := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
	require.NoError(t, err)
	require.Equal(t, done, again[0].Detail, "live and read are alike")
}

// What is told while it happens is held back, and the reply is told whole, redacted.
func TestRedact_holdsDeltasBack(t *testing.T) {
	tells := tools.NewRaw(tools.Definition{Name: "tells"}, func(ctx context.Context, _ string) (string, error) {
		tools.Progress(ctx, "reading "+card)
		return "ok", nil
	})
	deltas := func(edit ...func(*orchestrator.Config)) (text, progress string) {
		edit = append(edit, with(tells), redacting(withoutCards))
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("tells", "{}", "1")), scripted.Text("Your card is "+card+".")), edit...)
		events := watched(t, o, task("go"))
		for _, e := range events {
			if e.Kind == machine.EventTextDelta {
				text += e.Text
			}
			if e.Kind == machine.EventToolProgress {
				progress += e.Text
			}
		}
		return text, progress
	}
	text, progress := deltas()
	require.Equal(t, "Your card is [card].", text)
	require.Empty(t, progress)
	text, progress = deltas(func(c *orchestrator.Config) { c.TellUnredacted = true })
	require.Equal(t, "Your card is "+card+".", text)
	require.Equal(t, "reading "+card, progress)
}

// breaksAt redacts, except records of one type: those it treats as it is told.
func breaksAt(kind string, breaks func(machine.Record) (machine.Record, error)) func(machine.Record) (machine.Record, error) {
	return func(rec machine.Record) (machine.Record, error) {
		if machine.TypeOf(rec) == kind {
			return breaks(rec)
		}
		return withoutCards(rec)
	}
}

// Whatever goes wrong in Redact, at whatever record, nothing of that record is kept or told, and
// the run is parked.
func TestRedact_failsSafely(t *testing.T) {
	asks := tools.NewRaw(tools.Definition{Name: "asks", Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
		return tools.Ask(ctx, tools.Question{Text: "Is " + card + " yours?"})
	})
	ways := map[string]func(machine.Record) (machine.Record, error){
		"error":   func(machine.Record) (machine.Record, error) { return nil, errors.New("it is " + card) },
		"panic":   func(machine.Record) (machine.Record, error) { panic(card) },
		"nothing": func(machine.Record) (machine.Record, error) { return nil, nil },
		"another": func(machine.Record) (machine.Record, error) { return machine.Noted{At: time.Now(), Text: card}, nil },
	}
	for _, kind := range []string{"intended", "answered", "suspended", "started"} {
		for name, way := range ways {
			for _, streams := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, " ", name, " ", streams), func(t *testing.T) {
					store := new(checkpoint.Memory)
					client := scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1"), scripted.Call("echo", `"`+card+`"`, "2")), scripted.Text(card))
					o := solver(t, client, stored(store), with(asks, echo("echo")), redacting(breaksAt(kind, way)))
					var events []machine.Event
					var err error
					if streams {
						events, err = collect(t, o, task("go "+card))
					} else {
						_, err = o.Run(t.Context(), task("go "+card))
					}
					failed, ok := errors.AsType[*orchestrator.RedactionError](err)
					require.True(t, ok, "%v", err)
					require.Equal(t, kind, failed.Record)
					require.NotContains(t, err.Error(), card)
					require.NotContains(t, whole(t, store), card)
					require.NotContains(t, seen(t, events), card)
					if kind == "started" {
						require.Empty(t, runsIn(t, store))
						return
					}
					head := headOf(t, store, "r")
					require.Equal(t, checkpoint.StatusParked, head.Header.Status)
					require.Contains(t, head.Header.Reason, kind)
					require.Zero(t, head.Lease)

					o = solver(t, scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1")), scripted.Text("ok"), scripted.Text("ok")),
						stored(store), with(asks, echo("echo")), redacting(withoutCards))
					_, err = all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
					require.NoError(t, err, "it goes on once Redact is right")
				})
			}
		}
	}
}

// A question that cannot be redacted is not asked: its call fails. A reply or a note is refused
// where it is posted.
func TestRedact_failsWhereItIsAsked(t *testing.T) {
	store := new(checkpoint.Memory)
	fails := func(machine.Record) (machine.Record, error) { return nil, errors.New(card) }
	ask := tools.NewRaw(tools.Definition{Name: "asks", Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
		return tools.Ask(ctx, tools.Question{Text: "Is " + card + " yours?"})
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1")), scripted.Text("ok")), stored(store), with(ask), redacting(breaksAt("asked", fails)))
	res := ran(t, o, task("go"))
	require.Equal(t, machine.StatusDone, res.Status)
	require.Contains(t, whole(t, store), "Config.Redact failed")

	store = new(checkpoint.Memory)
	o = solver(t, scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1"))), stored(store), with(ask), redacting(breaksAt("replied", fails)))
	res = ran(t, o, task("go"))
	require.Equal(t, machine.StatusWaiting, res.Status)
	reply := machine.Reply{WaitID: res.Waits[0].ID, Text: card}
	err := o.Answer(t.Context(), checkpoint.Key{Run: "r"}, reply)
	_, ok := errors.AsType[*orchestrator.RedactionError](err)
	require.True(t, ok, "%v", err)
	_, err = all(t, o.Resume(t.Context(), resuming("r", reply)))
	_, ok = errors.AsType[*orchestrator.RedactionError](err)
	require.True(t, ok, "%v", err)
	require.NotContains(t, whole(t, store), card)
	require.Equal(t, checkpoint.StatusWaiting, headOf(t, store, "r").Header.Status)
}

// Without a journal the run is interrupted.
func TestRedact_withoutAStore(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text(card)), redacting(breaksAt("answered", func(machine.Record) (machine.Record, error) { panic(card) })))
	res, err := o.Run(t.Context(), task("go"))
	require.Equal(t, machine.StatusInterrupted, res.Status)
	require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
	_, ok := errors.AsType[*machine.PanicError](err)
	require.True(t, ok, "%v", err)
}

// What happened cannot be redacted away.
func TestRedact_refusesOtherChanges(t *testing.T) {
	edits := map[string]func(machine.Record) machine.Record{
		"effect": func(r machine.Record) machine.Record { a := r.(machine.Answered); a.Effect.Index++; return a },
		"frame":  func(r machine.Record) machine.Record { a := r.(machine.Answered); a.Frame = "0.1"; return a },
		"kind":   func(r machine.Record) machine.Record { a := r.(machine.Answered); a.Kind = "tool"; return a },
		"digest": func(r machine.Record) machine.Record { a := r.(machine.Answered); a.Digest = "x"; return a },
		"time":   func(r machine.Record) machine.Record { a := r.(machine.Answered); a.At = a.At.Add(1); return a },
		"cost":   func(r machine.Record) machine.Record { a := r.(machine.Answered); a.Cost++; return a },
		"failure": func(r machine.Record) machine.Record {
			a := r.(machine.Answered)
			a.Answer = nextstep.Failure{}
			return a
		},
	}
	for name, edit := range edits {
		o := solver(t, scripted.New(scripted.Text("hello")), redacting(breaksAt("answered", func(r machine.Record) (machine.Record, error) { return edit(r), nil })))
		_, err := o.Run(t.Context(), task("go"))
		require.ErrorContains(t, errors.Unwrap(asRedaction(t, err)), "changed more than", name)
	}
	for name, edit := range map[string]func(machine.Started) machine.Started{
		"run":       func(s machine.Started) machine.Started { s.Run = "other"; return s },
		"namespace": func(s machine.Started) machine.Started { s.Namespace = "other"; return s },
		"strategy":  func(s machine.Started) machine.Started { s.Strategy = "other"; return s },
		"limits":    func(s machine.Started) machine.Started { s.Limits.Steps++; return s },
	} {
		o := solver(t, scripted.New(scripted.Text("hello")), redacting(breaksAt("started", func(r machine.Record) (machine.Record, error) { return edit(r.(machine.Started)), nil })))
		_, err := o.Run(t.Context(), task("go"))
		require.ErrorContains(t, errors.Unwrap(asRedaction(t, err)), "changed more than", name)
	}
}

func asRedaction(t *testing.T, err error) error {
	t.Helper()
	e, ok := errors.AsType[*orchestrator.RedactionError](err)
	require.True(t, ok, "%v", err)
	return e
}
