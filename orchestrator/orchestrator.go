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
	"github.com/segue-go/segue/machine"
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
	Prices     llmclient.Prices  // of models, beside [llmclient.KnownPrices], and before them; nil: those alone
	Timeouts   Timeouts
	Middleware []Middleware // around every model call, tool call and remote delegation; the first is the outermost

	// Approve says which tool calls need a person's approval. Nil: those of tools whose Definition
	// says NeedsApproval, and no others.
	Approve *ApprovalConfig

	// Strict has a run resumed only if its strategies ask for the very same as when it was
	// recorded. Else what they ask for may be worded otherwise, as long as frames, kinds of steps
	// and tools are the same, and the event EventDrifted tells.
	Strict bool

	// Store keeps a journal of every run, from which [Orchestrator.Resume] goes on: an answer is
	// stored before the run goes on with it. Nil keeps none; then a run that waits cannot go on.
	Store checkpoint.Store

	// Reply answers what runs wait for, in this process: what [tools.Ask] asks, and approvals. It
	// may take as long as a person does; its context ends with the run, its step, or the wait's
	// expiry. It is called from several goroutines at once, one for each wait. An error that wraps
	// [ErrSuspended] says that nobody can answer now, and suspends the run, as nil does.
	Reply func(ctx context.Context, w Wait) (Reply, error)

	// StopNote is the text of the assistant message that closes a conversation which a stop left
	// with tool results at its end: some providers take nothing but an assistant's message behind
	// them. "" is "[stopped]"; "-" adds none.
	StopNote string

	// CallDeltas has a run that is streamed tell the tool calls that a model writes piece by piece,
	// as EventCallDelta, where the client hands them on ([llmclient.WithCallDeltas]). A caller who
	// wants whole calls needs no pieces: EventToolStarted has them.
	CallDeltas bool

	Parallel      int // most model calls, tool calls and remote delegations of a run at once; 0: 8; negative: any number
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
// an Output with Err. step.Limits are what the run has left. Output.Counts say how much of it the
// Remote has used; with no Counts at all the Remote counts as having used all of it, and the run
// can take no further step but the last. Output.Untrusted says that the output holds text from
// outside.
type Remote func(ctx context.Context, step nextstep.Delegate) (delegation.Output, error)

// Timeouts are durations. Zero means none, if nothing else is said.
type Timeouts struct {
	Run       time.Duration // of a whole run, which is then stopped
	Model     time.Duration // of one request to a model, the attempts inside the client included
	ModelIdle time.Duration // between two pieces of a streamed reply; the client may have a shorter one of its own
	Tool      time.Duration // of one tool call, where its definition has none; 0: 60 seconds; negative: none
}

// Result is how a run ended. Output.Messages holds the conversation so far whatever happened.
type Result struct {
	Run    string
	Status Status
	Output delegation.Output
	Waits  []Wait // for StatusWaiting

	Strategy string            // of the root
	Limits   delegation.Limits // of the run; negative: there is no limit
	Left     delegation.Limits // of the Limits, in the end
}

// Orchestrator runs tasks. It is one loop around a [machine.Machine], and a [Handler] that performs
// its effects. It holds nothing of a run, so any number of runs may go on at once.
type Orchestrator struct {
	cfg     Config
	tools   *tools.Set
	runner  tools.Runner
	approve ApprovalPolicy
	handler Handler
	wrapped bool           // by Middleware
	full    machine.Config // of the Machines of runs whose steps somebody sees
	quiet   machine.Config // of the others

	prices        llmclient.Prices
	names         func() []string // of the tools of the Config
	toolNames     []string        // those of strategies among them
	agentTimeouts bool            // an agent has one
	active        sync.Map        // ids of runs with a journal that are in progress here
	workspaces    sync.Pool       // of *workspace
}

// New checks the configuration and returns an Orchestrator, so that no mistake in it costs a model
// call. Each strategy is made twice: one that is configured wrongly, whose table or caps are wrong,
// that brings a tool whose name is taken, that names a tool or a strategy that there is not
// ([strategy.ToolNamer], [strategy.Delegator]), or whose factory returns the same one again, is
// found now. A strategy whose table cannot be seen, because it is no [strategy.Tabler], is taken,
// and Logger is told of it. Errors are [*ConfigError], joined.
func New(cfg Config) (*Orchestrator, error) {
	cfg.Strategies, cfg.Remote = maps.Clone(cfg.Strategies), maps.Clone(cfg.Remote)
	o := &Orchestrator{
		cfg:     cfg,
		runner:  tools.Runner{Timeout: cfg.Timeouts.Tool, MaxResult: cfg.MaxToolResult}.WithDefaults(),
		approve: cfg.Approve.policy(),
	}
	c := check{cfg: &cfg, field: "Strategies"}
	if err := c.all(); err != nil {
		return nil, errors.Join(err, o.wrap(cfg.Middleware))
	}
	if err := o.wrap(cfg.Middleware); err != nil {
		return nil, err
	}
	if names := cfg.Strategies.Names(); cfg.Default == "" && len(names) == 1 {
		o.cfg.Default = names[0]
	}
	o.tools, o.names, o.toolNames = c.tools, c.tools.Names, c.toolNames()
	o.prices = llmclient.KnownPrices()
	o.configure()
	if len(c.tableless) > 0 {
		o.log(context.Background(), slog.LevelWarn, "strategies without a table: their states and caps are not checked", slog.Any("strategies", c.tableless))
	}
	return o, nil
}

// configure puts together what Machines work with.
func (o *Orchestrator) configure() {
	cfg := &o.cfg
	o.full = machine.Config{
		Strategies: cfg.Strategies, Tools: o.tools.Definitions(), Agents: map[string]*machine.Agent{}, Remote: slices.Sorted(maps.Keys(cfg.Remote)),
		Limits: cfg.Limits, Parallel: cfg.Parallel, MaxResult: cfg.MaxToolResult, Approve: o.approve, StopNote: cfg.StopNote,
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
	o.quiet = o.full
	o.quiet.Quiet = true
}

// wrap puts the Handler together, with the middlewares around it.
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

// Run runs a task to its end. It is a fold over the same loop as [Orchestrator.Stream], except that
// replies are fetched whole. The error is the Err of the output, with its cause; the Result is
// filled either way. A run that waits has no such error; its error is nil if it can be resumed, an
// [*UnansweredError] if it cannot, and a [*ReplyError] if Config.Reply answered another wait than
// the one it was asked about. A task that cannot be started is a [*ConfigError], or with a Store a
// [*RunExistsError] or [*JournalError].
func (o *Orchestrator) Run(ctx context.Context, task Task) (Result, error) {
	res := Result{Run: task.Run, Status: StatusFailed, Output: delegation.Output{Messages: task.Input.Messages}}
	var failed error
	o.loop(ctx, &task, false, func(e Event, err error) bool {
		failed = err
		if end, ok := e.Detail.(RunFinished); ok {
			res = result(&end, e.Run)
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
	return func(yield func(Event, error) bool) { o.loop(ctx, &task, true, yield) }
}
