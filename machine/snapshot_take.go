package machine

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Snapshot returns the whole state of a run that waits for people and for nothing else: its Status
// is [StatusWaiting]. It changes nothing, and the result is read-only. The error, a
// [*SnapshotError], says that the run does not wait, or names a strategy that is no
// [strategy.Snapshotter] or cannot write down its memory.
func (m *Machine) Snapshot() (Snapshot, error) {
	if m.Status() != StatusWaiting || m.endingFrames > 0 {
		return Snapshot{}, &SnapshotError{Run: m.run, Problem: "the run does not wait for people alone"}
	}
	s := Snapshot{Format: snapshotFormat, Started: m.started, Records: m.records, Seq: m.seq, Now: m.now.UTC(), Active: m.active, Notes: m.noteSnapshots(), LastNote: m.lastNote}
	for _, f := range m.live() {
		taken, err := m.snapshotOf(f)
		if err != nil {
			return Snapshot{}, err
		}
		s.Frames = append(s.Frames, taken)
	}
	return s, nil
}

// snapshotError returns an error about a frame.
func (m *Machine) snapshotError(f *frame, problem string, err error) *SnapshotError {
	return &SnapshotError{Run: m.run, Frame: f.name, Strategy: f.strategy, Problem: problem, Err: err}
}

// snapshotOf returns the state of a frame.
func (m *Machine) snapshotOf(f *frame) (FrameSnapshot, error) {
	s := FrameSnapshot{
		Name: f.name, Strategy: f.strategy, Seq: f.seq, Input: f.input, Request: f.request, Unseen: f.unseen,
		Tools: m.toolNames(f), After: f.after, Limits: f.limits.limits(), Began: f.began, Children: f.children, Heard: f.heard, Told: f.told,
		Used: usageSnapshot{Counts: f.used.Counts, Tokens: f.used.tokens, Cost: f.used.cost, Unpriced: f.used.unpriced, Elapsed: f.used.elapsed},
	}
	if err := m.remember(f, &s); err != nil {
		return s, err
	}
	for _, d := range f.offered {
		s.Offered = append(s.Offered, d.Name)
	}
	for i := range f.answers {
		s.Answers = append(s.Answers, f.answers[i].snapshot())
	}
	if f.call != nil || f.up == nil {
		s.Branch = &branchSnapshot{Place: f.place, Untrusted: f.branch.untrusted, Source: f.branch.source}
		if f.call != nil {
			s.Branch.Call = f.call.id
		}
	}
	if f.parked == onBatch {
		s.Took = f.batch.elapsed
	}
	for e := range f.effects() {
		taken, err := e.snapshot()
		if err != nil {
			return s, m.snapshotError(f, "its effect "+e.id.String(), err)
		}
		if f.parked == onEffect {
			s.Effect = &taken
		} else {
			s.Calls = append(s.Calls, taken)
		}
	}
	return s, nil
}

// remember fills in what the strategy of a frame remembers.
func (m *Machine) remember(f *frame, s *FrameSnapshot) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = m.snapshotError(f, "its memory cannot be written down", m.panicked(f, "the strategy "+f.strategy+" in Snapshot", v))
		}
	}()
	memory, ok := f.st.(strategy.Snapshotter)
	if !ok {
		return m.snapshotError(f, "it is no strategy.Snapshotter: its memory cannot be written down", nil)
	}
	if t, ok := f.st.(strategy.Tabler); ok {
		s.Position = new(t.FSM().Position())
		s.Fingerprint = t.FSM().Table().Fingerprint()
	}
	if s.Memory, err = memory.Snapshot(); err != nil {
		return m.snapshotError(f, "its memory cannot be written down", err)
	}
	if !json.Valid(s.Memory) {
		return m.snapshotError(f, "its memory is not JSON", nil)
	}
	return nil
}

// toolNames returns the names of the tools that a frame may use; nil if they are those of the frame
// above it, or of the run.
func (m *Machine) toolNames(f *frame) []string {
	above := m.started.Tools
	if f.up != nil {
		above = f.up.allowed
	}
	if sameTools(f.allowed, above) {
		return nil
	}
	names := []string{}
	for i := range f.allowed {
		names = append(names, f.allowed[i].Name)
	}
	return names
}

func sameTools(a, b []tools.Definition) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (a *frameAnswer) snapshot() answerSnapshot {
	s := answerSnapshot{Results: a.results}
	if a.reply != nil {
		s.Reply = &a.reply.Message
	}
	if !a.partial.Empty() {
		s.Partial = &a.partial
	}
	return s
}

// answer is the reverse of [frameAnswer.snapshot].
func (s *answerSnapshot) answer() frameAnswer {
	a := frameAnswer{results: s.Results}
	if s.Reply != nil {
		a.reply = &llmclient.Response{Message: *s.Reply}
	}
	if s.Partial != nil {
		a.partial = *s.Partial
	}
	return a
}

// snapshot returns the state of an effect that is not in progress.
func (e *effect) snapshot() (s effectSnapshot, err error) {
	s = effectSnapshot{
		State: effectStateAtRest(e.state), Kind: e.kind, Agent: e.agent != nil, Digest: e.digest, InTurn: e.inTurn,
		Intended: e.intended, Approved: e.approved, Started: e.started, Begun: e.begun, Unsure: e.unsure, Reserved: e.reserved, Kept: e.kept,
	}
	if e.kind == EffectTool {
		s.Call = e.call
		b := &e.frame.batch
		if e.state == ended {
			s.Result = &b.results[e.id.Index-1]
		}
		if b.made != nil && (e.edited || isEdited(&e.call, &b.made[e.id.Index-1])) {
			s.Made = &b.made[e.id.Index-1]
		}
	} else if s.Step, err = nextstep.Marshal(e.step); err != nil {
		return s, err
	}
	if e.performed() || e.pending {
		return s, errors.New("it is in progress")
	}
	for i := range e.waits {
		w := &e.waits[i]
		s.Waits = append(s.Waits, WaitSnapshot{Wait: w.Wait, Closed: w.closed, Reply: w.reply, Err: w.err})
	}
	if e.state == nested {
		s.Several, s.Tainted = e.branches.several, e.branches.tainted
	}
	if e.branches != nil && (e.state == nested || e.branches.inherited()) {
		for _, r := range e.branches.results {
			s.Results = append(s.Results, r.snapshot())
		}
	}
	return s, nil
}

// inherited reports whether a strategy waits for the outputs of the branches.
func (b *branches) inherited() bool {
	return slices.ContainsFunc(b.results, func(r branchResult) bool { return r.ended != nil })
}

func (r *branchResult) snapshot() resultSnapshot {
	s := resultSnapshot{Text: r.text, Failed: r.failed}
	if r.ended != nil {
		s.Output, s.NoChild = &r.ended.Output, r.ended.NoChild
	}
	return s
}

// result is the reverse of [branchResult.snapshot], for a branch of a call.
func (s *resultSnapshot) result(callID string) branchResult {
	r := branchResult{text: s.Text, failed: s.Failed}
	if s.Output != nil {
		r.ended = &strategy.BranchOutput{CallID: callID, NoChild: s.NoChild, Output: *s.Output}
	}
	return r
}

// effectStateAtRest returns the state of an effect as a snapshot has it.
func effectStateAtRest(s effectState) string {
	if s == ended {
		return ""
	}
	return effectStates[s]
}

// isEdited reports whether a call was made in another way than it was requested.
func isEdited(call, made *messages.ToolCall) bool {
	return made.Name != call.Name || made.Arguments != call.Arguments
}

// live returns the live frames, in the order of the tree.
func (m *Machine) live() []*frame {
	parked := m.frames()
	live := make([]*frame, 0, len(parked)+3)
	var seen map[*frame]bool // nil for one stack of frames, in which none is seen twice
	if len(parked) > 1 {
		seen = map[*frame]bool{}
	}
	for _, f := range parked {
		for ; f != nil && !seen[f]; f = f.up {
			if seen != nil {
				seen[f] = true
			}
			live = append(live, f)
		}
	}
	slices.SortFunc(live, func(a, b *frame) int { return byPlace(a.name, b.name) })
	return live
}
