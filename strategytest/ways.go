package strategytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// Ways makes every run of the scripts below dir, which are those of [Stories], in every possible
// way, and checks that all of them end with the same status, output and error, times aside:
//
//   - Run, and Stream;
//   - with a journal: broken off at each event, and resumed from the journal by another
//     Orchestrator; of events between which nothing is stored and no effect begins or ends, which
//     leave the same journal, only at the first;
//   - with a journal: replayed from it, with the same events;
//   - with a journal: resumed from each prefix of it, as after a crash;
//   - with a journal: driven by another engine, unless it is stopped or has notes, with the same
//     records if its effects come one after the other.
//
// A run that keeps large results keeps the same ones in all of them, each once. A store of a crash
// has those that were put before the next append.
//
// A call that may have had its effect when its run was cut off is made again, because the test
// answers so. A run that is stopped is stopped in the same place when it is resumed. If it was
// broken off there, with an answer and before the stop was recorded, it is a different run and is
// not compared.
//
// Runs without notes of their own are made with one, too: one run for each state of a table in
// which no note has come before.
//
// With the environment variable SEGUE_WAYS=3, only every third of all these runs, with and without
// a note of their own, is made in all these ways; so for other numbers.
//
// A strategy fails this test if its decisions depend on anything but its arguments, or if it does
// not survive the JSON form of its answers.
func Ways(t *testing.T, dir string, set strategy.Set) {
	t.Helper()
	if instead != nil {
		instead(t, dir, set)
		return
	}
	noted := notedStates{set, map[notedState]bool{}}
	var spared sparing
	playAll(t, dir, set, func(t *testing.T, r *storyRun) {
		t.Helper()
		if spared.next() {
			return
		}
		p := processes{plain: newProcess(t, r, false), first: newProcess(t, r, true), second: newProcess(t, r, true)}
		inAllWays(t, r, &p)
		for _, again := range noted.runs(r, p.plain) {
			if spared.next() {
				continue
			}
			require.NotContains(t, inAllWays(t, again, &p), "", "the note comes")
		}
	})
}

// instead is what Ways does instead. A file sets it that the tests of the module temporal add to
// this package.
var instead func(t *testing.T, dir string, set strategy.Set)

// sparing counts runs.
type sparing int

// next counts a run, and reports whether SEGUE_WAYS leaves it out.
func (s *sparing) next() bool {
	nth, err := strconv.Atoi(os.Getenv("SEGUE_WAYS"))
	*s++
	return err == nil && nth > 0 && int(*s-1)%nth != 0
}

// processes make runs with the same tools and strategies.
type processes struct {
	plain         *process // without a store
	first, second *process // with stores: a run begins in one, and is resumed in the other
}

// inAllWays makes one run in every possible way. It returns where its notes came.
func inAllWays(t *testing.T, r *storyRun, p *processes) noteKeys {
	t.Helper()
	m := newModel(r.script)
	for _, one := range []*process{p.plain, p.first, p.second} {
		one.play(r, m)
	}
	res, err := orchestrator.Collect(p.plain.stream(nil))
	res.Run = r.task.Run // a run that cannot begin has none
	w := ways{storyRun: r, processes: p, t: t, want: end(t, res, err, false), resumed: end(t, res, err, true), tried: map[string]bool{}}
	known, comes := p.plain.stops.found, p.plain.said.found()
	w.known, m.again = &known, true
	for _, one := range []*process{p.plain, p.first, p.second} {
		one.known, one.comes = w.known, comes
	}
	w.comes = comes
	w.same("Stream", false, p.plain.stream(nil))
	w.run(p.plain)
	w.replay()
	w.crash()
	w.breakOff()
	return comes
}

// ways compares the ends of one run. The run begins in one process and is resumed in another.
type ways struct {
	*storyRun
	*processes
	t       *testing.T
	known   *spot // where it is stopped
	comes   noteKeys
	want    string
	resumed string             // the same, without what a resumed run cannot know
	kept    []checkpoint.Value // large results of the whole run
	breaks  []int              // the numbers of the events at which the run is broken off
	tried   map[string]bool    // journals that the run was resumed from, as text
}

// run executes the run without events, unless its agents' events are needed to stop it.
func (w *ways) run(p *process) {
	w.t.Helper()
	if p.known.agent != "" {
		return
	}
	res, err := p.run(nil)
	res.Run = w.task.Run
	require.Equal(w.t, w.want, end(w.t, res, err, false), "Run: the run of %q", w.task.Strategy)
}

// drive has another engine drive the run, one effect after the other, in two processes by turns.
// Its records are those of the loop if no effects were in progress together, and nobody was asked
// in between: an engine asks when an effect has returned.
func (w *ways) drive(loop *store) {
	w.t.Helper()
	if w.stop.where != "" || len(w.notes) > 0 {
		return
	}
	driven, together := new(store), false
	for _, p := range []*process{w.first, w.second} {
		p.begin(driven)
		defer p.stops.cancel(nil)
	}
	w.second.keys = w.first.keys
	s, err := w.first.o.Begin(w.t.Context(), w.first.task)
	for n := 0; err == nil && len(s.Effects) > 0; n++ {
		together = together || len(s.Effects) > 1
		s, err = []*process{w.first, w.second}[n%2].o.Step(w.t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	}
	if s.Result.Run = w.task.Run; err == nil && s.Result.Output.Err != nil {
		err = s.Result.Output.Err
	}
	require.Equal(w.t, w.want, end(w.t, s.Result, err, false), "driven by another engine: the run of %q", w.task.Strategy)
	w.requireKept("driven by another engine", driven)
	if want := loop.text(); !together && !strings.Contains(want, `,"type":"asked",`) {
		require.Equal(w.t, want, driven.text(), "driven by another engine: the run of %q", w.task.Strategy)
	}
}

// crash resumes the run from each prefix of its journal, including the whole journal.
func (w *ways) crash() {
	w.t.Helper()
	whole := new(store)
	w.same("Stream with a store", false, w.first.stream(whole))
	w.breaks = w.first.changing()
	w.keeps(whole)
	w.drive(whole)
	for n := range whole.log {
		begun := new(store)
		whole.begun(w.t, n+1, begun)
		w.resume(fmt.Sprintf("resumed after %d of %d appends", n+1, len(whole.log)), begun)
	}
}

// breakOff breaks the run off at each event, but only once between two changes of what that leaves
// behind.
func (w *ways) breakOff() {
	w.t.Helper()
	for _, at := range w.breaks {
		begun, event := new(store), 0
		kind := machine.EventKind("")
		for e, err := range w.first.stream(begun) {
			if err != nil { // the end
				break
			}
			if event++; event == at {
				kind = e.Kind
				break
			}
		}
		if kind != "" { // otherwise effects came in another order, and it has fewer events
			w.resume(fmt.Sprintf("broken off at event %d, %s, and resumed", at, kind), begun)
		}
	}
}

// resume continues the run in another process. It does not if the run was broken off when it was to
// be stopped, and no record says so. The run is resumed only once from each journal: time is the
// same in all runs, so a run that was broken off between two records has the journal of a crash.
func (w *ways) resume(way string, begun *store) {
	w.t.Helper()
	journal := begun.text()
	if w.tried[journal] {
		return
	}
	w.tried[journal] = true
	if w.known.agent == "" && newKeys(nil).passed(begun.journal(w.t), w.known.key) {
		return
	}
	w.same(way, true, w.second.resume(begun))
	w.requireKept(way, begun)
}

// same checks that a way ends like the run.
func (w *ways) same(way string, resumed bool, events iter.Seq2[machine.Event, error]) {
	w.t.Helper()
	res, err := orchestrator.Collect(events)
	res.Run = w.task.Run // a run that cannot begin has none
	want := w.want
	if resumed {
		want = w.resumed
	}
	require.Equal(w.t, want, end(w.t, res, err, resumed), "%s: the run of %q", way, w.task.Strategy)
}

// end describes how a run ended, as text. It leaves out times and, for a resumed run, whether calls
// that a stop cut off had begun.
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
	if _, lost := errors.AsType[*orchestrator.UnansweredError](failed); failed != nil && !lost { // only if it has no store
		b.WriteString(failed.Error())
	}
	return b.String()
}

// drop removes from a JSON value times, ids that depend on them, and what was left of limits, which
// depends on what branches have used meanwhile. From results of calls that were cut off it removes
// how far they came.
func drop(v any, cut bool) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "elapsed")
		delete(v, "left")
		delete(v, "limits")
		delete(v, "wait_id")                     // depends on when the wait expires
		if _, expires := v["expires"]; expires { // a wait; its id depends on that time
			delete(v, "expires")
			delete(v, "id")
		}
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

// replay replays the run from its journal, in another process, and holds the events to those that
// were told when it was made.
func (w *ways) replay() {
	w.t.Helper()
	whole := new(store)
	var told, again []string
	for e, err := range w.first.stream(whole) {
		require.True(w.t, e.Kind != "" || err != nil)
		if e.Index > 0 { // else no record has it
			told = append(told, w.line(&e))
		}
	}
	if len(told) == 0 { // it cannot begin
		return
	}
	w.second.begin(whole)
	defer w.second.stops.cancel(nil)
	for e, err := range w.second.o.Replay(w.t.Context(), checkpoint.Key{Run: storyID}) {
		require.NotEmpty(w.t, e.Kind, "Replay: the run of %q: %v", w.task.Strategy, err)
		again = append(again, w.line(&e))
	}
	require.Equal(w.t, told, again, "Replay: the run of %q", w.task.Strategy)
}

// line is an event as text. Time is that of a bubble, and so the same.
func (w *ways) line(e *machine.Event) string {
	w.t.Helper()
	text, err := json.Marshal(e)
	require.NoError(w.t, err)
	return string(text)
}
