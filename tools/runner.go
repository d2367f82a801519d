package tools

import (
	"context"
	"time"

	"github.com/segue-go/segue/messages"
)

// Defaults of a [Runner].
const (
	DefaultParallel     = 8
	DefaultTimeout      = 60 * time.Second
	DefaultMaxResult    = 256 << 10
	DefaultMaxArguments = 1 << 20
	DefaultGrace        = 250 * time.Millisecond
)

// Runner runs the calls of a batch. In each field zero means the default and negative means none.
// The zero value is ready, and safe for concurrent use.
type Runner struct {
	Parallel     int           // calls that run at the same time; default 8
	Timeout      time.Duration // for one call, where its Definition has none; default 60 s
	MaxResult    int           // bytes kept of one result, where its Definition says nothing; default 256 KiB
	MaxArguments int           // bytes of one call's arguments; default 1 MiB
	Grace        time.Duration // for a call to return after its context is done, before it is abandoned; default 250 ms

	// OnPanic is told of a tool that panicked, with the stack, which the result does not show. It
	// is called on the tool's goroutine, several at once; it may be nil. Its own panics are
	// dropped.
	OnPanic func(call messages.ToolCall, value any, stack []byte)
}

// Batch is calls to run, usually those of one assistant message.
type Batch struct {
	Calls  []messages.ToolCall
	Lookup func(name string) (Tool, bool) // finds a tool, such as [Set.Lookup]
	Names  func() []string                // what there is, told to a model that calls something else; may be nil
	Run    string                         // with Seq, what idempotency keys begin with; "" gives the tools none
	Seq    int

	Ask     AskFunc           // asks people for [Ask]; nil: there is nobody to ask
	Observe func(Observation) // is told what happens, on the goroutine of Run; may be nil

	// While Run waits, a value received from Wake makes it call OnWake on its goroutine. Both may
	// be nil.
	Wake   <-chan struct{}
	OnWake func()
}

// Asked is a [Question] of a running tool.
type Asked struct {
	Question
	Call messages.ToolCall
	Run  string // of the [Batch]
	Seq  int    // of the [Batch]
}

// AskFunc asks a person what a tool wants to know. It is called on the tool's goroutine, several at
// once, with the tool's context, and returns an error that wraps [ErrSuspended] where the answer is
// not to be had now. A tool that was abandoned may still be in it when its batch is over.
type AskFunc func(ctx context.Context, a Asked) (string, error)

// Observation is something that happens while a batch runs.
type Observation struct {
	Kind   ObservationKind
	Index  int                  // of the call in the batch
	Call   *messages.ToolCall   // in Batch.Calls; read-only
	Text   string               // for Progressed: what the tool said
	Output *messages.ToolOutput // for Finished, among the results; read-only
}

// ObservationKind is the kind of an [Observation].
type ObservationKind uint8

// The kinds. A call that is not started (there is no such tool, the run was interrupted) has only
// Finished; one that is suspended has no Finished.
const (
	Started    ObservationKind = iota + 1 // the call is about to start: it starts only after Observe has returned
	Progressed                            // the tool called [Progress]
	Finished                              // the result of the call is there; nothing of this call follows
)

// Run runs the calls and returns their results, in the order of the calls whatever the order in
// which they finish.
//
//   - Calls run at the same time, up to Parallel. A call of a Sequential tool starts when all before it are finished, and
//     none starts before it is finished. A tool with a method Pure that says true runs on the caller's goroutine; every
//     other on one of its own.
//   - What goes wrong with a call is its result, and never touches another: an unknown tool, arguments that are too long
//     or wrong, an error, a panic. An error whose methods panic, such as a typed nil, is a panic of its tool.
//   - At its time-out a call's context is done, with a [*TimeoutError] as cause. When ctx is done, every call's context
//     is, and calls that have not started fail as interrupted.
//   - A call that returns no error has its result, however late. One that returns an error after its context was done
//     was cut off: it failed if its tool is ReadOnly or Idempotent, else its status is unknown. So is a call that does
//     not return within Grace: it is abandoned, and nothing more is heard of it. Its goroutine ends when the tool
//     returns.
//   - A call whose error wraps [ErrSuspended] has no result, even if its context was done: what stands in its place has
//     [ReasonSuspended], and it is not Finished.
//   - A result is cut at MaxResult, with a line that says so; bytes that are not UTF-8 become U+FFFD.
//
// Run returns when every call is finished or abandoned.
func (r Runner) Run(ctx context.Context, b Batch) []messages.ToolOutput {
	s := r.NewSession()
	defer s.Close()
	return s.Run(ctx, b)
}

// Session is a [Runner] for batches that come one after another. It keeps a goroutine between them,
// which saves a short call most of what it costs to run. It is for one goroutine at a time.
type Session struct {
	runner Runner
	epoch  time.Time   // times are counted from it: reading the monotonic clock alone takes half as long
	bg     *background // nil until a call needs a goroutine of its own
}

// NewSession returns a session. Close it after the last batch.
func (r Runner) NewSession() *Session { return &Session{runner: r.withDefaults(), epoch: time.Now()} }

func (s *Session) now() time.Duration { return time.Since(s.epoch) }

// Run is [Runner.Run].
func (s *Session) Run(ctx context.Context, b Batch) []messages.ToolOutput {
	if len(b.Calls) == 0 {
		return nil
	}
	x := batch{Batch: b, session: s, ctx: ctx, outputs: make([]messages.ToolOutput, len(b.Calls))}
	left := true
	defer func() {
		if left { // Observe panicked: what is running now belongs to no batch any more
			s.Close()
		}
	}()
	for i := range b.Calls {
		x.run(i)
	}
	x.await(0)
	if x.bg != nil {
		x.bg.leave()
	}
	left = false
	return x.outputs
}

// Close ends the goroutine that the session keeps. Those of abandoned calls end when their tools
// return.
func (s *Session) Close() {
	if s.bg != nil {
		s.bg.close()
		s.bg = nil
	}
}

func (r Runner) withDefaults() Runner {
	r.Parallel = withDefault(r.Parallel, DefaultParallel)
	r.Timeout = withDefault(r.Timeout, DefaultTimeout)
	r.MaxResult = withDefault(r.MaxResult, DefaultMaxResult)
	r.MaxArguments = withDefault(r.MaxArguments, DefaultMaxArguments)
	r.Grace = withDefault(r.Grace, DefaultGrace)
	return r
}

func withDefault[N int | time.Duration](n, def N) N {
	if n == 0 {
		return def
	}
	return n
}
