package machine_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// engine drives a Machine on one goroutine, as every engine does: apply, store, tell, start. It
// holds the laws of a Machine after each record.
type engine struct {
	t       tester
	cfg     *machine.Config
	m       *machine.Machine
	now     time.Time
	records []machine.Record // all that were applied
	seen    []outbox         // what came out of them
	open    []machine.Effect // released and not answered, in the order of their release; people among them
	asking  []machine.EffectID
	gone    map[string]bool // frames that have left
	cut     []machine.EffectID
	known   map[machine.EffectID]bool // all that were released, by whatever process
	asked   map[machine.EffectID]bool
	most    int                  // effects that were performed at the same time, at most
	made    map[string]int       // how often each effect was released, by its id; people aside
	after   func(machine.Record) // called after each record; may be nil
}

// outbox is what a Machine handed out at once, after so many records.
type outbox struct {
	records   int
	events    []machine.Event
	effects   []machine.Effect
	withdrawn []machine.EffectID
	status    machine.Status
}

// began is the time of a run's first record.
var began = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// drive begins a run.
func drive(t tester, cfg *machine.Config, s machine.Started) *engine {
	t.Helper()
	e := idle(t, cfg)
	e.begin(s)
	return e
}

// idle returns an engine without a run.
func idle(t tester, cfg *machine.Config) *engine {
	e := &engine{t: t, cfg: cfg, m: machine.New(cfg), now: began}
	e.gone, e.known, e.made = map[string]bool{}, map[machine.EffectID]bool{}, map[string]int{}
	return e
}

// begin begins the run.
func (e *engine) begin(s machine.Started) {
	e.t.Helper()
	s.At = e.now
	if s.Run == "" {
		s.Run = "r"
	}
	e.apply(e.cfg.Start(s))
}

// tick is the time of the next record.
func (e *engine) tick() time.Time {
	e.now = e.now.Add(time.Second)
	return e.now
}

// apply applies a record, and does what is due then.
func (e *engine) apply(r machine.Record) {
	e.t.Helper()
	e.one(r)
	e.goOn()
}

// goOn does what is due after a record.
func (e *engine) goOn() {
	e.t.Helper()
	for {
		intents := e.m.Ready().Intents
		if len(intents) == 0 {
			break
		}
		i := intents[0].(machine.Intended)
		i.At = e.tick()
		e.one(i)
	}
	e.flush()
}

// one applies one record.
func (e *engine) one(r machine.Record) {
	e.t.Helper()
	require.NoError(e.t, e.m.Apply(r), "%#v", r)
	e.applied(r)
	require.Equal(e.t, len(e.records), e.m.Records())
}

// applied notes a record that was applied.
func (e *engine) applied(r machine.Record) {
	e.records = append(e.records, r)
	if e.after != nil {
		e.after(r)
	}
}

// flush tells, cuts off and starts.
func (e *engine) flush() {
	e.t.Helper()
	out := take(e.m)
	e.seen = append(e.seen, out)
	for _, ev := range out.events {
		if left, ok := ev.Detail.(machine.FrameLeft); ok && left.Handoff == "" {
			e.gone[ev.Frame] = true
		}
	}
	for i, x := range out.effects {
		for _, y := range out.effects[:i] {
			if x.ID == y.ID {
				require.Fail(e.t, "released twice at once", "%s", x.ID)
			}
		}
	}
	for _, id := range out.withdrawn {
		if !e.known[id] {
			require.Fail(e.t, "withdrawn before it was released", "%s", id)
		}
		e.cut = append(e.cut, id)
		if id.Wait > 0 {
			e.drop(id)
		}
	}
	for _, x := range out.effects {
		e.asking = slices.DeleteFunc(e.asking, func(id machine.EffectID) bool { return id == x.ID })
		e.drop(x.ID)
		e.open = append(e.open, x)
		e.known[x.ID] = true
		if x.Kind != machine.EffectPerson {
			e.made[x.ID.String()]++
		}
	}
	e.holds()
}

// take empties the outbox of a Machine.
func take(m *machine.Machine) outbox {
	rd := m.Ready()
	out := outbox{
		records: m.Records(), events: slices.Concat(rd.Events), effects: slices.Concat(rd.Effects),
		withdrawn: slices.Concat(rd.Withdrawn), status: m.Status(),
	}
	m.Advance()
	return out
}

// holds checks the laws that hold between any two records.
func (e *engine) holds() {
	e.t.Helper()
	var running, open []machine.EffectID
	kept := 0 // those that had asked somebody when their frame began to end: they go on without a place
	for _, x := range e.open {
		if slices.Contains(e.asking, x.ID) {
			continue
		}
		open = append(open, x.ID)
		if x.Kind != machine.EffectPerson {
			running = append(running, x.ID)
			if e.asked[x.ID] {
				kept++
			}
		}
	}
	e.most = max(e.most, len(running))
	require.LessOrEqual(e.t, len(running)-kept, e.m.Started().Parallel, "places")
	var known []machine.EffectID
	for _, x := range e.m.Open() {
		if !slices.Contains(e.asking, x.ID) {
			known = append(known, x.ID)
		}
		for f := x.Frame; f != ""; f = f[:max(0, strings.LastIndexByte(f, '.'))] {
			if e.gone[f] {
				require.Fail(e.t, "a frame has left above an open effect", "frame %s, effect %s of %s", f, x.ID, x.Frame)
			}
		}
	}
	if !sameEffects(open, known) {
		require.ElementsMatch(e.t, open, known, "the effects that are open")
	}
	if !e.m.Done() {
		require.Positive(e.t, len(known)+len(e.asking), "a run that goes on waits for the outside")
	}
}

// sameEffects reports whether two lists have the same effects, in any order.
func sameEffects(a, b []machine.EffectID) bool {
	order := func(x, y machine.EffectID) int {
		return cmp.Or(x.Seq-y.Seq, x.Index-y.Index, x.Wait-y.Wait)
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// drop forgets an effect that is not open any more.
func (e *engine) drop(id machine.EffectID) {
	same := func(x machine.Effect) bool { return x.ID == id }
	e.open = slices.DeleteFunc(e.open, same)
}

// effect returns the open effect of that id.
func (e *engine) effect(id string) machine.Effect {
	e.t.Helper()
	for _, x := range e.open {
		if x.ID.String() == id {
			return x
		}
	}
	require.FailNow(e.t, "there is no such effect", "%s; open are %v", id, e.ids())
	return machine.Effect{}
}

// ids returns the ids of the open effects.
func (e *engine) ids() []string {
	ids := []string{}
	for _, x := range e.open {
		ids = append(ids, x.ID.String())
	}
	return ids
}

// answer answers an open effect.
func (e *engine) answer(id string, a nextstep.Answer) {
	e.t.Helper()
	x := e.effect(id)
	e.ended(x.ID)
	e.apply(x.Answered(a, e.tick(), 0))
}

// ended notes that an effect is not performed any more.
func (e *engine) ended(id machine.EffectID) {
	e.drop(id)
	e.asking = slices.DeleteFunc(e.asking, func(a machine.EffectID) bool { return a == id })
}

// notBegun says of an effect that it was released and never begun.
func (e *engine) notBegun(id string) {
	e.t.Helper()
	x := e.effect(id)
	e.ended(x.ID)
	r := x.Answered(nil, e.tick(), 0)
	r.NotBegun = true
	e.apply(r)
}

// suspend has an effect return for such waits.
func (e *engine) suspend(id string, waits ...machine.Wait) {
	e.t.Helper()
	x := e.effect(id)
	e.ended(x.ID)
	e.apply(machine.Suspended{At: e.tick(), Effect: x.ID, Waits: waits, State: []byte(`{"was":1}`)})
}

// ask has an effect that goes on wait for somebody.
func (e *engine) ask(id string, w machine.Wait) {
	e.t.Helper()
	x := e.effect(id)
	e.asks(x.ID)
	e.apply(machine.Asked{At: e.tick(), Effect: x.ID, Wait: w})
}

// asks notes that an effect waits for somebody.
func (e *engine) asks(id machine.EffectID) {
	e.asking = append(e.asking, id)
	if e.asked == nil {
		e.asked = map[machine.EffectID]bool{}
	}
	e.asked[id] = true
}

// reply answers what a person was asked as the effect of that id.
func (e *engine) reply(id string, r machine.Reply) {
	e.t.Helper()
	x := e.effect(id)
	e.drop(x.ID)
	r.WaitID = x.Wait.ID
	e.apply(machine.Replied{At: e.tick(), Reply: r})
}

// stop stops the run, or a frame.
func (e *engine) stop(s machine.Stopped) {
	e.t.Helper()
	s.At = e.tick()
	if s.Reason == "" {
		s.Reason = "enough"
	}
	e.apply(s)
}

// crash throws the Machine away, and folds all but the last so many records into a new one. Nobody
// performs anything then: resume goes on.
func (e *engine) crash(lost int) {
	e.t.Helper()
	e.records = slices.Clone(e.records[:len(e.records)-lost])
	e.m = fold(e.t, e.cfg, e.records)
	for len(e.seen) > 0 && e.seen[len(e.seen)-1].records > len(e.records) {
		e.seen = e.seen[:len(e.seen)-1]
	}
	e.open, e.asking, e.gone = nil, nil, map[string]bool{}
}

// resume goes on after a crash.
func (e *engine) resume(r machine.Resumed) {
	e.t.Helper()
	r.At = e.tick()
	e.apply(r)
}

// fold applies records to a new Machine.
func fold(t tester, cfg *machine.Config, records []machine.Record) *machine.Machine {
	t.Helper()
	m := machine.New(cfg)
	for _, r := range records {
		require.NoError(t, m.Apply(r), "%#v", r)
		m.Advance()
	}
	return m
}

// events returns the details of all events of a kind.
func (e *engine) events(kind machine.EventKind) []machine.Event {
	var all []machine.Event
	for _, out := range e.seen {
		for _, ev := range out.events {
			if ev.Kind == kind {
				all = append(all, ev)
			}
		}
	}
	return all
}

// results returns the results of calls as they were told, by the text of the effect's id.
func (e *engine) finished() []string {
	var all []string
	for _, ev := range e.events(machine.EventToolFinished) {
		o := ev.Detail.(machine.ToolFinished).Output
		text := ev.Frame + " " + o.CallID + " " + string(o.Status)
		if o.Reason != "" {
			text += " " + o.Reason
		}
		all = append(all, text)
	}
	return all
}

// replays holds that the records of the run give the same once more.
func (e *engine) replays(through func(machine.Record) machine.Record) {
	e.t.Helper()
	m, i := machine.New(e.cfg), 0
	for n, r := range e.records {
		require.NoError(e.t, m.Apply(through(r)), "%#v", r)
		if i < len(e.seen) && e.seen[i].records == n+1 {
			require.Equal(e.t, e.seen[i], take(m), "after %d records, the last a %#v", n+1, r)
			i++
		}
	}
	require.Equal(e.t, len(e.seen), i)
	require.Equal(e.t, e.m.Status(), m.Status())
	require.Equal(e.t, e.m.Output(), m.Output())
}
