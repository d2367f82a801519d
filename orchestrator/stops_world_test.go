package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// stopsWorld is what the run of a case meets: its model, its tools, its people and its store. It
// outlives the processes that the run goes on in, and writes down what they did to it.
type stopsWorld struct {
	plan   *stopsPlan
	model  *scripted.Client
	store  *stopsStore
	cancel context.CancelCauseFunc // of the segment
	stop   chan struct{}           // Task.Stop of the segment

	mu       sync.Mutex
	segment  int
	now      stopsSegment // plan of the segment
	counts   map[stopsWhere]int
	fired    bool // the segment is to be stopped
	firedAt  time.Time
	amidst   bool         // while tools were at work
	begun    map[int]bool // steps that had begun before
	over     bool         // this is the next turn
	broken   []string
	work     map[int][]*stopsWork // by the number of the call
	busy     int                  // tools at work
	said     []messages.ToolCall  // calls of the model's last reply
	children []messages.History   // that parents were handed
	answers  map[string]bool      // what was answered, and the answer was not lost
	approved map[int]bool         // calls
}

// stopsWork is one execution of a tool's function.
type stopsWork struct {
	segment   int
	over      bool
	ended     bool // by a return
	suspended bool
	text      string
	err       error
}

// blame notes that a law is broken.
func (w *stopsWorld) blame(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf("segment %d: ", w.segment)+fmt.Sprintf(format, args...))
}

// reached counts that something is reached at which the segment may have to be stopped, and reports
// whether it is now.
func (w *stopsWorld) reached(where stopsWhere) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[where]++
	return w.now.stop.where == where && w.now.stop.how != stopsNot && w.counts[where] == w.now.stop.n
}

// at stops the segment if it is to be stopped there.
func (w *stopsWorld) at(where stopsWhere) {
	if w.reached(where) {
		w.fire()
	}
}

var errStopsGone = errors.New("the user left")

// fire stops the segment.
func (w *stopsWorld) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired {
		return
	}
	w.fired, w.firedAt, w.amidst = true, time.Now(), w.busy > 0
	if w.now.stop.how == stopsAfter && w.stop != nil {
		close(w.stop)
		return
	}
	w.cancel(errStopsGone)
}

func (w *stopsWorld) hasFired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

// late reports whether the first effect of a step begins after the stop. Those that were released
// together, each on a goroutine of its own, may come a little after what one of them did.
func (w *stopsWorld) late(seq int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.fired {
		w.begun[seq] = true
	}
	return !w.begun[seq] && !w.amidst
}

// firedBefore reports whether the segment was stopped before this instant: what was released at the
// same instant is on its way.
func (w *stopsWorld) firedBefore() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired && time.Now().After(w.firedAt)
}

// Complete makes the world a model.
func (w *stopsWorld) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	again := w.plan.retry && w.stop != nil // a step that goes on may try again
	if w.hasFired() && !again {
		w.blame("a model is asked after the stop")
	}
	if err := req.Messages.Validate(); err != nil {
		w.blame("a request breaks the laws: %v", err)
	}
	w.at(stopsAtModel)
	if gap := w.gap(); gap > 0 && onDelta != nil {
		tell := onDelta
		onDelta = func(d llmclient.Delta) {
			tell(d)
			_ = stopsSleep(ctx, gap)
		}
	}
	resp, err := w.model.Complete(ctx, req, onDelta)
	if err == nil {
		w.said = resp.Message.Calls()
	}
	return resp, err
}

// gap is the time between the pieces of the next reply.
func (w *stopsWorld) gap() time.Duration {
	left := w.model.Remaining()
	if left == 0 || w.over {
		return 0
	}
	return w.plan.script[len(w.plan.script)-left].gap
}

func stopsSleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stopsStore is a store that fails once, if it has to.
type stopsStore struct {
	checkpoint.Memory
	world *stopsWorld
}

var errStopsDisk = errors.New("the disk is full")

func (s *stopsStore) Append(ctx context.Context, b checkpoint.Batch) error {
	if len(b.Records) == 0 || !s.world.reached(stopsAtRecord) {
		return s.Memory.Append(ctx, b)
	}
	if s.world.now.stop.how == stopsOddDisk {
		if err := s.Memory.Append(ctx, b); err != nil {
			return err
		}
	}
	return errStopsDisk
}
