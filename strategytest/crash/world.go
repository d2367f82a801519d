package crash

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// plan says how a run is made.
type plan struct {
	cuts   []int  // the boundary at which each process is killed, counted from its beginning, or from the kill before
	kind   string // of the first of them
	apart  bool   // people answer in another process than the one that asked
	denies bool   // a person says that no call that may have had its effect is made again

	freezes bool // processes are frozen, not killed, and woken when the run has ended
	first   bool // the model is asked, and what it says is kept
}

// world is a run of a case with all that it meets: processes, a store, a model, people.
type world struct {
	plan
	c       *Case
	script  *script
	journal *journal

	mu       sync.Mutex
	passed   [][]string // the boundaries, up to each kill and after the last
	kinds    []string   // of the boundaries up to the first kill
	toldAs   map[number]string
	sleepers []*process     // that were frozen
	starts   map[string]int // by place; of calls that are not safe to make again
	again    map[string]int // how often somebody said that such a call shall be made again
	begunAt  string         // the starts at the first kill, as text
	keys     map[string]string
	unknown  bool // somebody was asked about a call that may have had its effect
	waited   bool // somebody was asked anything else
	problems []string
}

func newWorld(c *Case, s *script, p plan) *world {
	return &world{
		plan: p, c: c, script: s, passed: [][]string{nil}, toldAs: map[number]string{},
		starts: map[string]int{}, again: map[string]int{}, keys: map[string]string{},
	}
}

// title says where the run was cut off.
func (w *world) title() string {
	var at []string
	for i := range w.passed[:len(w.passed)-1] {
		list := w.passed[i]
		at = append(at, fmt.Sprintf("at boundary %d, %s", len(list), list[len(list)-1]))
	}
	verb := "cut off "
	if w.freezes {
		verb = "frozen "
	}
	switch {
	case len(at) == 0 && w.apart:
		return "not cut off, with answers in another process"
	case len(at) == 0:
		return "not cut off"
	}
	text := verb + strings.Join(at, "; then ")
	if w.apart {
		text += " (with answers in another process)"
	}
	if w.denies {
		text += " (and what is unknown is not made again)"
	}
	return text
}

// cutsAt notes a boundary, and reports whether the process is killed there.
func (w *world) cutsAt(kind, name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.passed) - 1
	w.passed[last] = append(w.passed[last], name)
	if last == 0 {
		w.kinds = append(w.kinds, kind)
	}
	if last >= len(w.cuts) || len(w.passed[last]) != w.cuts[last] {
		return false
	}
	w.passed = append(w.passed, nil)
	if last == 0 {
		w.begunAt = fmt.Sprint(w.starts)
	}
	return true
}

// complain notes something that breaks a law.
func (w *world) complain(broken law, problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(broken, problem)
}

// note is complain, for who has locked the world.
func (w *world) note(broken law, problem string) {
	if broken != w.c.off && !slices.Contains(w.problems, problem) {
		w.problems = append(w.problems, problem)
	}
}

// begins names an effect that is to begin.
func (w *world) begins(e *machine.Effect) string {
	if e.Kind == machine.EffectModel {
		return "the request " + w.requestOf(e.Frame)
	}
	return "the " + placeOf(e)
}

// requestOf names the request that a frame makes now.
func (w *world) requestOf(frame string) string {
	return requestOf(w.journal.actors[frame], w.journal.requests[frame]+1)
}

// started notes that an effect begins, in a process that may have slept.
func (w *world) started(e machine.Effect, slept bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sense := w.c.senses.effect; sense != nil {
		sense(w, &e)
	}
	name, place := e.Frame+" "+e.ID.String(), placeOf(&e)
	if w.journal.answered[name] && !slept {
		w.note(lawAnswered, fmt.Sprintf("the effect %s of frame %s begins, and its answer is stored", e.ID, e.Frame))
	}
	if e.Safe() {
		return
	}
	if !w.journal.intended[name] {
		w.note(lawStored, fmt.Sprintf("the %s begins, and that it is to begin is not stored", place))
	}
	if w.starts[place]++; w.starts[place] > 1+w.again[place]+w.journal.left[place] {
		w.note(lawOnce, fmt.Sprintf(
			"the %s was begun %d times; somebody said %d times that it shall be made again, and %d times it has returned to be made again",
			place, w.starts[place], w.again[place], w.journal.left[place]))
	}
}

// keyGiven notes the idempotency key that a call was given.
func (w *world) keyGiven(place, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sense := w.c.senses.key; sense != nil {
		key = sense(w, key)
	}
	if before, known := w.keys[place]; known && before != key {
		w.note(lawKey, fmt.Sprintf("the %s was given the key %q, and before the crash %q", place, key, before))
	}
	w.keys[place] = key
}

// told notes an event that was told: one that stands in the journal as it was told, every time.
func (w *world) told(e *machine.Event) {
	n, text := number{e.Record, e.Index}, textOfEvent(e)
	stored, known := w.journal.events[n]
	before, twice := w.toldAs[n]
	_, resumed := e.Detail.(machine.RunResumed)
	switch {
	case !known && resumed: // is stored together with the first record behind it: who only looks at a run stores nothing
		return
	case !known:
		w.complain(lawTold, fmt.Sprintf("event %d of record %d was told, %s, and the record is not stored", n.index, n.record, text))
	case stored != text:
		w.complain(lawTold, fmt.Sprintf("event %d of record %d was told otherwise than the journal has it\n%s", n.index, n.record, twoLines(stored, text)))
	case twice && before != text:
		w.complain(lawTold, fmt.Sprintf("event %d of record %d was told otherwise the second time\n%s", n.index, n.record, twoLines(before, text)))
	}
	w.toldAs[n] = text
}

// answer has a person answer.
func (w *world) answer(wait *machine.Wait) machine.Reply {
	reply := w.c.reply(*wait)
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait.Kind == machine.WaitUnknown {
		if w.unknown = true; w.denies {
			reply = machine.Reply{Reason: "it is not made again"}
		}
		if reply.Approve {
			w.again[placeOfWait(wait)]++
		}
	} else {
		w.waited = true
	}
	reply.WaitID = wait.ID
	return reply
}

// turn returns the numbers of a frame in the first run; nil in the others.
func (w *world) turn(frame string) []string {
	if !w.first {
		return nil
	}
	return strings.Split(frame, ".")
}

// isOther reports whether the run has become another one, since a person has denied that a call be
// made again.
func (w *world) isOther() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.denies && w.unknown
}

// mostProcesses bounds how many processes a run takes.
const mostProcesses = 64

// play makes the run, with as many processes as it takes, and returns how the last one ended.
func (w *world) play(ctx context.Context) ending {
	var replies []machine.Reply
	for range mostProcesses {
		end := w.process(ctx, replies)
		replies = nil
		switch {
		case end.killed:
			time.Sleep(leaseOver)
			continue
		case end.refused != nil:
			w.complain(lawGoesOn, "a process could not go on with the run: "+end.refused.Error())
		case end.result.Status == machine.StatusWaiting:
			if replies = w.replies(end.result.Waits); w.apart && len(end.result.Waits) > 0 {
				continue
			}
			w.complain(lawGoesOn, "the run waits, and everybody has answered: "+fmt.Sprint(end.err))
		}
		return end
	}
	w.complain(lawGoesOn, fmt.Sprintf("the run has not ended after %d processes", mostProcesses))
	return ending{}
}

// replies has people answer what the run waits for, and waits for what nobody has to answer.
func (w *world) replies(waits []machine.Wait) (replies []machine.Reply) {
	for i := range waits {
		if wait := &waits[i]; wait.Kind == machine.WaitTimer {
			time.Sleep(time.Until(wait.Expires))
		} else {
			replies = append(replies, w.answer(wait))
		}
	}
	return replies
}

// leaseOver is how long the others wait until the lease of a killed process is over.
const leaseOver = time.Minute

// process has a new process begin the run, or go on with it.
func (w *world) process(ctx context.Context, replies []machine.Reply) ending {
	cfg := w.c.Config()
	if w.journal == nil {
		w.journal = newJournal(&cfg, &w.c.Task, w.c.reader)
		if w.c.broken != nil {
			w.journal.store = w.c.broken(w.journal.store)
		}
	}
	p := newProcess(w)
	o, err := orchestrator.New(p.configure(cfg))
	if err != nil {
		return ending{refused: err}
	}
	t := &w.c.Task
	events := o.Stream(ctx, *t)
	if w.journal.records > 0 {
		events = o.Resume(ctx, orchestrator.Resumption{Run: t.Run, Namespace: t.Namespace, Factory: t.Factory, Replies: replies})
	}
	end := p.follow(events)
	if p.wasFrozen() {
		w.sleepers = append(w.sleepers, p)
	}
	return end
}

// wake wakes the processes that were frozen: they cannot go on with the run, which has ended.
func (w *world) wake() {
	for _, p := range w.sleepers {
		ended, records := w.journal.machine.Done(), w.journal.records
		end := p.wake()
		if !ended { // nobody has taken the run over
			continue
		}
		if w.journal.records != records {
			w.complain(lawFrozen, fmt.Sprintf("a process that was frozen has stored %d records behind the end of the run", w.journal.records-records))
		}
		if s := end.result.Status; end.refused == nil && s != machine.StatusTakenOver && s != w.journal.machine.Status() {
			w.complain(lawFrozen, fmt.Sprintf("a process that was frozen says that the run has ended as %q: %v", s, end.err))
		}
	}
}

// check says what of the run is not as it should be. What a person has denied makes it another one.
func (w *world) check(ctx context.Context, end *ending, want *expected) []string {
	if end.refused != nil || w.journal == nil || len(w.problems) > 0 {
		return w.problems
	}
	key := checkpoint.Key{Namespace: w.c.Task.Namespace, Run: w.c.Task.Run}
	if problem := w.journal.gapless(ctx, key); problem != "" {
		w.complain(lawJournal, problem)
	}
	for _, what := range w.journal.drifts {
		w.complain(lawRequests, "the run has drifted: "+what)
	}
	if w.journal.machine.Done() {
		w.checkEnd(end, want)
		if want != nil {
			w.checkKept(ctx, key, want.kept)
		}
	} else {
		w.complain(lawGoesOn, fmt.Sprintf("a process said that the run had ended as %s, and its journal goes on", end.result.Status))
	}
	if w.c.Check != nil && !w.unknown {
		if err := w.c.Check(); err != nil {
			w.complain(lawCheck, "Check: "+err.Error())
		}
	}
	return w.problems
}

// checkEnd holds how the run ended, as its last process and its journal have it, against the run
// that was not cut off; nil for that run itself.
func (w *world) checkEnd(end *ending, want *expected) {
	m := w.journal.machine
	got, stored := textOf(end.result.Output), textOf(m.Output())
	if status := m.Status(); end.result.Status != status {
		w.complain(lawTold, fmt.Sprintf("a process said that the run had ended as %s, and its journal as %s", end.result.Status, status))
	} else if got != stored {
		w.complain(lawTold, "the output is not the one that the journal gives\n"+twoLines(stored, got))
	}
	switch {
	case want == nil:
	case w.isOther():
		if err := m.Output().Messages.Validate(); err != nil {
			w.complain(lawEnd, "the conversation at the end is not valid: "+err.Error())
		}
		if difference := want.happened.departs(&w.journal.happened); difference != "" {
			w.complain(lawEnd, "something else happened before a call became unknown: "+difference)
		}
	case m.Status() != want.status:
		w.complain(lawEnd, fmt.Sprintf("the run ended as %s, and should have as %s: %v", m.Status(), want.status, end.err))
	case stored != want.output:
		w.complain(lawEnd, "the output is another one\n"+twoLines(want.output, stored))
	default:
		if difference := want.happened.differs(&w.journal.happened); difference != "" {
			w.complain(lawEnd, "something else happened: "+difference)
		}
	}
}
