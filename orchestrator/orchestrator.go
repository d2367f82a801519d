package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Config is what an [Orchestrator] works with. Client and Strategies are required. [New] copies the
// maps and slices.
type Config struct {
	Client     llmclient.Client  // asks the models
	Strategies strategy.Set      // what may be run and delegated to
	Default    string            // the strategy of a Task that names none; "" means the only one there is
	Tools      []tools.Tool      // what models may call
	Limits     delegation.Limits // of each run; zero fields are the defaults
	Timeouts   Timeouts
	Middleware []Middleware // around every step; the first is the outermost

	// Store keeps a journal of every run, from which [Orchestrator.Resume] goes on: an answer is
	// stored before the run goes on with it. Nil keeps none; then a run that waits cannot go on.
	Store checkpoint.Store

	// Reply answers what runs wait for, in this process: what [tools.Ask] asks, and approvals. It
	// may take as long as a person does; its context ends with the run, its step, or the wait's
	// expiry. It is called from several goroutines at once, those of tools among them. An error
	// that wraps [ErrSuspended] says that nobody can answer now, and suspends the run, as nil does.
	Reply func(ctx context.Context, w Wait) (Reply, error)

	// StopNote is the text of the assistant message that closes a conversation which a stop left
	// with tool results at its end: some providers take nothing but an assistant's message behind
	// them. "" is "[stopped]"; "-" adds none.
	StopNote string

	Parallel      int // most tool calls of a batch at once; 0: 8
	MaxToolResult int // bytes of a tool's result that are kept; 0: 256 KiB; negative: all

	// OnPanic is told of panics that were contained: of tools, clients, middleware, remotes,
	// strategies, stores and Reply, and of errors whose Error method panics. The context is that of
	// the run. It is called from several goroutines at once, those of tools among them; its own
	// panics are dropped.
	OnPanic func(ctx context.Context, p PanicReport)

	// Logger is told what happens in runs: ids, names, counts and codes. Nil logs nothing.
	//
	//   - Error: a panic that was contained, with its stack; a store that failed.
	//   - Warn: a run that ended as anything but done or waiting; a retry; a call, a reply or an event that was refused; in New,
	//     strategies without a table.
	//   - Info: a run that began, went on, broke off or ended; a wait that began or ended.
	//   - Debug: steps, tool calls, and strategies that begin and end.
	//
	// Prompts, replies, arguments, results, the texts of errors and the values of panics are logged
	// only with LogContent. A handler that panics ends nothing.
	Logger     *slog.Logger
	LogContent bool

	// Remote performs delegations to strategies that are not in Strategies: another service,
	// another process. The names must differ from those in Strategies.
	Remote map[string]Remote
}

// Remote performs a delegation elsewhere. An error is a failure of the step; a child that failed is
// an Output with Err.
type Remote func(ctx context.Context, step nextstep.Delegate) (delegation.Output, error)

// Timeouts are durations. Zero means none, if nothing else is said.
type Timeouts struct {
	Run       time.Duration // of a whole run, which is then stopped
	Model     time.Duration // of one request to a model, the attempts inside the client included
	ModelIdle time.Duration // between two pieces of a streamed reply; the client may have a shorter one of its own
	Tool      time.Duration // of one tool call, where its definition has none; 0: 60 seconds; negative: none
}

// Task is one run to make.
type Task struct {
	Strategy string            // name in Config.Strategies; "" means Config.Default
	Input    delegation.Input  // what to do
	Run      string            // the run's id, as checkpoint.CheckRun allows; "" makes one
	Limits   delegation.Limits // zero fields are those of the Config
	Stop     <-chan struct{}   // closing it stops the run after the step in progress; cancelling the context stops it now
}

// Result is how a run ended. Output.Messages holds the conversation so far whatever happened.
type Result struct {
	Run    string
	Status Status
	Output delegation.Output
	Waits  []Wait // for StatusWaiting
}

// Orchestrator runs tasks. It is one loop around a [Machine], and a [Handler] that performs the
// steps. It holds nothing of a run, so any number of runs may go on at once.
type Orchestrator struct {
	client     llmclient.Client
	strategies strategy.Set
	byDefault  string
	tools      *tools.Set
	runner     tools.Runner
	limits     delegation.Limits
	timeouts   Timeouts
	remote     map[string]Remote
	remoteList []string
	store      checkpoint.Store
	reply      func(context.Context, Wait) (Reply, error)
	stopNote   string
	onPanic    func(context.Context, PanicReport)
	logger     *slog.Logger
	logContent bool
	handler    Handler
	wrapped    bool      // by Middleware
	agents     bool      // tools run agents
	active     sync.Map  // ids of runs with a journal that are in progress here
	machines   sync.Pool // of *Machine whose runs have ended: one is larger than all that a step allocates
}

// New checks the configuration and returns an Orchestrator. Each strategy is made once, so that one
// that is configured wrongly, whose table or caps are wrong, or that brings a tool whose name is
// taken, is found now. A strategy whose table cannot be seen, because it is no [strategy.Tabler],
// is taken, and Logger is told of it. Errors are [*ConfigError], joined.
func New(cfg Config) (*Orchestrator, error) {
	cfg.Strategies, cfg.Remote = maps.Clone(cfg.Strategies), maps.Clone(cfg.Remote)
	set, err := tools.NewSet(cfg.Tools...)
	problems := []error{
		when(cfg.Client == nil, "Client", errors.New("is nil")),
		when(len(cfg.Strategies) == 0, "Strategies", errors.New("is empty")),
		when(err != nil, "Tools", err),
	}
	trial := trial{set: cfg.Strategies, run: set}
	for _, name := range cfg.Strategies.Names() {
		problems = append(problems, trial.strategy(name))
		if _, taken := cfg.Remote[name]; taken {
			problems = append(problems, &ConfigError{Field: "Remote", Err: fmt.Errorf("%q is in Strategies too", name)})
		}
	}
	o := &Orchestrator{
		client:     cfg.Client,
		strategies: cfg.Strategies,
		byDefault:  cfg.Default,
		tools:      set,
		runner:     tools.Runner{Parallel: cfg.Parallel, Timeout: cfg.Timeouts.Tool, MaxResult: cfg.MaxToolResult},
		limits:     cfg.Limits,
		timeouts:   cfg.Timeouts,
		remote:     cfg.Remote,
		store:      cfg.Store,
		reply:      cfg.Reply,
		stopNote:   cfg.StopNote,
		onPanic:    cfg.OnPanic,
		logger:     cfg.Logger,
		logContent: cfg.LogContent,
	}
	for name, r := range cfg.Remote {
		problems = append(problems, when(r == nil, "Remote", fmt.Errorf("%q is nil", name)))
		o.remoteList = append(o.remoteList, name)
	}
	if _, ok := cfg.Strategies[cfg.Default]; cfg.Default != "" && !ok {
		problems = append(problems, &ConfigError{Field: "Default", Err: &strategy.UnknownError{Name: cfg.Default, Known: cfg.Strategies.Names()}})
	}
	if names := cfg.Strategies.Names(); cfg.Default == "" && len(names) == 1 {
		o.byDefault = names[0]
	}
	if set != nil { // else it may hold what is no tool
		problems = append(problems, o.findAgents(cfg.Tools))
	}
	problems = append(problems, o.wrap(cfg.Middleware, append(trial.own, set.Definitions()...)))
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if len(trial.tableless) > 0 {
		o.log(context.Background(), slog.LevelWarn, "strategies without a table: their states and caps are not checked", slog.Any("strategies", trial.tableless))
	}
	return o, nil
}

// wrap puts the Handler together, with the middlewares around it; defs are those of all tools that
// there are.
func (o *Orchestrator) wrap(around []Middleware, defs []tools.Definition) error {
	var problems []error
	for i, wrap := range slices.Backward(around) {
		problems = append(problems, when(wrap == nil, "Middleware", fmt.Errorf("number %d is nil", i)))
	}
	needed := needApproval(defs)
	var rules rulebook
	o.handler = rules.wrap(o.perform, around, needed)
	o.wrapped = len(around) > 0 || needed
	known := make([]string, len(defs))
	for i, d := range defs {
		known[i] = d.Name
	}
	return errors.Join(append(problems, rules.check(known))...)
}

// findAgents finds out whether tools run agents, and whether their strategies are there.
func (o *Orchestrator) findAgents(list []tools.Tool) error {
	var problems []error
	for _, t := range list {
		a := agentOf(t)
		if a == nil {
			continue
		}
		o.agents = true
		if _, ok := o.strategies[a.Strategy]; !ok {
			problems = append(problems, &ConfigError{Field: "Tools", Err: fmt.Errorf("agent tool %q: %w", a.def.Name,
				&strategy.UnknownError{Name: a.Strategy, Known: o.strategies.Names()})})
		}
	}
	return errors.Join(problems...)
}

func when(bad bool, field string, err error) error {
	if !bad {
		return nil
	}
	return &ConfigError{Field: field, Err: err}
}

// trial makes strategies to see whether they can be made.
type trial struct {
	set       strategy.Set
	run       *tools.Set         // the tools of the run
	tableless []string           // the names of strategies without a table
	own       []tools.Definition // of the tools that strategies bring
}

// strategy makes a strategy to see whether it can be made, and whether its own tools are named
// unlike the run's.
func (t *trial) strategy(name string) error {
	var f frame
	if err := (&Machine{set: t.set}).build(&f, name); err != nil {
		return &ConfigError{Field: "Strategies", Err: err}
	}
	if _, ok := f.st.(strategy.Tabler); !ok {
		t.tableless = append(t.tableless, name)
	}
	own, err := tools.NewSet(f.own...)
	if err != nil {
		return &ConfigError{Field: "Strategies", Err: fmt.Errorf("strategy %q: %w", name, err)}
	}
	t.own = append(t.own, own.Definitions()...)
	for _, tool := range own.Names() {
		if _, taken := t.run.Lookup(tool); taken {
			return &ConfigError{Field: "Strategies", Err: fmt.Errorf("strategy %q brings a tool %q, and so does Tools", name, tool)}
		}
	}
	return nil
}

// Run runs a task to its end. It is a fold over the same loop as [Orchestrator.Stream], except that
// replies are fetched whole. The error is the Err of the output, with its cause; the Result is
// filled either way. A run that waits has no such error; its error is nil if it can be resumed, an
// [*UnansweredError] if it cannot, and a [*ReplyError] if Config.Reply answered another wait than
// the one it was asked about. A task that cannot be started is a [*ConfigError], or with a Store a
// [*RunExistsError] or [*JournalError].
func (o *Orchestrator) Run(ctx context.Context, task Task) (Result, error) {
	res := Result{Run: task.Run, Status: StatusFailed, Output: delegation.Output{Messages: task.Input.Messages}}
	var failed error
	o.loop(ctx, task, false, func(e Event, err error) bool {
		failed = err
		if end, ok := e.Detail.(RunFinished); ok {
			res = end.result(e.Run)
		}
		return true
	})
	return res, failed
}

// Stream runs a task and yields what happens as it happens, on the caller's goroutine: a consumer
// that is slow slows the run. The last event is RunFinished, and with it comes the error of the
// run, if there is one. A task that cannot be started at all yields an error and no event.
//
// Breaking out of the loop ends the work at once and leaves no goroutine behind. With a Store the
// run can be resumed, as after a crash; end it for good by its context, or by Stop.
func (o *Orchestrator) Stream(ctx context.Context, task Task) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { o.loop(ctx, task, true, yield) }
}
