package mcptools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// logged is a store that knows what was appended, batch by batch.
type logged struct {
	*checkpoint.Memory
	mu  sync.Mutex
	log [][]checkpoint.Record
}

func (s *logged) Append(ctx context.Context, b checkpoint.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Memory.Append(ctx, b)
	if err == nil && len(b.Records) > 0 {
		kept := slices.Clone(b.Records)
		for i := range kept {
			kept[i].Data = bytes.Clone(kept[i].Data)
		}
		s.log = append(s.log, kept)
	}
	return err
}

// waysRun is a run with MCP calls, to be made in every way: an unsafe one and one that is read-only
// side by side, one that fails, and one whose server asks a question.
type waysRun struct {
	t    *testing.T
	list []tools.Tool
}

func waysReplies() []scripted.Reply {
	return []scripted.Reply{
		scripted.Calls(scripted.Call("echo", `{"text":"a rose"}`, "c1"), scripted.Call("pay", `{"amount":7}`, "c2")),
		scripted.Calls(scripted.Call("fail", `{"text":"Rome"}`, "c3"), scripted.Call("echo", `{"word":1}`, "c4")),
		scripted.Calls(scripted.Call("deploy", "{}", "c5"), scripted.Call("echo", `{"text":"beside"}`, "c6")),
		scripted.Text("done"),
	}
}

// engine is what a process of its own has. The requests before were answered by others. Somebody
// answers in it, unless nobody is there.
func (w *waysRun) engine(store checkpoint.Store, before int, somebody bool) *orchestrator.Orchestrator {
	w.t.Helper()
	cfg := orchestrator.Config{
		Client: scripted.New(waysReplies()[before:]...), Tools: w.list, Store: store,
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{})},
	}
	if somebody {
		cfg.Reply = func(_ context.Context, wait machine.Wait) (machine.Reply, error) {
			return answerTo(&wait), nil
		}
	}
	o, err := orchestrator.New(cfg)
	require.NoError(w.t, err)
	return o
}

// answerTo approves, has calls made again, and says who deploys.
func answerTo(w *machine.Wait) machine.Reply {
	r := machine.Reply{WaitID: w.ID, Approve: true}
	if w.Kind != machine.WaitApproval && w.Kind != machine.WaitUnknown {
		r = machine.Reply{WaitID: w.ID, Text: "Ada"}
	}
	return r
}

// goOn resumes the run of a store to its end, with a new process for each answer.
func (w *waysRun) goOn(store *logged, somebody bool) orchestrator.Result {
	w.t.Helper()
	var replies []machine.Reply
	for range 20 {
		how := orchestrator.Resumption{Run: "r", Replies: replies, TakeOver: true}
		res, err := orchestrator.Collect(w.engine(store, requestsOf(w.t, store), somebody).Resume(w.t.Context(), how))
		require.NoError(w.t, err)
		if res.Status != machine.StatusWaiting {
			return res
		}
		replies = nil
		for i := range res.Waits {
			replies = append(replies, answerTo(&res.Waits[i]))
		}
	}
	require.Fail(w.t, "the run does not end")
	return orchestrator.Result{}
}

// records reads the journal of the run.
func recordsOf(t *testing.T, s checkpoint.Store) (list []machine.Record) {
	t.Helper()
	for stored, err := range s.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		require.NoError(t, err)
		rec, err := machine.ReadRecord(stored.Data)
		require.NoError(t, err)
		list = append(list, rec)
	}
	return list
}

// requests counts the requests to the model that were answered.
func requestsOf(t *testing.T, s checkpoint.Store) (n int) {
	t.Helper()
	for _, rec := range recordsOf(t, s) {
		if a, ok := rec.(machine.Answered); ok && a.Kind == machine.EffectModel && !a.NotBegun {
			n++
		}
	}
	return n
}

// answers returns the answers of tools that a journal has, call by call, as text.
func answers(t *testing.T, s checkpoint.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, rec := range recordsOf(t, s) {
		a, ok := rec.(machine.Answered)
		if !ok || a.NotBegun || a.Kind != machine.EffectTool {
			continue
		}
		text, err := machine.AppendRecord(nil, a)
		require.NoError(t, err)
		all[a.Effect.String()] = timeless(t, text)
	}
	return all
}

// ended describes how a run ended, as text.
func endOf(t *testing.T, res orchestrator.Result) string {
	t.Helper()
	text, err := json.Marshal(res)
	require.NoError(t, err)
	return timeless(t, text)
}

// timeless is JSON without times, without digests of requests, in which they stand, and without
// what was left of limits.
func timeless(t *testing.T, text []byte) string {
	t.Helper()
	var all any
	require.NoError(t, json.Unmarshal(text, &all))
	var drop func(v any)
	drop = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"at", "elapsed", "left", "limits", "digest"} {
				delete(v, name)
			}
			for _, inner := range v {
				drop(inner)
			}
		case []any:
			for _, inner := range v {
				drop(inner)
			}
		}
	}
	drop(all)
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	return string(text)
}

// A run that calls tools of a server, with sessions or without, comes to the same, with the same
// answers in its journal, however it is made: at once, as a stream, with answers in other
// processes, broken off at each event, and resumed from each prefix of its journal.
func TestSessions_ways(t *testing.T) {
	t.Parallel()
	step := prove.DepthOr(4, 1) // make test spreads the prefixes and events over the transports
	for i, c := range transports() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &waysRun{t: t, list: connect(t, c.config(t, t.TempDir())).Tools()}
			whole := &logged{Memory: new(checkpoint.Memory)}
			res, err := w.engine(whole, 0, true).Run(t.Context(), goTask())
			require.NoError(t, err)
			want, journal := endOf(t, res), answers(t, whole)
			require.Contains(t, want, "deployed by Ada (state-1)")
			same := func(way string, s checkpoint.Store, res orchestrator.Result) {
				t.Helper()
				require.Equal(t, want, endOf(t, res), way)
				require.Equal(t, journal, answers(t, s), way)
			}

			streamed := &logged{Memory: new(checkpoint.Memory)}
			res, err = orchestrator.Collect(w.engine(streamed, 0, true).Stream(t.Context(), goTask()))
			require.NoError(t, err)
			same("Stream", streamed, res)

			somebody := c.protocol != "2026-07-28" // a server with sessions has its questions answered within the call
			if !somebody {
				waits := &logged{Memory: new(checkpoint.Memory)}
				_, err = w.engine(waits, 0, false).Run(t.Context(), goTask())
				require.NoError(t, err)
				same("answered in other processes", waits, w.goOn(waits, false))
			}
			for n := i % step; n < len(whole.log); n += step {
				begun := &logged{Memory: new(checkpoint.Memory)}
				for _, list := range whole.log[:n+1] {
					require.NoError(t, begun.Append(t.Context(), checkpoint.Batch{Key: checkpoint.Key{Run: "r"}, Records: list}))
				}
				same("resumed from a prefix", begun, w.goOn(begun, somebody))
			}
			w.breakOff(1+i%step, step, same, somebody)
		})
	}
}

// breakOff breaks the run off at each event, or each step-th from the first, and goes on with it.
func (w *waysRun) breakOff(first, step int, same func(string, checkpoint.Store, orchestrator.Result), somebody bool) {
	for at := first; ; at += step {
		begun, event, kind := &logged{Memory: new(checkpoint.Memory)}, 0, machine.EventKind("")
		for e, err := range w.engine(begun, 0, somebody).Stream(w.t.Context(), goTask()) {
			if err != nil {
				break
			}
			if event++; event == at {
				kind = e.Kind
				break
			}
		}
		if kind == "" {
			return
		}
		same("broken off at "+string(kind), begun, w.goOn(begun, somebody))
	}
}
