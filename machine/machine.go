package machine

import (
	"errors"
	"time"

	"github.com/segue-go/segue/delegation"
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

	// Repeats is how often a model may make the same call again: with the same arguments, as JSON,
	// while it has the same result and nothing is new. Each result that is the same has
	// [messages.ReasonSame], and a further call is not made: its result has
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
// [*SnapshotError] for a Migrated that the strategies cannot go on from; otherwise it says what does
// not fit the state of the run.
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
