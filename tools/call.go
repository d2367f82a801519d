package tools

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/messages"
)

// call is a call in the background, and the context that its tool is given.
//
// As a context it costs nothing until the tool asks for more than the deadline; then it becomes one
// of package context.
type call struct {
	task
	bg     *background
	parent context.Context // of the batch
	run    string          // of the batch
	seq    int             // of the batch
	ask    AskFunc         // of the batch
	began  time.Duration   // when it was added, since bg.epoch

	state callState            // guarded by bg.mu
	out   *messages.ToolOutput // written by the worker when state becomes finished

	// Run's own:
	over   bool          // its result is settled
	cutOff string        // why its time is over; "" while it is not
	due    time.Duration // when Run has to look at it, since bg.epoch: the deadline, then the end of the grace; 0: never

	mu       sync.Mutex
	ended    bool // the tool has returned
	stopped  bool // what it asked was ended by a stop of the run
	attached []messages.Attachment
	std      context.Context // nil until it is asked for
	cancel   context.CancelFunc
}

type callState uint8

const (
	queued   callState = iota
	running            // a worker has taken it
	finished           // the output is there
	dropped            // nobody waits for it
)

type callKey struct{}

// callOf returns the call that ctx belongs to; nil outside a [Runner].
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Progress tells whoever watches the batch that runs the tool of ctx what the tool is doing, in a
// few words. It never waits: what is said faster than it is read is lost, and so is what is said
// after the tool has returned or was abandoned. Outside a [Runner] it does nothing. More than 4 KiB
// are cut.
func Progress(ctx context.Context, text string) {
	if c := callOf(ctx); c != nil {
		c.bg.progress(c, text)
	}
}

// Attach adds something that the tool of ctx made besides its result, such as a file, to the
// [messages.ToolOutput] of its call. The model does not see it. Outside a [Runner], and once the
// call is over, it does nothing.
func Attach(ctx context.Context, a messages.Attachment) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.ended {
			c.attached = append(c.attached, a)
		}
	}
}

// IdempotencyKey returns a key that is the same whenever this very call is made again, and
// different for every other call: "run/seq/id", of the [Batch] and the call. A slash in the id
// stands there as "%2F", and a percent sign as "%25". It returns "" outside a [Runner], or where the
// Batch has no Run.
func IdempotencyKey(ctx context.Context) string {
	c := callOf(ctx)
	if c == nil || c.run == "" {
		return ""
	}
	return c.run + "/" + strconv.Itoa(c.seq) + "/" + escapedID.Replace(c.call.ID)
}

// escapedID keeps the id of a call in one segment of a key, since a run's id may hold slashes too.
var escapedID = strings.NewReplacer("%", "%25", "/", "%2F")

// CallID returns the id of the call that runs the tool of ctx, as the model or its server wrote it;
// "" outside a [Runner].
func CallID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.call.ID
	}
	return ""
}

// maxArguments returns how many bytes of arguments a typed tool reads.
func maxArguments(ctx context.Context, arguments string) int {
	if len(arguments) <= DefaultMaxArguments {
		return DefaultMaxArguments
	}
	c := callOf(ctx)
	switch {
	case c == nil:
		return DefaultMaxArguments
	case c.bg.runner.MaxArguments < 0:
		return math.MaxInt
	default:
		return c.bg.runner.MaxArguments
	}
}

// Deadline implements [context.Context].
func (c *call) Deadline() (time.Time, bool) {
	d, ok := c.parent.Deadline()
	if c.timeout <= 0 {
		return d, ok
	}
	if own := c.deadline(); !ok || own.Before(d) {
		return own, true
	}
	return d, true
}

func (c *call) deadline() time.Time { return c.bg.epoch.Add(c.began + c.timeout) }

// Done implements [context.Context].
func (c *call) Done() <-chan struct{} { return c.standard().Done() }

// Err implements [context.Context].
func (c *call) Err() error { return c.standard().Err() }

// Value implements [context.Context].
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.standard().Value(key) // which is also how package context finds out who cancels whom
}

// standard returns the context of package context that c is from now on.
func (c *call) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		return c.std
	}
	if c.timeout <= 0 {
		c.std, c.cancel = context.WithCancel(c.parent)
	} else {
		cause := &TimeoutError{Tool: c.call.Name, Timeout: c.timeout}
		c.std, c.cancel = context.WithDeadlineCause(c.parent, c.deadline(), cause)
	}
	if c.ended {
		c.cancel()
	}
	return c.std
}

// interrupt notes that what the tool asked was ended by a stop of the run, which may leave the
// context as it is.
func (c *call) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// interrupted reports whether the call failed because the run was stopped.
func (c *call) interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped || c.parent.Err() != nil
}

// end ends the context: the tool has returned.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}
