package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// migrated applies a Migrated: the run continues from the snapshot. The state that the records
// before it led to is dropped.
func (m *Machine) migrated(rec Record) error {
	r, err := canonical(rec.(Migrated))
	s := &r.Snapshot
	problem := ""
	switch {
	case err != nil:
		problem = err.Error()
	case m.root != nil && m.run != s.Started.Run:
		problem = fmt.Sprintf("its snapshot is of run %.64q", s.Started.Run)
	case m.records > s.Records:
		problem = fmt.Sprintf("its snapshot stands for %d records, and the run has %d", s.Records, m.records)
	}
	if problem != "" {
		return &answerError{run: m.run, problem: problem}
	}
	next := Machine{cfg: m.cfg, tasks: m.tasks[:0], spare: m.spare, changes: m.changes}
	if err := next.restore(s); err != nil {
		return err
	}
	m.empty()
	next.out = m.out
	skipped := s.Records - m.records
	*m = next
	m.begin(r.At)
	m.emitFor(m.root, m.seq, EventMigrated, RunMigrated{From: r.From, Open: m.openFrames(), Skipped: skipped})
	return nil
}

// restorer makes the frames of a snapshot those of a Machine without a run.
type restorer struct {
	m      *Machine
	frames map[string]*frame
	slept  map[*frame]bool // frames that have a child
}

// restore makes the state of a Machine without a run that of a snapshot.
func (m *Machine) restore(s *Snapshot) error {
	m.started, m.run, m.parallel = s.Started, s.Started.Run, s.Started.Parallel
	m.records, m.seq, m.now, m.active = s.Records, s.Seq, s.Now, s.Active
	m.restoreNotes(s)
	r := restorer{m: m, frames: map[string]*frame{}, slept: map[*frame]bool{}}
	for i := range s.Frames {
		fs := &s.Frames[i]
		f, err := r.frame(fs)
		if err != nil {
			return err
		}
		if err := r.effects(f, fs); err != nil {
			return err
		}
	}
	for _, f := range r.frames {
		if problem := r.unfit(f); problem != "" {
			return m.snapshotError(f, problem, nil)
		}
	}
	if m.Status() != StatusWaiting {
		return &SnapshotError{Run: m.run, Problem: "it is of a run that does not wait"}
	}
	return nil
}

// unfit returns the problem of a restored frame's place in the tree; "" if there is none.
func (r *restorer) unfit(f *frame) string {
	if (f.parked == onNothing) != r.slept[f] {
		return "it waits for nothing, or for effects and a child"
	}
	for e := range f.effects() {
		if e.state == nested && e.branches.open == 0 {
			return "its call " + e.id.String() + " has no branch"
		}
	}
	return ""
}

// frame restores a frame, except for its effects.
func (r *restorer) frame(s *FrameSnapshot) (*frame, error) {
	f := new(frame)
	f.name, f.strategy, f.after = s.Name, s.Strategy, s.After
	if problem := r.place(f, s); problem != "" {
		return nil, r.m.snapshotError(f, problem, nil)
	}
	if err := r.m.build(f, s.Strategy); err != nil {
		return nil, r.m.snapshotError(f, "it cannot be made", err)
	}
	if s.Tools != nil {
		f.allowed = narrow(r.m.started.Tools, s.Tools)
	}
	f.seq, f.input, f.request, f.unseen = s.Seq, s.Input, s.Request, s.Unseen
	f.limits, f.began, f.children, f.heard, f.told = amountsOf(s.Limits), s.Began, s.Children, s.Heard, s.Told
	f.used = usage{Counts: s.Used.Counts, tokens: s.Used.Tokens, cost: s.Used.Cost, unpriced: s.Used.Unpriced, elapsed: s.Used.Elapsed}
	for _, name := range s.Offered {
		f.offered = append(f.offered, tools.Definition{Name: name}) // only the names are used
	}
	for i := range s.Answers {
		f.answers = append(f.answers, s.Answers[i].answer())
	}
	if err := r.m.recall(f, s); err != nil {
		return nil, err
	}
	return f, nil
}

// place puts a frame into the tree. It returns what is wrong; "" if nothing is.
func (r *restorer) place(f *frame, s *FrameSnapshot) string {
	above := s.Name[:max(0, strings.LastIndexByte(s.Name, '.'))]
	up := r.frames[above]
	switch {
	case r.frames[s.Name] != nil:
		return "there are two frames of that name"
	case up == nil && (r.m.root != nil || s.Name != "0" || s.Branch == nil):
		return "the frame above it is missing"
	case up == nil:
		r.m.root, f.depth, f.allowed, f.branch = f, 1, r.m.started.Tools, &f.trunk
	default:
		f.up, f.depth, f.allowed, f.branch = up, up.depth+1, up.allowed, up.branch
	}
	r.frames[s.Name] = f
	if b := s.Branch; b != nil {
		if up != nil {
			f.branch = new(branch)
			if f.call = r.m.find(b.Call); f.call == nil || f.call.frame != up || f.call.state != nested || b.Place < 0 || b.Place >= len(f.call.branches.results) {
				return "its branch answers no call of the frame above it"
			}
			f.place = b.Place
			f.call.branches.open++
		}
		f.branch.untrusted, f.branch.source = b.Untrusted, b.Source
	} else if r.slept[up] {
		return "the frame above it has two children"
	} else {
		r.slept[up] = true
	}
	return ""
}

// recall gives the strategy of a frame what it remembers.
func (m *Machine) recall(f *frame, s *FrameSnapshot) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = m.snapshotError(f, "its memory cannot be restored", m.panicked(f, "the strategy "+f.strategy+" in Restore", v))
		}
	}()
	memory, ok := f.st.(strategy.Snapshotter)
	if !ok {
		return m.snapshotError(f, "it is no strategy.Snapshotter: its memory cannot be restored", nil)
	}
	t, tabled := f.st.(strategy.Tabler)
	now := ""
	if tabled {
		now = t.FSM().Table().Fingerprint()
	}
	if now != s.Fingerprint || tabled != (s.Position != nil) {
		err := m.snapshotError(f, fmt.Sprintf("its table has the fingerprint %q, and that of the snapshot is %q: the strategy has changed, and Config.Migrate has not carried this frame over", now, s.Fingerprint), nil)
		err.Recorded, err.Now = s.Fingerprint, now
		return err
	}
	if u, ok := f.st.(strategy.ToolUser); ok {
		u.UseTools(slices.Clip(f.allowed))
	}
	if err := memory.Restore(s.Memory); err != nil {
		return m.snapshotError(f, "its memory cannot be restored", err)
	}
	if tabled {
		if err := t.FSM().SetPosition(*s.Position); err != nil {
			return m.snapshotError(f, "its position does not fit", err)
		}
	}
	f.readState()
	return nil
}

// effects restores what a frame waits for.
func (r *restorer) effects(f *frame, s *FrameSnapshot) error {
	if s.Effect == nil && len(s.Calls) == 0 {
		return nil
	}
	_, taken := r.m.parkedAt(f.seq)
	if s.Effect != nil && len(s.Calls) > 0 || taken || f.seq > r.m.seq {
		return r.m.snapshotError(f, "it waits for two steps, or for the step of another frame", nil)
	}
	if s.Effect != nil {
		r.m.park(f, onEffect)
		f.effect.id = EffectID{Seq: f.seq}
		return r.effect(f, &f.effect, s.Effect)
	}
	b := &f.batch
	b.calls, b.elapsed = make([]effect, len(s.Calls)), s.Took
	r.m.park(f, onBatch)
	for i := range s.Calls {
		b.calls[i].id = EffectID{Seq: f.seq, Index: i + 1}
		if err := r.effect(f, &b.calls[i], &s.Calls[i]); err != nil {
			return err
		}
	}
	b.restore(s.Calls)
	if b.unanswered == 0 {
		return r.m.snapshotError(f, "all of its calls have a result", nil)
	}
	return nil
}

// restore fills in a batch whose effects are restored.
func (b *batch) restore(calls []effectSnapshot) {
	b.next, b.results = len(b.calls), make([]messages.ToolOutput, len(b.calls))
	for i := range calls {
		e, c := &b.calls[i], &calls[i]
		if c.Result != nil {
			b.results[i] = *c.Result
		}
		if c.Made != nil {
			e.edited = !isEdited(&c.Call, c.Made)
			b.keepMade(e, *c.Made)
		}
		switch {
		case e.state == ended:
			continue
		case e.inTurn:
			b.running++
			b.alone = b.alone || e.def.Sequential
		default:
			b.next = min(b.next, i)
		}
		b.unanswered++
	}
}

// effect restores an effect of a frame.
func (r *restorer) effect(f *frame, e *effect, s *effectSnapshot) error {
	refuse := func(problem string, err error) error {
		return r.m.snapshotError(f, "its effect "+e.id.String()+" "+problem, err)
	}
	e.frame, e.kind, e.digest, e.inTurn, e.intended, e.approved = f, s.Kind, s.Digest, s.InTurn, s.Intended, s.Approved
	e.started, e.begun, e.unsure, e.reserved, e.kept = s.Started, s.Begun, s.Unsure, s.Reserved, s.Kept
	switch {
	case s.State == "" && s.Result != nil:
		e.state = ended
	case s.State == effectStates[blocked] && s.Result == nil:
		e.state = blocked
	case s.State == effectStates[waiting] && s.Result == nil:
		e.state = waiting
	case s.State == effectStates[nested] && s.Result == nil && len(s.Results) > 0:
		e.state = nested
	default:
		return refuse(fmt.Sprintf("cannot have the state %.64q", s.State), nil)
	}
	if len(s.Results) > 0 {
		e.branches = &branches{several: s.Several, tainted: s.Tainted}
		for i := range s.Results {
			e.branches.results = append(e.branches.results, s.Results[i].result(s.Call.ID))
		}
	}
	r.m.states[e.state]++
	if f.parked == onBatch {
		e.kind, e.call = EffectTool, s.Call
		r.m.lookUp(e, f, &e.call)
		switch {
		case e.state == ended:
		case e.def == nil:
			return refuse(fmt.Sprintf("calls the tool %.64q, which the strategy may not call any more", e.call.Name), nil)
		case (e.agent != nil) != s.Agent:
			return refuse(fmt.Sprintf("calls %.64q, which is an agent in one version of the program and none in another", e.call.Name), nil)
		}
	} else {
		var err error
		if e.step, err = nextstep.Unmarshal(s.Step); err != nil || (e.step.Kind() == nextstep.KindGetChatCompletion) != (s.Kind == EffectModel) || e.state != waiting {
			return refuse("cannot be read", err)
		}
	}
	return r.waits(e, s, refuse)
}

// waits restores what an effect waits for.
func (r *restorer) waits(e *effect, s *effectSnapshot, refuse func(string, error) error) error {
	for i := range s.Waits {
		w := &s.Waits[i]
		e.waits = append(e.waits, wait{Wait: w.Wait, id: e.nextWait(), closed: w.Closed, reply: w.Reply, err: w.Err})
		if e.asked++; w.Closed {
			continue
		}
		if r.m.waits == nil {
			r.m.waits = map[string]*effect{}
		}
		if r.m.waits[w.Wait.ID] != nil {
			return refuse("has a wait that the snapshot has twice", nil)
		}
		r.m.waits[w.Wait.ID] = e
	}
	if e.isWaiting() != (e.state == waiting) {
		return refuse("must be in the state waiting if it has an open wait, and only then", nil)
	}
	return nil
}
