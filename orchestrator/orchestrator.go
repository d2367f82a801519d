package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Config configures an [Orchestrator]. Client and Strategies are required. [New] copies the maps
// and slices.
type Config struct {
	Client     llmclient.Client  // asks the models
	Strategies strategy.Set      // the strategies that may be run and delegated to
	Default    string            // the strategy of a Task that names none; "" means the only one in Strategies
	Tools      []tools.Tool      // the tools that models may call
	Limits     delegation.Limits // limits of each run; zero fields are the defaults
	Prices     llmclient.Prices  // prices that extend and override [llmclient.KnownPrices]; nil: only those
	Timeouts   Timeouts
	Repetition Repetition   // how often a reply may repeat itself before it is cut off
	Middleware []Middleware // wraps every model call, tool call and remote delegation; the first is the outermost

	// Approve says which tool calls need a person's approval. Nil means only calls of tools whose
	// Definition says NeedsApproval.
	Approve *ApprovalConfig

	// Strict makes Resume fail if a step differs in any way from the recorded one. Without it the
	// words of a step may differ, as long as frames, kinds of steps and tools are the same; an
	// event EventDrifted reports the difference.
	Strict bool

	// Store keeps a journal of every run, from which [Orchestrator.Resume] continues; others call
	// it a checkpointer. An answer is stored before the run continues with it. Without a Store, a
	// run that waits cannot be resumed.
	Store checkpoint.Store

	// Snapshots saves the whole state of a run when it comes to wait, so that a later version of
	// the program can carry it over a change of code with Migrate. The Store must be a
	// [checkpoint.SnapshotStore]. The strategies should be of type [strategy.Snapshotter], as all
	// built-in ones are: of a run with another strategy nothing is saved. A snapshot that cannot be
	// saved is reported by the event EventSnapshotFailed, and does not affect the run.
	Snapshots bool

	// Migrate carries runs over a change of code. It is called when a run is resumed, its journal
	// does not fit the strategies of this process, and the Store has a snapshot of all its records.
	// Migrate changes the snapshot in place: names of strategies, and their positions and memories,
	// see [machine.FrameSnapshot.Become]. Then the run continues from the snapshot, and its journal
	// tells so with a [machine.Migrated], which is stored together with the first record after it.
	// Other versions of the program can no longer continue the run, unless their strategies have
	// the same names and tables.
	//
	// If there is no such snapshot, if Migrate returns an error or panics, or if the strategies do
	// not accept what it made, the run is as it was, and the error of Resume has both reasons.
	// Migrate must be pure; it is called from several goroutines at once. Redact is not called with
	// what it changes. A run that was started with a [Task].Factory needs the same one as before.
	Migrate func(*machine.Snapshot) error

	// Factory returns the [Task].Factory of a run that was started with one. Replay, Follow, Fork,
	// Diff and Import of [Orchestrator] call it. It returns nil for a run that it does not know. It
	// may be called from several goroutines at once.
	Factory func(checkpoint.Head) func() strategy.Strategy

	// Redact removes from a record what must not be kept, such as card numbers, before the record
	// is applied. The run continues with what Redact returns, and so does a resumed run:
	// strategies, models, tools, events and the journal see nothing else of the record. Redact may
	// change what somebody wrote: inputs, answers, questions, replies, notes, reasons, metadata and
	// labels. All other fields must stay; an answer keeps its type, and a tool result its call.
	// Resume does not redact the records of a journal again.
	//
	// Redact must be deterministic and idempotent: it sees the question of a tool each time the
	// tool asks it, and a posted message before it is posted and again before it is applied. It
	// must not modify its argument, and is called from several goroutines at once. If it returns an
	// error, panics, or changes a field that must stay, nothing of the record is kept: the run does
	// not start, or it is interrupted and parked, with a [*RedactionError].
	//
	// With Redact, events that no record stands behind are held back: deltas, progress of tools,
	// events of Middleware, and the error texts of retries. A redacted reply is emitted as one
	// delta. With TellUnredacted these events are emitted as they come. Redact does not apply to
	// what Middleware, Approve, OnPanic and a Logger with LogContent are given.
	Redact         func(machine.Record) (machine.Record, error)
	TellUnredacted bool

	// Lease is how long a run stays reserved for this process after the process was last heard of,
	// if the Store is a [checkpoint.Leaser]. Each append renews the lease; without appends the
	// lease is renewed every third of the time. 0: 30 seconds; negative: no leases.
	Lease time.Duration

	// InboxEvery is how often runs in progress read the messages that other processes posted, if
	// the Store is a [checkpoint.Inbox]. 0: every second; negative: never.
	InboxEvery time.Duration

	// Version names the program with its strategies, prompts and tools, such as a release or a
	// commit. It is stored with every run that the program works on. If one version cannot resume a
	// run, other versions try again; see [Orchestrator.Recover].
	Version string

	// Reply answers waits in this process: questions from [tools.Ask], and approvals. It may block
	// as long as a person needs; its context ends with the run, the step, or the expiry of the
	// wait. It is called concurrently, once for each wait. If Reply is nil, or returns an error
	// that is or wraps [tools.ErrSuspended], nobody can answer now, and the run is suspended.
	Reply func(ctx context.Context, w machine.Wait) (machine.Reply, error)

	// StopNote is the text of the assistant message that is added if a stopped conversation ends
	// with tool results: some providers accept only an assistant message after tool results. "" is
	// "[stopped]"; "-" adds none.
	StopNote string

	// CallDeltas has a run that is streamed tell the tool calls that a model writes piece by piece,
	// as EventCallDelta, where the client hands them on ([llmclient.WithCallDeltas]). A caller who
	// wants whole calls needs no pieces: EventToolStarted has them.
	CallDeltas bool

	// KeepTextCalls leaves calls in the text of replies. Without it, calls that a server has left
	// there are made, as it says in the package comment.
	KeepTextCalls bool

	// Repeats is how often a model may make the same call of a tool, the first time included, while
	// it has the same result and nothing is new: a call that is not read-only, a reply of a person,
	// a note. The model is told that the result is the same. A further call is not made: the
	// strategies of this library ask the model for an answer then, and end with the code
	// delegation.CodeRepetition. A tool for which repeating is right says so by
	// tools.Definition.Repeatable. 0: 2; negative: any number.
	Repeats int

	Parallel      int // most model calls, tool calls and remote delegations of a run at once; 0: 8; negative: any number
	MaxToolResult int // maximum size of a tool's result in bytes, the rest is cut; 0: 256 KiB; negative: no maximum

	// LargeResults keeps results of tools that are too large for a model, to be read in parts.
	LargeResults LargeResults

	// OnPanic is called for each panic that was contained: of tools, clients, middleware, remotes,
	// strategies, stores and Reply, and of errors whose Error method panics. The context is that of
	// the run. OnPanic is called concurrently, also on goroutines of tools; its own panics are
	// ignored.
	OnPanic func(ctx context.Context, p machine.PanicReport)

	// Observe is called when this process starts or resumes a run, before the first event. What it
	// returns observes the run: package otel makes traces and metrics of it. The functions are
	// called on the goroutine of the run's loop, so they must not block. With Observe, Run makes
	// the events that Stream makes, except deltas. A panic ends the observation of the run, and is
	// reported to OnPanic. A run that cannot be started or resumed has no event.
	Observe func(ctx context.Context, key checkpoint.Key) Observation

	// Logger gets log records of runs: ids, names, counts and codes. Nil logs nothing.
	//
	//   - Error: a panic that was contained, with its stack; a store that failed.
	//   - Warn: a run that ended with another status than done or waiting; a retry; a refused call,
	//     reply or event; in New, strategies without a table.
	//   - Info: a run that began, was resumed, broke off or ended; a wait that began or ended.
	//   - Debug: steps, tool calls, and strategies that begin and end.
	//
	// Prompts, replies, arguments, results, the texts of errors and the values of panics are logged
	// only with LogContent. Panics of the logger's handler are ignored.
	Logger     *slog.Logger
	LogContent bool

	// Remote performs delegations to strategies in another service or process. The names must
	// differ from those in Strategies.
	Remote map[string]Remote
}

// Remote performs a delegation in another service. An error means that the step failed; if the
// child failed, return an Output with Err. step.Limits is what is left of the run's limits. Set
// Output.Counts to the amounts that the Remote has used; without any Counts, the Remote is charged
// with everything that was left, and the run can only take its last step. Set Output.Untrusted if
// the output holds text from outside.
//
// ctx is that of a tool: [tools.IdempotencyKey], [tools.Ask], [tools.Suspend] and [tools.Resumed]
// work in a Remote. The key is stored, by its record, before the call. A Remote that is called
// again with it, after a crash, should look up what it has begun. A Remote may also suspend by a
// [SuspendedError]: Resumed then returns its State, and an answer for each of its Waits.
type Remote func(ctx context.Context, step nextstep.Delegate) (delegation.Output, error)

// Timeouts are the time-outs of a run. Zero means none, unless the field says otherwise.
type Timeouts struct {
	Run       time.Duration // of a whole run; the run is stopped when it expires
	Model     time.Duration // of one request to a model, including attempts inside the client
	ModelIdle time.Duration // between two pieces of a streamed reply, also of Run; the client may have its own, shorter one
	Tool      time.Duration // of one tool call whose definition has none; 0: 60 seconds; negative: none

	// Store is how long a failing append is retried, and a failing read of the inbox of a run that
	// is resumed; 0: 10 seconds; negative: not at all.
	Store time.Duration
}

// Result is the result of a run. In every case Output.Messages holds the conversation so far.
type Result struct {
	Run    string
	Status machine.Status
	Output delegation.Output
	Waits  []machine.Wait // for StatusWaiting

	Strategy string            // which has answered: the root, or the last one to which it handed off
	Limits   delegation.Limits // limits of the run; negative: no limit
	Left     delegation.Limits // what was left of the Limits at the end
}

// Orchestrator runs tasks. It is one loop around a [machine.Machine], and a [Handler] that performs
// its effects. It is safe for concurrent use; any number of runs may be in progress at once.
type Orchestrator struct {
	cfg     Config
	left    leftReader
	tools   *tools.Set
	runner  toolrun.Runner
	approve machine.ApprovalPolicy
	handler Handler
	wrapped bool           // by Middleware
	full    machine.Config // for runs with a consumer of events
	quiet   machine.Config // for other runs

	prices        llmclient.Prices
	names         func() []string // names of the tools of the Config
	toolNames     []string        // names of all tools, those of strategies included
	agentTimeouts bool            // at least one agent has a time-out
	leaser        checkpoint.Leaser
	snapshots     checkpoint.SnapshotStore
	values        checkpoint.ValueStore // for LargeResults; nil: they are off, or kept in memory
	keeper        keeper
	posted        chan struct{} // wakes Recover: a message was posted to a run on which nobody works here
	followers     followers
	engine        engine
}

// New checks the configuration and returns an Orchestrator, so that mistakes are found before a
// model is called. It makes each strategy twice. It returns an error if a strategy has an invalid
// configuration, table or caps; if its factory returns the same strategy twice; if it brings a tool
// whose name is taken; or if it names an unknown tool or strategy ([strategy.Namer]). A strategy
// that is not a [strategy.Tabler] has no table to check; it is accepted, and Logger gets a warning.
// Errors are joined [*ConfigError] values.
func New(cfg Config) (*Orchestrator, error) {
	cfg.Strategies, cfg.Remote, cfg.Repetition = maps.Clone(cfg.Strategies), maps.Clone(cfg.Remote), cfg.Repetition.withDefaults()
	o := &Orchestrator{
		cfg:     cfg,
		left:    leftReader{client: cfg.Client},
		runner:  toolrun.Runner{Timeout: cfg.Timeouts.Tool, MaxResult: cfg.MaxToolResult}.WithDefaults(),
		approve: cfg.Approve.policy(),
		posted:  make(chan struct{}, 1),
	}
	if err := o.configureLarge(&cfg); err != nil {
		return nil, err
	}
	c := check{cfg: &cfg, field: "Strategies"}
	if err := errors.Join(c.all(), o.configureSnapshots()); err != nil {
		return nil, errors.Join(err, o.wrap(cfg.Middleware))
	}
	if err := o.wrap(cfg.Middleware); err != nil {
		return nil, err
	}
	if names := cfg.Strategies.Names(); cfg.Default == "" && len(names) == 1 {
		o.cfg.Default = names[0]
	}
	o.tools, o.names, o.toolNames = c.tools, c.tools.Names, c.toolNames()
	o.approve = withNotes(o.approve, o.tools.Definitions())
	o.prices = llmclient.KnownPrices()
	o.configureStore()
	o.configure()
	if len(c.tableless) > 0 {
		o.log(context.Background(), slog.LevelWarn, "strategies without a table: their states and caps are not checked", slog.Any("strategies", c.tableless))
	}
	return o, nil
}

// configureStore finds the abilities of the Store.
func (o *Orchestrator) configureStore() {
	cfg := &o.cfg
	cfg.Timeouts.Store = cmp.Or(cfg.Timeouts.Store, 10*time.Second)
	cfg.Lease, cfg.InboxEvery = cmp.Or(cfg.Lease, 30*time.Second), cmp.Or(cfg.InboxEvery, time.Second)
	if leaser, ok := checkpoint.As[checkpoint.Leaser](cfg.Store); ok && cfg.Lease > 0 {
		o.leaser = leaser
		o.keeper.every = cfg.Lease / 3
	}
	if inbox, ok := checkpoint.As[checkpoint.Inbox](cfg.Store); ok {
		o.keeper.inbox = inbox
		if cfg.InboxEvery > 0 && (o.keeper.every == 0 || cfg.InboxEvery < o.keeper.every) {
			o.keeper.every = cfg.InboxEvery
		}
	}
}

// configure makes the configurations of Machines.
func (o *Orchestrator) configure() {
	cfg := &o.cfg
	o.full = machine.Config{
		Strategies: cfg.Strategies, Tools: o.tools.Definitions(), Agents: map[string]*machine.Agent{}, Remote: slices.Sorted(maps.Keys(cfg.Remote)),
		Limits: cfg.Limits, Repeats: cfg.Repeats, Parallel: cfg.Parallel, MaxResult: cfg.MaxToolResult, Approve: o.approve, StopNote: cfg.StopNote,
		Durable: cfg.Store != nil, Strict: cfg.Strict,
	}
	if cfg.Approve != nil {
		o.full.Expires = cfg.Approve.Expires
	}
	if cfg.Store != nil {
		o.full.Fingerprints = machine.Fingerprints(cfg.Strategies)
	}
	for _, t := range cfg.Tools {
		if a := machine.AgentOf(t); a != nil {
			o.full.Agents[t.Definition().Name] = a
			o.agentTimeouts = o.agentTimeouts || t.Definition().Timeout > 0
		}
	}
	o.full.Prepare()
	o.quiet = o.full
	o.quiet.Quiet = true
}

// wrap makes the Handler, with the middlewares around it.
func (o *Orchestrator) wrap(around []Middleware) error {
	var problems []error
	o.handler, o.wrapped = o.perform, len(around) > 0
	for i, wrap := range slices.Backward(around) {
		if wrap == nil {
			problems = append(problems, &ConfigError{Field: "Middleware", Err: fmt.Errorf("number %d is nil: leave it out", i)})
			continue
		}
		o.handler = boundary(wrap(o.handler))
	}
	return errors.Join(problems...)
}

// Run runs a task until it ends or waits. It uses the same loop as [Orchestrator.Stream], except
// that nobody is shown replies while they come: the client streams them only so that silence and
// repetition are noticed ([llmclient.WithWatch]), or not at all if it cannot. The error is the Err
// of the output, with its cause; the Result is filled in either way. For a run that waits, the
// error is nil if the run can be resumed, an [*UnansweredError] if it cannot, and a
// [*machine.ReplyError] if Config.Reply answered another wait than the one it was asked about. If
// the task cannot be started, the error is a [*ConfigError], or with a Store a [*RunExistsError] or
// [*JournalError].
func (o *Orchestrator) Run(ctx context.Context, task Task) (Result, error) {
	res := Result{Run: task.Run, Status: machine.StatusFailed, Output: delegation.Output{Messages: task.Input.Messages}}
	var failed error
	o.loop(ctx, &task, false, func(e machine.Event, err error) bool {
		failed = err
		if end, ok := e.Detail.(machine.RunFinished); ok {
			res = result(&end, e.Run)
		}
		return true
	})
	return res, failed
}

// Stream runs a task and yields its events as they happen, on the caller's goroutine. A slow
// consumer slows the run. The last event is RunFinished; the error of the run, if any, comes with
// it. A task that cannot be started yields an error and no event.
//
// Breaking out of the loop ends the work at once and leaves no goroutine. With a Store the run can
// then be resumed, as after a crash. To end a run for good, cancel its context or close Stop.
func (o *Orchestrator) Stream(ctx context.Context, task Task) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) { o.loop(ctx, &task, true, yield) }
}

// Bound returns how much the run of a task uses at most, before it begins. See package
// machine/bound for what that says and what not. Only the Strategy or Factory, the Limits and the
// Tools of the task matter. Errors are joined [*ConfigError] values, as those of
// [Orchestrator.Run].
func (o *Orchestrator) Bound(task Task, opts bound.Options) (bound.Bound, error) {
	s, err := o.started(&task)
	if err != nil {
		return bound.Bound{}, err
	}
	cfg := &o.full
	if task.Factory != nil {
		cfg = o.withFactory(cfg, s.Strategy, task.Factory)
	}
	return bound.Of(cfg, s, opts)
}

// price adds the cost to the record of an answer.
func (o *Orchestrator) price(e *machine.Effect, rec *machine.Answered) {
	if e.Kind != machine.EffectModel {
		return
	}
	asked := ""
	if step, ok := e.Step.(nextstep.GetChatCompletion); ok {
		asked = step.Request.Model
	}
	*rec = rec.Priced(asked, o.cfg.Prices, o.prices)
}

// ConfigError says which field of a [Config] or a [Task] is invalid, why, and what to do.
type ConfigError struct {
	Field string
	Err   error
}

// Error names the field.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("orchestrator: %s: %s", e.Field, guard.Bare(e.Err))
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// configErrors returns a [*ConfigError] about a field for each error joined in err.
func configErrors(field string, err error) error {
	all := guard.Each(err)
	for i, e := range all {
		all[i] = &ConfigError{Field: field, Err: e}
	}
	return errors.Join(all...)
}

// startError returns the error of a run that cannot start, with the invalid field of the [Task].
func (o *Orchestrator) startError(err error) error {
	c, ok := errors.AsType[*machine.ConfigError](err)
	if !ok {
		return err
	}
	if unknown, ok := errors.AsType[*strategy.UnknownError](c.Err); ok && unknown.Name == "" {
		return &ConfigError{Field: "Task.Strategy", Err: fmt.Errorf("%w: name one of them, or set Config.Default", c.Err)}
	}
	return configErrors("Task."+c.Field, c.Err)
}

// RunExistsError reports that a run cannot be started or resumed because its id is in use. It wraps
// checkpoint.ErrConflict.
type RunExistsError struct {
	Run        string
	InProgress bool // here or, if Err wraps [checkpoint.ErrLeased], in another process; otherwise the run has a journal
	Err        error
}

// Error names the run and says what to do.
func (e *RunExistsError) Error() string {
	leased, ok := errors.AsType[*checkpoint.Error](e.Err)
	if ok && leased.Until.After(time.Now().Add(leaseOfEngine/2)) {
		return fmt.Sprintf("orchestrator: run %.64q is one of another engine, which goes on with it; if that engine has lost it, take it over", e.Run)
	}
	if ok && !leased.Until.IsZero() {
		return fmt.Sprintf("orchestrator: run %.64q is in progress in another process, or that has died: wait until %s, or take it over", e.Run, leased.Until.UTC().Format(time.RFC3339))
	}
	if errors.Is(e.Err, errNoLease) {
		return fmt.Sprintf("orchestrator: run %.64q is in progress, or its process has died: without leases nobody knows; wait until it has ended, or set Task.TakeOver", e.Run)
	}
	if e.InProgress {
		return fmt.Sprintf("orchestrator: run %.64q is in progress; wait until it has ended, or choose another id", e.Run)
	}
	return fmt.Sprintf("orchestrator: run %.64q exists already; Resume it, or choose another id", e.Run)
}

// leasedError is the error of a lease that somebody else has, as a conflict.
type leasedError struct{ err error }

func (e *leasedError) Error() string   { return e.err.Error() }
func (e *leasedError) Unwrap() []error { return []error{e.err, checkpoint.ErrConflict} }

// Unwrap returns the cause, such as a [*JournalError].
func (e *RunExistsError) Unwrap() error { return e.Err }

// UnansweredError reports that a run waits for answers and cannot be resumed: Config.Reply is nil
// or did not answer, and Config.Store is nil. The Result beside it has StatusWaiting, the waits and
// the messages so far. It wraps [tools.ErrSuspended].
type UnansweredError struct {
	Run   string
	Waits []machine.Wait
	Err   error // why Config.Reply did not answer, if known; may be nil
}

// Error names the run and says what is missing.
func (e *UnansweredError) Error() string {
	text := fmt.Sprintf("orchestrator: run %.64q waits for %s and cannot go on: nobody can be asked, and without Config.Store nothing was stored to resume", e.Run, answers(len(e.Waits)))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [tools.ErrSuspended], and the cause if there is one.
func (e *UnansweredError) Unwrap() []error {
	if e.Err == nil {
		return []error{tools.ErrSuspended}
	}
	return []error{tools.ErrSuspended, e.Err}
}
