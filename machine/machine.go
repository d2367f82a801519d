package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Config configures Machines. Do not change it after passing it to [New]. Any number of Machines
// may share it. Strategies is required.
type Config struct {
	Strategies strategy.Set
	Tools      []tools.Definition // tools that runs may use
	Agents     map[string]*Agent  // the agents among the Tools, by name; strategies may bring others
	Remote     []string           // names of remote strategies, which are not in Strategies: delegating to one is an effect
	Limits     delegation.Limits  // limits of each run; zero fields are the defaults
	Parallel   int                // most effects in progress at once, without questions to people; 0: 8
	MaxResult  int                // maximum size of an agent's result in bytes, the rest is cut; 0: 256 KiB; negative: no maximum

	// Repeats is how often a model may make the same call, the first time included: with the same
	// arguments, as JSON, while it has the same result and nothing is new. Each result that is the
	// same has [messages.ReasonSame], and a further call is not made: its result has
	// [messages.ReasonRepetition]. New is a call that is not read-only, a reply of a person, and a
	// note; a tool that is Repeatable is left out. 0: 2; negative: any number.
	Repeats int

	// Approve judges calls. If it is nil, a person is asked about calls of tools whose Definition
	// says NeedsApproval, and all other calls are allowed. Approve must be pure: the same request
	// gets the same verdict.
	Approve ApprovalPolicy
	Expires time.Duration // time after which an unanswered approval expires; 0: 24 hours; negative: never

	// StopNote is the text of the assistant message that is added if a stopped conversation ends
	// with tool results: some providers accept only an assistant message after tool results. "" is
	// "[stopped]"; "-" adds none.
	StopNote string

	Durable bool // a journal is kept: effects are digested, and a step without a JSON form is an error
	Strict  bool // in a replay each step must be exactly the same, not only in its shape; see ReplayError
	Quiet   bool // omit events of steps, tools and state changes

	OnPanic func(PanicReport) // called for each panic that was contained; may be nil

	Fingerprints map[string]string // fingerprints of the tables of the Strategies, see Fingerprints; nil: not compared

	prepared bool // see Prepare
}

// Prepare puts the Tools into the form that a journal would return, so that a run need not do so
// when it begins. It is for a Config of many runs.
func (c *Config) Prepare() { c.Tools, c.prepared = canonicalTools(c.Tools), true }

// Machine holds one run: its frames and branches, limits, waits and approvals. It changes in one
// way only, by [Machine.Apply]. A Machine does no I/O, reads no clock, draws no random number and
// starts no goroutine. It is not safe for concurrent use.
type Machine struct {
	cfg     *Config
	run     string
	started Started
	records int
	seq     int // number of the last step
	out     Ready
	drained bool // the content of out has been handled

	intents []Record // intents that Ready asks for, from stored on
	stored  int
	parked  []*frame       // frames that wait for effects, in the order of their steps
	tasks   []frameTask    // tasks to be done before Apply returns
	queue   []queuedEffect // effects that wait because of Parallel, from head on
	head    int
	places  int                // number of queue positions given out so far
	states  [ended + 1]int     // number of effects in each state
	waits   map[string]*effect // waiting effects, by the id of the wait

	notes    []note // see kept
	lastNote int    // number of the last note

	innerMoves   int // steps without an effect since the last record from outside
	endingFrames int // number of frames with their own ending

	parallel int
	now      time.Time     // time of the record that is being applied
	active   time.Duration // active time of the run, see Limits.Duration
	index    int           // index of the next event of the record
	output   delegation.Output
	status   Status

	root    *frame
	spare   []*frame        // ended frames, for reuse
	changes [8]Detail       // boxed details, for reuse
	drifted map[string]bool // frames with a Drifted event
}

// Ready lists what the engine has to store, emit and do, in that order. Its slices are valid until
// the next Apply or Advance.
type Ready struct {
	Intents   []Record   // set their time, apply and store them, one after the other until there are none; then their effects are released
	Events    []Event    // set their time, and emit them
	Effects   []Effect   // start them; answer each with one record, in any order
	Withdrawn []EffectID // cancel them; each effect must still be answered, with its partial result or as NotBegun; a wait need not be
}

// New returns a Machine without a run. Apply a [Started] to begin one.
func New(cfg *Config) *Machine { return &Machine{cfg: cfg} }

// Reset forgets the run: the Machine is like one from [New], except that it reuses memory.
func (m *Machine) Reset(cfg *Config) {
	if m.root == nil && m.records == 0 {
		m.cfg = cfg
		return
	}
	m.empty()
	clear(m.intents[:cap(m.intents)])
	clear(m.out.Events[:cap(m.out.Events)])
	clear(m.out.Effects[:cap(m.out.Effects)])
	for _, f := range m.parked {
		*f = frame{} // not reused: a caller may still hold the effect
	}
	clear(m.parked)
	clear(m.queue)
	if m.root != nil && m.Done() {
		m.recycle(m.root)
	}
	*m = Machine{cfg: cfg, out: m.out, intents: m.intents, parked: m.parked[:0], tasks: m.tasks[:0], queue: m.queue[:0], spare: m.spare, changes: m.changes}
}

// ErrDone is returned by [Machine.Apply] when the run has ended.
var ErrDone = errors.New("machine: the run has ended")

// Apply adds a record to the run. It is the only way to change a run. Everything that the engine
// has to do as a result is added to [Machine.Ready].
//
// A record that does not fit changes nothing, and the right record still works. The error is
// [ErrDone] if the run has ended; a [*ConfigError] for an invalid Started; a [*ReplyError] for a
// reply that was rejected; a [*ReplayError] for an answer to another effect than the open one; a
// [*SnapshotError] for a Migrated that the strategies cannot go on from; otherwise it says what
// does not fit the state of the run.
func (m *Machine) Apply(r Record) error {
	if m.drained {
		m.empty()
	}
	if _, ok := r.(Started); ok {
		return m.start(r)
	}
	_, whole := r.(Migrated) // which needs no record before it
	switch {
	case m.Done():
		return ErrDone
	case whole:
		return m.migrated(r)
	case m.root == nil:
		return &answerError{problem: "the first record of a run is a Started"}
	}
	m.index = 0
	if _, ok := r.(Intended); !ok { // an intent brings nothing from outside
		m.innerMoves = 0
	}
	err := error(nil)
	switch r.(type) { // each function unpacks the record itself, to keep the stack small
	case Answered:
		err = m.answered(r)
	case Intended:
		err = m.intended(r)
	case Replied:
		err = m.replied(r)
	case Asked:
		err = m.asked(r)
	case Suspended:
		err = m.suspended(r)
	case Stopped:
		err = m.stopped(r)
	case Resumed:
		m.resumed(r)
	case Noted:
		err = m.noted(r)
	default:
		err = &answerError{run: m.run, problem: "records are values of the types in package machine"}
	}
	if err != nil {
		return err
	}
	m.runFrames()
	m.dispatch()
	return nil
}

// begin counts a record that was accepted.
func (m *Machine) begin(at time.Time) {
	m.passTime(at)
	m.records++
	m.now = at
}

// Ready returns what the engine has to do since the last Advance. It changes nothing.
func (m *Machine) Ready() Ready {
	if m.drained {
		return Ready{}
	}
	out := m.out
	out.Intents = m.intents[m.stored:]
	return out
}

// Advance says that the engine has handled the content of Ready. Code that reads a journal calls it
// after each record, so that Ready does not grow.
func (m *Machine) Advance() { m.drained = true }

// empty clears the content of Ready that was handled.
func (m *Machine) empty() {
	m.intents, m.stored = m.intents[:0], 0
	m.out.Events, m.out.Effects, m.out.Withdrawn = m.out.Events[:0], m.out.Effects[:0], m.out.Withdrawn[:0]
	m.drained = false
}

// Run returns the run's id; "" before it began.
func (m *Machine) Run() string { return m.run }

// Started returns the record that began the run. It is read-only.
func (m *Machine) Started() Started { return m.started }

// Now returns the time of the last record.
func (m *Machine) Now() time.Time { return m.now }

// Records returns the number of applied records.
func (m *Machine) Records() int { return m.records }

// Seq returns the number of the last step, over the whole run. Delegations have numbers too.
func (m *Machine) Seq() int { return m.seq }

// Done reports whether the run has ended.
func (m *Machine) Done() bool { return m.root != nil && m.status != "" }

// Status returns how the run ended. Before the end it returns [StatusWaiting] if the run needs an
// answer from a person to continue, and "" otherwise.
func (m *Machine) Status() Status {
	if m.status != "" || m.root == nil {
		return m.status
	}
	busy := m.states[judged] + m.states[queued] + m.states[asking] + m.placed() + len(m.intents) - m.stored
	if busy > 0 || m.states[waiting] == 0 {
		return ""
	}
	return StatusWaiting
}

// Output returns the output of the run. Before the end it holds the conversation of the root so
// far.
func (m *Machine) Output() delegation.Output {
	if m.status != "" || m.root == nil {
		return m.output
	}
	return m.soFar()
}

// Finished returns the detail of a last event with the given status and output.
func (m *Machine) Finished(status Status, out delegation.Output) RunFinished {
	end := RunFinished{Status: status, Output: out}
	if m.root != nil {
		end.Strategy, end.Limits, end.Left = m.root.strategy, m.root.limits.limits(), m.remaining(m.root).limits()
	}
	if status == StatusWaiting {
		end.Waits = m.Waits()
	}
	return end
}

// Waits returns the open waits of the run, in the order of their effects.
func (m *Machine) Waits() []Wait {
	var all []Wait
	if len(m.waits) == 0 {
		return nil
	}
	for _, f := range m.frames() {
		for e := range f.effects() {
			for w := range e.openWaits() {
				all = append(all, w.Wait)
			}
		}
	}
	return all
}

// Open returns every released effect without an answer, questions to people included: the effects
// that a resumed run has to start. It omits effects whose intent is not stored.
func (m *Machine) Open() []Effect {
	var all []Effect
	for _, f := range m.frames() {
		for e := range f.effects() {
			if e.state == open && !e.pending {
				all = append(all, m.effect(e))
			}
			if e.state == asking || e.state == waiting {
				for w := range e.openWaits() {
					all = append(all, m.person(e, w))
				}
			}
		}
	}
	return all
}

// Withdrawn returns the effects of Open that are cut off, because what they are for was stopped.
func (m *Machine) Withdrawn() []EffectID {
	var all []EffectID
	for _, f := range m.frames() {
		for e := range f.effects() {
			if e.state == open && !e.pending && m.cutOff(f) {
				all = append(all, e.id)
			}
		}
	}
	return all
}

// FrameView is the state of a frame between two records. It is a copy: changing it does not change
// the run.
type FrameView struct {
	Name     string // position in the delegation tree: "0.1.2"
	Depth    int    // the root has 1
	Strategy string
	State    strategy.State // state of the strategy's FSM, if it has one
	Seq      int            // number of its last step; 0 before the first

	Effects []EffectView // effects that it waits for, in order, without those that have ended
	Child   string       // the child frame that it waits for; "" if it waits for effects

	Call   EffectID // the call that its branch answers; zero for the root and for delegated children
	Branch bool     // whether it is the first frame of a branch

	Limits  delegation.Limits // its own limits; negative: none
	Left    delegation.Limits // see [Machine.Left]
	Used    delegation.Counts // used by it and all frames below it, including what open effects have reserved
	Usage   messages.Usage
	Cost    messages.Cost
	Elapsed time.Duration // sum of the durations of the effects of it and all frames below it
	ToHear  int           // number of notes that its strategy hears before its next answer; 0 if it is no [strategy.Listener]

	Made []callView // the last calls of its model, oldest first, as far as a repetition of them is noticed
	Told bool       // a limit of tool calls was told, to it or to a frame below it

	Untrusted bool   // whether its branch has read text from outside
	Source    string // the source of that text, for people; "" if there is none
	Ending    string // why it must end; "" if it may continue
}

// callView is a call that a model has made, and may repeat.
type callView struct {
	Call   messages.ToolCall   // as it was made last
	Beside []messages.ToolCall // the calls of that batch that are not read-only
	Times  int                 // in how many batches it had the result, with nothing new between them
	Output messages.ToolOutput // the result, without CallID and Elapsed
}

// EffectView is the state of an effect that a frame waits for. Its State is
//
//   - "blocked": earlier calls must end first, or its verdict must be stored
//   - "queued": it waits in the queue, because of Parallel
//   - "intending": it is next in turn, but its intent must be stored first
//   - "open": it is in progress
//   - "asking": it is in progress, and waits for a person
//   - "waiting": it waits for a person, and is not in progress
//   - "nested": its branches are at work
type EffectView struct {
	ID    EffectID
	Kind  EffectKind
	State string
	Tool  string   // name of the tool of a call
	Waits []string // ids of its open waits, see [Machine.Waits]
}

var effectStates = [...]string{
	blocked: "blocked", judged: "blocked", queued: "queued", intending: "intending", open: "open", asking: "asking", waiting: "waiting", nested: "nested",
}

// Frames returns the frames of the run, in the order of the tree: each frame before the frames that
// it started. There are none before the run began and after it ended.
func (m *Machine) Frames() []FrameView {
	live := m.live()
	var sleeps map[*frame]string // the child of each sleeping frame
	for _, f := range live {
		if f.up != nil && f.call == nil {
			if sleeps == nil {
				sleeps = map[*frame]string{}
			}
			sleeps[f.up] = f.name
		}
	}
	views := make([]FrameView, 0, len(live))
	for _, f := range live {
		v := m.view(f)
		v.Child = sleeps[f]
		if e := m.endingOf(f); e != nil {
			v.Ending = e.reason
		}
		views = append(views, v)
	}
	return views
}

func (m *Machine) view(f *frame) FrameView {
	v := FrameView{
		Name: f.name, Depth: f.depth, Strategy: f.strategy, Seq: f.seq, Branch: f.call != nil,
		Limits: f.limits.limits(), Left: m.remaining(f).limits(), Used: f.used.Counts, Usage: f.used.tokens, Cost: f.used.cost, Elapsed: f.used.elapsed, ToHear: m.toHear(f),
		State: f.state, Untrusted: f.branch.untrusted, Source: f.branch.source, Told: f.told,
	}
	for i := range f.made {
		if c := &f.made[i]; c.news == m.news(f) {
			v.Made = append(v.Made, callView{Call: c.call, Beside: c.beside, Times: c.times, Output: c.out})
		}
	}
	if f.call != nil {
		v.Call = f.call.id
	}
	for e := range f.effects() {
		if e.state == ended {
			continue
		}
		shown := EffectView{ID: e.id, Kind: e.kind, State: effectStates[e.state], Tool: e.call.Name}
		for w := range e.openWaits() {
			shown.Waits = append(shown.Waits, w.ID)
		}
		v.Effects = append(v.Effects, shown)
	}
	return v
}

// byPlace compares the names of two frames by their position in the tree.
func byPlace(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// Digest returns the digest of the step or call of an open effect. It is computed now if
// [Config].Durable is false. It returns false if there is no such effect, if the effect is a
// question to a person, and if its step has no JSON form.
func (m *Machine) Digest(id EffectID) (string, bool) {
	e := m.find(id)
	switch {
	case e == nil:
		return "", false
	case e.digest != "":
		return e.digest, true
	case e.kind == EffectTool:
		return digestOf(&e.call), true
	}
	sum, err := e.frame.digest(e.step)
	return sum, err == nil
}

func (m *Machine) runStarted(s *Started) {
	m.emit(m.root, EventRunStarted, RunStarted{Strategy: s.Strategy, Goal: s.Input.Goal, Limits: s.Limits, Metadata: s.Metadata})
}

// start begins a run. It stores the record directly in the Machine, because the record is large.
func (m *Machine) start(r Record) error {
	if m.root != nil {
		return &answerError{run: m.run, problem: "the run has begun"}
	}
	m.started = r.(Started)
	s := &m.started
	m.cfg.fill(s)
	canonicalStarted(s)
	if !m.cfg.prepared || len(s.Tools) != len(m.cfg.Tools) || len(s.Tools) > 0 && &s.Tools[0] != &m.cfg.Tools[0] {
		s.Tools = canonicalTools(s.Tools)
	}
	root := m.newFrame()
	if err := m.build(root, s.Strategy); err != nil {
		m.recycle(root)
		m.started = Started{}
		return &ConfigError{Field: "Strategy", Err: err}
	}
	m.run, m.parallel = s.Run, s.Parallel
	m.root, m.index, m.innerMoves = root, 0, 0
	m.begin(s.At)
	root.name, root.depth, root.input, root.allowed, root.limits = "0", 1, s.Input, s.Tools, amountsOf(s.Limits)
	root.branch = &root.trunk
	if holdsUntrusted(s.Input.Messages) {
		root.branch.taint("the input")
	}
	m.runStarted(s)
	m.schedule(root, m.enter(root))
	m.runFrames()
	m.dispatch()
	return nil
}

// Start returns s with missing fields filled in from the Config: limits, Parallel, tools and other
// settings of a run. Apply does the same, but for what journals of earlier releases do not have:
// Conclude and Repeats. The journal must store the result of Start.
func (c *Config) Start(s Started) Started {
	c.fill(&s)
	s.Repeats = cmp.Or(s.Repeats, c.Repeats, DefaultRepeats)
	s.Conclude = true
	return s
}

// fill is Start in place.
func (c *Config) fill(s *Started) {
	s.Limits = amountsOf(s.Limits).or(amountsOf(c.Limits)).or(defaultLimits).limits()
	s.Parallel = cmp.Or(s.Parallel, c.Parallel, 8)
	if s.Parallel < 0 {
		s.Parallel = noBound
	}
	if s.Tools == nil {
		s.Tools = c.Tools
	}
	if s.Tools == nil {
		s.Tools = []tools.Definition{} // so that a replay does not fill in other tools
	}
	if s.Strategy == "" && len(c.Strategies) == 1 {
		s.Strategy = c.Strategies.Names()[0]
	}
	s.Expires = cmp.Or(s.Expires, c.Expires, 24*time.Hour)
	s.StopNote = cmp.Or(s.StopNote, c.StopNote, "[stopped]")
	s.MaxResult = cmp.Or(s.MaxResult, c.MaxResult, tools.DefaultMaxResult)
	if s.Fingerprints == nil {
		s.Fingerprints = c.Fingerprints
	}
}

// noBound is the value of Parallel for no limit.
const noBound = 1 << 30

// build makes f a frame for the strategy with that name. The frame has no place in the tree yet.
func (m *Machine) build(f *frame, name string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the factory of strategy %q %w", name, m.panicked(nil, "the factory of strategy "+name, v))
		}
	}()
	st, err := m.cfg.Strategies.New(name)
	if err != nil {
		return err
	}
	if c, ok := st.(strategy.Checker); ok {
		if err := c.Check(); err != nil {
			return within(name, err)
		}
	}
	f.strategy, f.st = name, st
	if t, ok := st.(strategy.Tabler); ok {
		f.tabler = t
		if err := t.FSM().Check(); err != nil {
			return within(name, err)
		}
	}
	if p, ok := st.(strategy.ToolProvider); ok {
		f.own = p.Tools()
		for i, t := range f.own {
			if t == nil {
				return fmt.Errorf("strategy %q: its tool number %d is nil", name, i)
			}
			f.ownDefs, f.agents = append(f.ownDefs, t.Definition()), append(f.agents, AgentOf(t))
		}
	}
	return nil
}

// within adds the name of a strategy to its errors.
func within(name string, err error) error {
	return errors.Join(guard.Within(fmt.Sprintf("strategy %q", name), err)...)
}

// Try makes the strategy with that name as a run would, and returns it with the tools that it
// brings. The error says why a run could not.
func (c *Config) Try(name string) (strategy.Strategy, []tools.Tool, error) {
	var f frame
	if err := New(c).build(&f, name); err != nil {
		return nil, nil, err
	}
	return f.st, f.own, nil
}

// move changes the state of an effect.
func (m *Machine) move(e *effect, to effectState) {
	m.states[e.state]--
	m.states[to]++
	e.state = to
}

// placed returns the number of effects that count for Parallel.
func (m *Machine) placed() int { return m.states[intending] + m.states[open] }

// queuedEffect is an entry of the queue. If the effect has left the queue, or its memory was
// reused, the effect has another place and the entry is void.
type queuedEffect struct {
	*effect
	place int
}

// enqueue appends an effect to the queue.
func (m *Machine) enqueue(e *effect) {
	m.move(e, queued)
	m.places++
	e.place = m.places
	m.queue = append(m.queue, queuedEffect{e, e.place})
}

// dequeue removes and returns the first effect of the queue; nil if there is none.
func (m *Machine) dequeue() *effect {
	for m.head < len(m.queue) {
		q := m.queue[m.head]
		m.queue[m.head] = queuedEffect{}
		if m.head++; m.head > len(m.queue)/2 {
			m.queue = slices.Delete(m.queue, 0, m.head)
			m.head = 0
		}
		if q.effect.place == q.place && q.state == queued {
			return q.effect
		}
	}
	return nil
}

// spentTokens checks again, before a queued effect is released, whether tokens are left. It returns
// the ending of the highest frame whose tokens are used up; nil if there is none, or if the effect
// needs no tokens.
func (m *Machine) spentTokens(e *effect) *ending {
	if e.kind == EffectTool {
		return nil
	}
	return m.reached(e.frame, tokens)
}

// dispatch releases queued effects, up to the limit of Parallel.
func (m *Machine) dispatch() {
	for m.placed() < m.parallel {
		e := m.dequeue()
		if e == nil {
			return
		}
		switch limit := m.spentTokens(e); {
		case limit != nil:
			m.end(limit)
			m.runFrames()
		case e.needsIntent():
			m.move(e, intending)
			if !e.pending {
				m.intend(e, VerdictAllow)
			}
		default:
			m.release(e)
		}
	}
}

// release adds an effect to Ready. A call whose verdict is not stored yet keeps its place, but is
// not released.
func (m *Machine) release(e *effect) {
	m.move(e, open)
	if e.pending {
		return
	}
	m.toolStarted(e)
	n := len(m.out.Effects)
	m.out.Effects = slices.Grow(m.out.Effects, 1)[:n+1]
	m.fillIn(e, &m.out.Effects[n])
}

// intend adds the intent of an effect to Ready, to be stored.
func (m *Machine) intend(e *effect, v Verdict) {
	e.pending = true
	r := Intended{Effect: e.id, Frame: e.frame.name, Tool: e.call.Name, Digest: e.digest, Verdict: v}
	if e.kind != EffectTool {
		r.Kind = e.kind
	}
	m.intents = append(m.intents, r)
}

// withdrawIntent removes the intent of an effect from Ready. Usually it is the first one there.
func (m *Machine) withdrawIntent(e *effect) {
	if !e.pending {
		return
	}
	e.pending = false
	for i := m.stored; i < len(m.intents); i++ {
		if m.intents[i].(Intended).Effect != e.id {
			continue
		}
		if i > m.stored {
			m.intents = slices.Delete(m.intents, i, i+1)
		} else {
			m.intents[i] = nil
			m.stored++
		}
		return
	}
}

// withdrawRelease removes an effect from Ready if the engine has not seen it yet, and reports
// whether it did.
func (m *Machine) withdrawRelease(id EffectID) bool {
	i := slices.IndexFunc(m.out.Effects, func(e Effect) bool { return e.ID == id })
	if i >= 0 {
		m.out.Effects = slices.Delete(m.out.Effects, i, i+1)
	}
	return i >= 0
}
