package strategytest

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// Ways makes every run of the scripts below dir, which are those of [Stories], in every way in which a run can be made,
// and holds them all to the same end: status, output and error, times aside.
//
//   - Run, and Stream;
//   - with a journal: broken off at each event, and resumed from the journal by another Orchestrator;
//   - with a journal: resumed from each beginning of it, as after a crash.
//
// It is not broken off while tools run: a call that is cut off may have had its effect, and is not made again.
//
// A strategy that decides by anything but what it is given, or that does not survive its own answers in their JSON form,
// ends differently.
func Ways(t *testing.T, dir string, set strategy.Set) {
	t.Helper()
	tell(t, dir, set, func(t *testing.T, r *storyRun) {
		t.Helper()
		plain := newProcess(t, r, false)
		res, err := plain.in(nil).Run(t.Context(), r.task)
		w := ways{storyRun: r, t: t, first: newProcess(t, r, true), second: newProcess(t, r, true), want: end(t, res, err)}
		w.same("Stream", plain.in(nil).Stream(t.Context(), r.task))
		w.breakOff()
		w.crash()
	})
}

// ways compares the ends of one run. It is begun in one process and resumed in another.
type ways struct {
	*storyRun
	t             *testing.T
	first, second *process
	want          string
}

// breakOff breaks the run off at each event.
func (w *ways) breakOff() {
	for at := 1; ; at++ {
		store, event := new(checkpoint.Memory), 0
		kind := orchestrator.EventKind("")
		for e, err := range w.first.in(store).Stream(w.t.Context(), w.task) {
			if err != nil { // the end
				break
			}
			switch e.Kind {
			case orchestrator.EventToolStarted, orchestrator.EventToolProgress, orchestrator.EventToolFinished:
			default:
				event++
			}
			if event == at {
				kind = e.Kind
				break
			}
		}
		if kind == "" { // there are no more, or it cannot even begin
			return
		}
		w.same("broken off at "+string(kind)+" and resumed", w.second.in(store).Resume(w.t.Context(), w.task.Run))
	}
}

// crash resumes the run from each beginning of its journal, the whole of it among them.
func (w *ways) crash() {
	whole := new(checkpoint.Memory)
	_, _ = w.first.in(whole).Run(w.t.Context(), w.task)
	records := journal(w.t, whole)
	for n := range records {
		store := new(checkpoint.Memory)
		require.NoError(w.t, store.Append(w.t.Context(), w.task.Run, records[:n+1]...))
		w.same("resumed after a crash", w.second.in(store).Resume(w.t.Context(), w.task.Run))
	}
}

// same holds a way to the end that the run has.
func (w *ways) same(way string, events iter.Seq2[orchestrator.Event, error]) {
	w.t.Helper()
	res, err := orchestrator.Fold(events)
	res.Run = w.task.Run // one that cannot begin has none
	require.Equal(w.t, w.want, end(w.t, res, err), "%s: the run of %q", way, w.task.Strategy)
}

// end is how a run ended, as text: all but times.
func end(t *testing.T, res orchestrator.Result, failed error) string {
	t.Helper()
	text, err := json.Marshal(res)
	require.NoError(t, err)
	var all any
	require.NoError(t, json.Unmarshal(text, &all))
	dropTimes(all)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(all))
	if failed != nil {
		b.WriteString(failed.Error())
	}
	return b.String()
}

// dropTimes leaves times out of a JSON value.
func dropTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "elapsed")
		for _, inner := range v {
			dropTimes(inner)
		}
	case []any:
		for _, inner := range v {
			dropTimes(inner)
		}
	}
}

// process is an Orchestrator whose store and model change: to make one takes longer than a run.
type process struct {
	*orchestrator.Orchestrator
	*checkpoint.Memory
	t      *testing.T
	script []scripted.Reply
	model  *scripted.Client
}

func newProcess(t *testing.T, r *storyRun, stores bool) *process {
	t.Helper()
	p := &process{t: t, script: r.script}
	cfg := r.config
	cfg.Client = p
	if stores {
		cfg.Store = p
	}
	var err error
	p.Orchestrator, err = orchestrator.New(cfg)
	require.NoError(t, err)
	return p
}

// in gives the process a store. Its model goes on behind what it has said according to the journal there.
func (p *process) in(store *checkpoint.Memory) *process {
	said := 0
	if store != nil {
		for _, rec := range journal(p.t, store) {
			var entry struct{ Type, Kind string }
			require.NoError(p.t, json.Unmarshal(rec.Data, &entry))
			if entry.Type == "answer" && entry.Kind == "get_chat_completion" {
				said++
			}
		}
	}
	p.Memory, p.model = store, scripted.New(p.script[min(said, len(p.script)):]...)
	return p
}

// Complete implements llmclient.Client.
func (p *process) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	return p.model.Complete(ctx, req, onDelta)
}

// journal returns the records of the run in store; none if it has not begun.
func journal(t *testing.T, store *checkpoint.Memory) []checkpoint.Record {
	t.Helper()
	var list []checkpoint.Record
	for _, run := range store.Runs() {
		for rec, err := range store.Read(t.Context(), run, 1) {
			require.NoError(t, err)
			list = append(list, rec)
		}
	}
	return list
}
