package machine

import (
	"errors"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Config is what Machines work with. It is read-only once handed over, and any number of Machines
// may share it. Strategies is required.
type Config struct {
	Strategies strategy.Set
	Tools      []tools.Definition // of the runs
	Agents     map[string]*Agent  // those of the Tools that are agents, by name; strategies may bring others
	Remote     []string           // names to delegate to that are not in Strategies: such a step is an effect
	Limits     delegation.Limits  // of each run; zero fields are the defaults
	Parallel   int                // most effects at once that somebody performs, people aside; 0: 8
	MaxResult  int                // bytes of an agent's result that are kept; 0: 256 KiB; negative: all

	// Approve judges calls; it may be nil. A call of a tool whose Definition says NeedsApproval is
	// asked about where it is nil. Approve is pure: it says the same of the same request.
	Approve ApprovalPolicy
	Expires time.Duration // how long an approval may be given after it was asked for; 0: 24 hours; negative: for ever

	// StopNote is the text of the assistant message that closes a conversation which a stop left
	// with tool results at its end: some providers take nothing but an assistant's message behind
	// them. "" is "[stopped]"; "-" adds none.
	StopNote string

	Durable bool // a journal is kept: effects are digested, and what has no JSON form is an effect of nobody
	Strict  bool // in a replay the whole of each step must be as it was, and not only its shape; see ReplayError
	Quiet   bool // nobody wants events of steps, of tools and of changes of state: there are none

	OnPanic func(PanicReport) // hears of panics that were contained; may be nil

	Fingerprints map[string]string // of the tables of the Strategies, as Fingerprints makes them; nil: none are compared
}

// Machine is one run: its frames and branches, limits, waits and approvals. It changes in one way
// only, by [Machine.Apply]. It does no I/O, reads no clock, draws no random number and starts no
// goroutine. It is not safe for concurrent use.
type Machine struct {
	cfg     *Config
	run     string
	started Started
	records int
	seq     int // of the last step
	out     Ready
	drained bool // what stands in out is taken care of

	intents []Record // that Ready asks for, from stored on
	stored  int
	parked  map[int]*frame // those that wait for effects, by the number of their step
	tasks   []frameTask    // what has to be done before Apply returns
	queue   []queuedEffect // effects that wait for a place, from head on
	head    int
	places  int                // in the queue, so far
	states  [ended + 1]int     // how many effects came to a state, less those that left it
	waits   map[string]*effect // those that wait, by the id of the wait

	innerMoves   int // since something came from outside
	endingFrames int // how many have an ending of their own

	parallel int
	now      time.Time     // of the record that is applied
	active   time.Duration // how long the run has worked, see Limits.Duration
	index    int           // of the next event of the record
	output   delegation.Output
	status   Status

	root    *frame
	spare   []*frame        // of frames that have ended
	changes [8]Detail       // told before, to be told again
	tools   toolCache       // of the last run
	drifted map[string]bool // frames that were told of
}

// Ready is what became due: to store, to tell, and to do, in that order. Its slices are valid until
// the next Apply or Advance.
type Ready struct {
	Intents   []Record   // to stamp with the time, to apply, and to store before their effects are released
	Events    []Event    // to stamp with the time, and to tell
	Effects   []Effect   // to start; each is answered by one record, in whatever order they end
	Withdrawn []EffectID // to cut off; each effect is answered all the same, with what had arrived, or as not begun; a wait is not
}

// New returns a Machine without a run. Apply a [Started] to begin one.
func New(cfg *Config) *Machine { return &Machine{cfg: cfg} }

// Reset forgets the run: the Machine is as [New] returned it, but for memory that it uses again.
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
		*f = frame{} // not used again: somebody may hold the effect
	}
	clear(m.parked)
	clear(m.queue)
	if m.root != nil && m.Done() {
		m.recycle(m.root)
	}
	*m = Machine{cfg: cfg, tools: m.tools, out: m.out, intents: m.intents, parked: m.parked, tasks: m.tasks[:0], queue: m.queue[:0], spare: m.spare, changes: m.changes}
}

// ErrDone is returned by [Machine.Apply] when the run has ended.
var ErrDone = errors.New("machine: the run has ended")

// Apply makes a record part of the run: it is the only way in which a run changes. What became due
// is added to what [Machine.Ready] returns.
//
// A record that does not fit changes nothing, and the right one still works. The error is [ErrDone]
// when the run has ended; a [*ConfigError] for a Started that cannot be begun; a [*ReplyError]; a
// [*ReplayError] for an answer to another effect than the one that is open; else an [*AnswerError].
func (m *Machine) Apply(r Record) error {
	if m.drained {
		m.empty()
	}
	if _, ok := r.(Started); ok {
		return m.start(r)
	}
	if m.root == nil {
		return &AnswerError{Problem: "the first record of a run is a Started"}
	}
	if m.Done() {
		return ErrDone
	}
	m.index = 0
	if _, ok := r.(Intended); !ok { // what was decided brings nothing from outside
		m.innerMoves = 0
	}
	err := error(nil)
	switch r.(type) { // each takes the record out for itself, so that the stack of a run stays small
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
		m.noted(r)
	default:
		err = &AnswerError{Run: m.run, Problem: "records are values of the types in package machine"}
	}
	if err != nil {
		return err
	}
	m.runFrames()
	m.dispatch()
	return nil
}

// noted tells a note.
func (m *Machine) noted(rec Record) {
	r, _ := canonical(rec.(Noted))
	m.begin(r.At)
	m.emit(m.root, EventNoted, Noting{Text: r.Text})
}

// begin counts a record that fits.
func (m *Machine) begin(at time.Time) {
	m.passTime(at)
	m.records++
	m.now = at
}

// Ready returns what became due since the last Advance. Reading it changes nothing.
func (m *Machine) Ready() Ready {
	if m.drained {
		return Ready{}
	}
	out := m.out
	out.Intents = m.intents[m.stored:]
	return out
}

// Advance says that what Ready returned is taken care of. Whoever reads a journal calls it
// after each record, so that nothing piles up.
func (m *Machine) Advance() { m.drained = true }

// empty makes room for what becomes due.
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

// Records returns how many records were applied.
func (m *Machine) Records() int { return m.records }

// Seq returns the number of the last step, over the whole run. Delegations have numbers too.
func (m *Machine) Seq() int { return m.seq }

// Done reports whether the run has ended.
func (m *Machine) Done() bool { return m.root != nil && m.status != "" }

// Status returns how the run ended. While it goes on it is [StatusWaiting] if only people can bring
// it further, and else "".
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

// Output returns the output of the run. While it goes on that is what there is so far: the
// conversation of the root.
func (m *Machine) Output() delegation.Output {
	if m.status != "" || m.root == nil {
		return m.output
	}
	return m.soFar()
}

// Finished returns the detail of a last event that says such a status and output.
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

// Waits returns what the run waits for, in the order of the effects that wait.
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

// Open returns every effect without an answer that somebody has to perform, with those of people:
// what a resumed run has to start. Those whose intent is not stored are not among them.
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
