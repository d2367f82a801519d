package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// snapshotFormat is the format of the JSON form of a [Snapshot] that this package writes and reads.
const snapshotFormat = 1

// Snapshot is the whole state of a waiting run: all that its records have come to, so that the run
// can go on without them. [Machine.Snapshot] makes one; a [Migrated] gives it to a Machine.
//
// A Snapshot that [ReadSnapshot] returned may be changed, to carry the run over a change of code:
// usually Strategy, Fingerprint, Position and Memory of its Frames. One from [Machine.Snapshot] is
// read-only.
type Snapshot struct {
	Format   int             `json:"format"`              // 1
	Started  Started         `json:"started"`             // the record that began the run
	Records  int             `json:"records"`             // the number of records that the snapshot stands for
	Seq      int             `json:"seq"`                 // the number of the last step
	Now      time.Time       `json:"now"`                 // time of the last record
	Active   time.Duration   `json:"active,omitempty"`    // active time of the run
	Notes    []NoteSnapshot  `json:"notes,omitempty"`     // the notes that a frame is still to hear, and those that nobody has heard
	LastNote int             `json:"last_note,omitempty"` // the number of the last note
	Frames   []FrameSnapshot `json:"frames"`              // the live frames: each before those that it started; the first is the root
}

// FrameSnapshot is the state of a frame. A frame waits for its Effect or its Calls; without any it
// waits for the child that it delegated to.
type FrameSnapshot struct {
	Name        string             `json:"name"`                  // position in the delegation tree: "0.1.2"
	Strategy    string             `json:"strategy"`              // by its name in the Set
	After       string             `json:"after,omitempty"`       // the strategy that handed off to it; "" if none did
	Fingerprint string             `json:"fingerprint,omitempty"` // of the table of the strategy; "": it has none
	Position    *strategy.Position `json:"position,omitempty"`    // of its FSM; nil if it is no [strategy.Tabler]
	Memory      json.RawMessage    `json:"memory,omitempty"`      // see [strategy.Snapshotter]

	Seq     int              `json:"seq"` // the number of its last step
	Input   delegation.Input `json:"input"`
	Request messages.History `json:"request,omitempty"` // the messages of its last request
	Answers []answerSnapshot `json:"answers,omitempty"` // the answers since then
	Unseen  messages.History `json:"unseen,omitempty"`  // messages that the strategy has not seen
	Tools   []string         `json:"tools,omitzero"`    // the tools of the run that it may use; nil: those of the frame above
	Offered []string         `json:"offered,omitempty"` // the tools that its last request offered

	Limits   delegation.Limits `json:"limits"`             // its own; negative: none
	Used     usageSnapshot     `json:"used,omitzero"`      // by it and all frames below it
	Began    time.Duration     `json:"began,omitempty"`    // active time of the run when it began
	Children int               `json:"children,omitempty"` // the number of frames that it has started
	Heard    int               `json:"heard,omitempty"`    // the notes up to this number are not for it, or were heard
	Told     bool              `json:"told,omitempty"`     // a limit of tool calls was told, to it or to a frame below it
	Model    string            `json:"model,omitempty"`    // for its requests that set none; "": that of the run

	Branch *branchSnapshot  `json:"branch,omitempty"` // of the root, and of the first frame of a branch
	Effect *effectSnapshot  `json:"effect,omitempty"` // the request or remote delegation that it waits for
	Calls  []effectSnapshot `json:"calls,omitempty"`  // the calls that it waits for, in order, those with a result included
	Took   time.Duration    `json:"took,omitempty"`   // sum of the durations of the Calls with a result
}

// answerSnapshot is an answer to a step of a frame: one of its fields, or none.
type answerSnapshot struct {
	Reply   *messages.Assistant   `json:"reply,omitempty"`
	Results []messages.ToolOutput `json:"results,omitempty"`
	Partial *messages.Assistant   `json:"partial,omitempty"` // of a reply that did not arrive whole
}

// usageSnapshot is what a frame and all frames below it have used.
type usageSnapshot struct {
	Counts   delegation.Counts `json:"counts,omitzero"` // including what open effects have reserved
	Tokens   messages.Usage    `json:"tokens,omitzero"`
	Cost     messages.Cost     `json:"cost,omitempty"`
	Unpriced int               `json:"unpriced,omitempty"`
	Elapsed  time.Duration     `json:"elapsed,omitempty"`
}

// branchSnapshot is the state of a branch.
type branchSnapshot struct {
	Call      EffectID `json:"call,omitzero"`   // the call that it answers; zero for the root
	Place     int      `json:"place,omitempty"` // its number among the branches of the call, from 0
	Untrusted bool     `json:"untrusted,omitempty"`
	Source    string   `json:"source,omitempty"` // the first source of untrusted text, for people
}

// effectSnapshot is the state of an effect: of a request or a remote delegation (Kind and Step), or
// of a call (Call).
type effectSnapshot struct {
	State string            `json:"state,omitempty"` // "waiting", "blocked" or "nested", see [EffectView]; "": the call has its Result
	Kind  EffectKind        `json:"kind"`
	Step  json.RawMessage   `json:"step,omitempty"` // in the form of [nextstep.Marshal]
	Call  messages.ToolCall `json:"call,omitzero"`

	Result *messages.ToolOutput `json:"result,omitempty"`
	Made   *messages.ToolCall   `json:"made,omitempty"`   // the call as it was made, if that is not as the model wrote it
	Agent  bool                 `json:"agent,omitempty"`  // it is a call of an agent
	Digest string               `json:"digest,omitempty"` // of the step or the call

	InTurn   bool              `json:"in_turn,omitempty"`  // it need not wait for earlier calls
	Intended bool              `json:"intended,omitempty"` // the intent of its next start is stored
	Approved bool              `json:"approved,omitempty"` // a person has approved it
	Started  bool              `json:"started,omitempty"`  // it was released at least once
	Begun    bool              `json:"begun,omitempty"`    // it was certainly begun
	Unsure   bool              `json:"unsure,omitempty"`   // it may have had its effect
	Reserved delegation.Counts `json:"reserved,omitzero"`

	Waits   []WaitSnapshot   `json:"waits,omitempty"`   // all that it has waited for, in order
	Kept    json.RawMessage  `json:"kept,omitempty"`    // its own state, see [Suspended]
	Results []resultSnapshot `json:"results,omitempty"` // of its branches, empty ones for those that are at work; nil if it has a Result that is all of them
	Several bool             `json:"several,omitempty"` // its result is a list
	Tainted bool             `json:"tainted,omitempty"` // a branch that has ended has read text from outside
}

// resultSnapshot is the result of a branch that has ended.
type resultSnapshot struct {
	Text   string `json:"text,omitempty"`
	Failed bool   `json:"failed,omitempty"`

	// For a strategy that is a [strategy.BranchInheritor]: the whole output, and whether there was
	// no child to make one.
	Output  *delegation.Output `json:"output,omitempty"`
	NoChild bool               `json:"no_child,omitempty"`
}

// WaitSnapshot is something that an effect waits for, or has waited for.
type WaitSnapshot struct {
	Wait   Wait              `json:"wait"`
	Closed bool              `json:"closed,omitempty"` // it can no longer be answered
	Reply  *Reply            `json:"reply,omitempty"`
	Err    *delegation.Error `json:"error,omitempty"` // why there was no reply
}

// Frame returns the frame with that name; nil if there is none.
func (s *Snapshot) Frame(name string) *FrameSnapshot {
	i := slices.IndexFunc(s.Frames, func(f FrameSnapshot) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Frames[i]
}

// Of yields the frames of a strategy.
func (s *Snapshot) Of(name string) iter.Seq[*FrameSnapshot] {
	return func(yield func(*FrameSnapshot) bool) {
		for i := range s.Frames {
			if f := &s.Frames[i]; f.Strategy == name && !yield(f) {
				return
			}
		}
	}
}

// Become makes the frame one of the strategy of that name in the set, which may be the name that it
// has, with the table that this strategy has now. It says that whoever calls it has looked at the
// change: Position and Memory, which do not change, must be such as the strategy knows.
func (f *FrameSnapshot) Become(set strategy.Set, name string) {
	f.Strategy, f.Fingerprint = name, Fingerprint(set, name)
}

// AppendSnapshot appends the JSON form of a snapshot to dst: an object on one line, with the fields
// that the tags declare. The same snapshot gives the same bytes. The error says why it has no such
// form.
func AppendSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	text, err := nextstep.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("machine: the snapshot of run %.64q has no JSON form: %w", s.Started.Run, err)
	}
	return append(dst, bytes.ToValidUTF8(text, []byte("\uFFFD"))...), nil
}

var snapshotForm = jsonform.Of[Snapshot]()

// ReadSnapshot decodes the output of [AppendSnapshot]. It is strict, as [ReadRecord] is: another
// format, an unknown field and a missing required field are errors that name it.
func ReadSnapshot(data []byte) (Snapshot, error) {
	var head struct{ Format int }
	err := json.Unmarshal(data, &head)
	if err == nil && head.Format != snapshotFormat {
		err = badFormat(head.Format)
	}
	var s Snapshot
	if err == nil {
		s, err = snapshotForm.Read(data)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("machine: the snapshot cannot be read: %w", err)
	}
	return s, nil
}

func badFormat(format int) error {
	return fmt.Errorf("it has the format %d, and this version of the library reads %d", format, snapshotFormat)
}

// check returns an error if the snapshot has another format.
func (s *Snapshot) check() error {
	if s.Format != snapshotFormat {
		return errors.New("its snapshot cannot be read: " + badFormat(s.Format).Error())
	}
	return nil
}

// SnapshotError says why there can be no snapshot of a run now, or why the strategies of a Config
// cannot go on from one. The Machine is unchanged.
type SnapshotError struct {
	Run      string
	Frame    string // "" if it is about the whole run
	Strategy string // of that frame
	Recorded string // with Now: fingerprint of the table that the snapshot was made for
	Now      string // fingerprint of the table that the strategy has
	Problem  string
	Err      error // the cause; may be nil
}

// Error names the run, the frame and the strategy.
func (e *SnapshotError) Error() string {
	text := fmt.Sprintf("machine: the snapshot of run %.64q", e.Run)
	if e.Frame != "" {
		text += fmt.Sprintf(", frame %s: strategy %q", e.Frame, e.Strategy)
	}
	text += ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *SnapshotError) Unwrap() error { return e.Err }

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
		Tools: m.toolNames(f), After: f.after, Limits: f.limits.limits(), Began: f.began, Children: f.children, Heard: f.heard, Told: f.told, Model: f.model,
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
	f.limits, f.began, f.children, f.heard, f.told, f.model = amountsOf(s.Limits), s.Began, s.Children, s.Heard, s.Told, s.Model
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

// resumed applies a Resumed: the run continues in a process that performs none of its effects yet.
func (m *Machine) resumed(rec Record) {
	r := rec.(Resumed)
	canonicalResumed(&r)
	m.empty()
	m.now = r.At // the time until now is not active time of the run
	m.begin(r.At)
	m.root.limits = amountsOf(r.Limits).or(m.root.limits)
	used := &m.root.used
	m.emitFor(m.root, m.seq, EventRunResumed, RunResumed{
		Strategy: m.root.strategy, Goal: m.root.input.Goal, Limits: m.root.limits.limits(), Left: m.remaining(m.root).limits(),
		Usage: used.tokens, Cost: used.cost, Unpriced: used.unpriced, Metadata: m.started.Metadata, Open: m.openFrames(),
	})
	for _, f := range m.frames() {
		if f.parked == onEffect {
			m.resumeEffect(&f.effect, r.Unknown)
			continue
		}
		for i := range f.batch.calls {
			m.resumeEffect(&f.batch.calls[i], r.Unknown)
		}
	}
}

// openFrames returns the frames that live.
func (m *Machine) openFrames() []OpenFrame {
	var open []OpenFrame
	for _, v := range m.Frames() {
		o := OpenFrame{Frame: v.Name, Strategy: v.Strategy, State: v.State}
		if f := m.named(v.Name); f != nil && f.call != nil {
			o.CallID, o.Tool = f.call.call.ID, f.call.call.Name
		}
		open = append(open, o)
	}
	return open
}

// resumeEffect continues one effect of a resumed run. It asks the policy again about a call that
// was not performed yet, or that is performed again.
func (m *Machine) resumeEffect(e *effect, unknown Unknown) {
	e.pending = false
	switch {
	case e.state == ended || e.state == nested:
		return
	case e.performed() && e.intended && e.kind == EffectTool:
		m.closeWaits(e)
		m.askAboutUnknown(e, m.endingOf(e.frame), unknown)
		return
	case e.performed() && m.cutOff(e.frame):
		m.cutShort(e)
		return
	case e.state == asking:
		m.move(e, waiting)
	}
	e.inAsk = false // the code that asked is gone, and will be called again
	before := len(e.waits)
	if e.state == waiting {
		m.renew(e)
	}
	if e.kind == EffectTool {
		m.judge(e)
	}
	switch {
	case e.state == waiting:
		for i := range before { // the process that asked people is gone
			if w := &e.waits[i]; !w.closed {
				m.out.Effects = append(m.out.Effects, m.person(e, w))
			}
		}
	case e.pending:
	case e.state == open:
		m.release(e)
	case e.state == intending:
		m.intend(e, VerdictAllow)
	}
}

// askAboutUnknown handles a call that may have had its effect.
func (m *Machine) askAboutUnknown(e *effect, end *ending, u Unknown) {
	e.begun, e.unsure, e.inAsk = true, true, false
	if end == nil && u == UnknownAsk {
		m.move(e, waiting)
		m.addWait(e, m.question(e, WaitUnknown, "The run broke off while "+e.call.Name+" was called, and nobody knows whether the call had its effect. Shall it be made again?"))
		return
	}
	e.frame.batch.cut = e.frame.batch.cut || end != nil
	m.endCall(e, m.callOutput(e, messages.StatusUnknown, messages.ReasonInterrupted, textUnknown))
}

// cutShort ends an effect that was being cut off when the run broke off.
func (m *Machine) cutShort(e *effect) {
	f := e.frame
	m.closeWaits(e)
	if e.kind == EffectTool {
		f.batch.cut = true
		m.endCall(e, m.callOutput(e, messages.StatusFailed, messages.ReasonInterrupted, "the run was stopped while this call was made"))
		return
	}
	m.move(e, ended)
	m.unpark(f)
	m.tasks = append(m.tasks, frameTask{frame: f, unwind: true})
}

// renew asks again for an approval that has expired.
func (m *Machine) renew(e *effect) {
	if w := e.approval(); w != nil && w.Expired(m.now) {
		w.closed = true
		delete(m.waits, w.ID)
		m.addWait(e, m.approvalQuestion(e))
	}
}
