package strategytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// Ways makes every run of the scripts below dir, which are those of [Stories], in every way in
// which a run can be made, and holds them all to the same end: status, output and error, times
// aside.
//
//   - Run, and Stream;
//   - with a journal: broken off at each event, and resumed from the journal by another Orchestrator;
//   - with a journal: resumed from each beginning of it, and of those of its agents, as after a crash.
//
// It is not broken off while tools run, agents aside: a call that is cut off may have had its
// effect, and is not made again. A run that is stopped is stopped in the same place when it is
// resumed. One that is stopped after a step while agents work is resumed only once it has ended,
// because a run that is resumed has no Task to say so; and so is one that is cut off when agents
// were stopped already and the run itself was not.
//
// A strategy that decides by anything but what it is given, or that does not survive its own
// answers in their JSON form, ends differently.
func Ways(t *testing.T, dir string, set strategy.Set) {
	t.Helper()
	tell(t, dir, set, func(t *testing.T, r *storyRun) {
		t.Helper()
		m := newModel(r.script)
		plain := newProcess(t, r, m, false)
		res, err := plain.run(nil)
		m.again = true
		w := ways{storyRun: r, t: t, want: end(t, res, err, false), resumed: end(t, res, err, true)}
		w.first, w.second = newProcess(t, r, m, true), newProcess(t, r, m, true)
		w.same("Stream", false, plain.stream(nil))
		w.crash()
		w.breakOff()
	})
}

// ways compares the ends of one run. It is begun in one process and resumed in another.
type ways struct {
	*storyRun
	t             *testing.T
	first, second *process
	want          string
	resumed       string // the same with what a run that was resumed cannot know left open
	records       int    // in the journal of the run, once it has ended
	among         bool   // it is stopped in the step of an agent, or in one that runs agents
}

// crash resumes the run from each beginning of what is stored, the whole of it among them.
func (w *ways) crash() {
	whole := new(store)
	_, _ = w.first.run(whole)
	w.records, w.among = len(whole.journal(w.t, storyID)), whole.among(w.first.stops.key)
	for n := range whole.log {
		begun := new(store)
		for _, a := range whole.log[:n+1] {
			require.NoError(w.t, begun.Append(w.t.Context(), a.run, a.records...))
		}
		w.resume("resumed after a crash", begun)
	}
}

// breakOff breaks the run off at each event.
func (w *ways) breakOff() {
	for at := 1; ; at++ {
		begun, event := new(store), 0
		kind := orchestrator.EventKind("")
		for e, err := range w.first.stream(begun) {
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
		w.resume("broken off at "+string(kind)+" and resumed", begun)
	}
}

// resume goes on with a run in another process, if it then has to end as it would have.
func (w *ways) resume(way string, begun *store) {
	w.t.Helper()
	ended := len(begun.journal(w.t, storyID)) == w.records
	if !ended && w.among && (!w.stop.now || begun.stopped(w.t)) {
		return
	}
	w.same(way, true, w.second.resume(begun))
}

// same holds a way to the end that the run has.
func (w *ways) same(way string, resumed bool, events iter.Seq2[orchestrator.Event, error]) {
	w.t.Helper()
	res, err := orchestrator.Fold(events)
	res.Run = w.task.Run // one that cannot begin has none
	want := w.want
	if resumed {
		want = w.resumed
	}
	require.Equal(w.t, want, end(w.t, res, err, resumed), "%s: the run of %q", way, w.task.Strategy)
}

// end is how a run ended, as text: all but times, and if it is resumed all but whether calls that a
// stop cut off had begun.
func end(t *testing.T, res orchestrator.Result, failed error, resumed bool) string {
	t.Helper()
	text, err := json.Marshal(res)
	require.NoError(t, err)
	var all any
	require.NoError(t, json.Unmarshal(text, &all))
	drop(all, resumed)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(all))
	if _, lost := errors.AsType[*orchestrator.UnansweredError](failed); failed != nil && !lost { // only for want of a store
		b.WriteString(failed.Error())
	}
	return b.String()
}

// drop leaves times out of a JSON value, and of results of calls that were cut off how far they
// came.
func drop(v any, cut bool) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "elapsed")
		if reason := v["reason"]; cut && (reason == "not_started" || reason == messages.ReasonInterrupted) {
			delete(v, "reason")
			delete(v, "status")
			delete(v, "output")
		}
		for _, inner := range v {
			drop(inner, cut)
		}
	case []any:
		for _, inner := range v {
			drop(inner, cut)
		}
	}
}
