package orchestrator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// TestStops has runs of all kinds stopped, broken off, suspended and resumed at all places, and
// holds each to these laws. How many there are, package prove says:
//
//   - The history obeys the laws of a history, and the next turn on it runs.
//   - There is one terminal event, the last; none if the consumer left.
//   - After a stop no step begins, no model is asked and no person.
//   - No goroutine is left.
//   - No call that has to be approved is made without, and nobody is asked twice.
//   - No result of a tool is lost, none stands twice, and what is in the journal is not done again.
//   - What was streamed of a reply that was cut off stands in the history.
//   - Status, error and waits say the same, and a run that has ended says the same again.
//
// Each case runs in a bubble of its own, in which waiting takes no time, and which fails if a
// goroutine is left.
func TestStops(t *testing.T) {
	shards := runtime.GOMAXPROCS(0)
	manyChecks(t, max(1, prove.Cases()/shards))
	for shard := range shards {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			kit := newStopsTools()
			ends := map[machine.Status]int{}
			rapid.Check(t, func(t *rapid.T) {
				plan := rapid.Custom(drawStops).Draw(t, "plan")
				rapid.SyncTest(t, func(t *rapid.T) {
					c := newStopsCase(&plan, kit)
					ends[c.run()]++
					if len(c.broken) > 0 {
						slices.Sort(c.broken) // what shrinks has to fail alike
						t.Fatal(strings.Join(c.broken, "\n"))
					}
				})
			})
			t.Logf("the runs ended as %v", ends)
		})
	}
}

// manyChecks has rapid make n checks in this test, unless the command line says how many.
func manyChecks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return
	}
	require.NoError(t, checks.Value.Set(strconv.Itoa(n)))
	t.Cleanup(func() { require.NoError(t, checks.Value.Set(before)) })
}

// stopsCase is a case in progress.
type stopsCase struct {
	*stopsWorld
	kit     *stopsTools
	o       *orchestrator.Orchestrator
	begun   bool                // there is a run to resume
	waits   []machine.Wait      // that are open
	stored  stopsJournal        // at the end of the last segment
	told    map[int][]stopsTold // by tool_finished, by the number of the call
	entered map[string]int      // frames that were entered and not left
	gaps    bool                // not all events were told
	lost    bool                // something was done that is not in the journal
	stopped bool                // a segment was to be stopped
}

func newStopsCase(plan *stopsPlan, kit *stopsTools) *stopsCase {
	w := &stopsWorld{plan: plan, work: map[int][]*stopsWork{}, answers: map[string]bool{}, approved: map[int]bool{}}
	kit.world = w
	w.model = scripted.NewClient(scripted.Config{Replies: plan.replies(), NoRecord: true})
	if plan.store {
		w.store = &stopsStore{world: w}
	}
	return &stopsCase{stopsWorld: w, kit: kit, told: map[int][]stopsTold{}, entered: map[string]int{}}
}

// run plays the case to its end.
func (c *stopsCase) run() machine.Status {
	defer c.rest()
	const most = 60
	for i := range most {
		c.enter(i)
		end := c.play()
		if end.crashed { // so is what it had begun
			synctest.Wait()
			c.rest()
		}
		c.judge(&end)
		if len(c.broken) > 0 {
			return ""
		}
		if end.final() || c.store == nil {
			c.conclude(&end)
			return end.status()
		}
	}
	c.blame("the run does not come to an end")
	return ""
}

// enter begins segment i.
func (c *stopsCase) enter(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segment, c.now, c.counts, c.fired = i, stopsSegment{replies: []int{1}}, map[stopsWhere]int{}, false
	c.stopsWorld.begun = map[int]bool{}
	if i < len(c.plan.segments) {
		c.now = c.plan.segments[i]
	}
}

// stopsEnd is how a segment ended.
type stopsEnd struct {
	events   int
	finished *machine.RunFinished
	err      error
	left     bool // by the consumer
	crashed  bool
	cut      bool // the context was cancelled when an event was told
	told     bool // events were told: it was not by Run

	frame   string // of the last reply, with what was streamed of it
	seq     int
	text    string
	thought string
	cutOff  bool // there is no answer to it
	broke   bool // the answer to it is a failure, and nothing was done since
}

func (e *stopsEnd) status() machine.Status {
	if e.finished == nil {
		return ""
	}
	return e.finished.Status
}

// final reports whether the run has ended and cannot go on.
func (e *stopsEnd) final() bool {
	return e.finished != nil && !e.crashed && e.status() != machine.StatusWaiting && !e.unstored()
}

// unstored reports whether the segment ended because the store failed.
func (e *stopsEnd) unstored() bool {
	return errors.Is(e.err, errStopsDisk)
}

// play plays a segment.
func (c *stopsCase) play() stopsEnd {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.cancel, c.stop = cancel, nil
	if c.o == nil || c.plan.fresh {
		c.o = c.orchestrator()
	}
	if c.begun {
		return c.resume(ctx)
	}
	return c.start(ctx)
}

func (c *stopsCase) orchestrator() *orchestrator.Orchestrator {
	p := c.plan
	cfg := orchestrator.Config{
		Client: c.stopsWorld, Strategies: c.strategies(), Tools: c.kit.list, Timeouts: p.timeouts,
		StopNote: p.note, Parallel: p.parallel,
	}
	if p.retry {
		cfg.Client = llmclient.Retry(cfg.Client, llmclient.RetryConfig{MaxAttempts: 3, Base: 2 * time.Millisecond, AfterOutput: true})
	}
	if c.store != nil {
		cfg.Store = c.store
	}
	if !p.fresh || c.now.answering {
		cfg.Reply = c.reply
	}
	if p.wrapped {
		cfg.Middleware = append(cfg.Middleware, c.around)
	}
	policy := map[stopsApproval]machine.ApprovalPolicy{
		stopsApprovesAll: machine.AskAlways, stopsApprovesUntrusted: machine.AskIfUntrusted, stopsApprovesNever: machine.AllowNever,
	}
	if p.approve != stopsApprovesNothing {
		cfg.Approve = &orchestrator.ApprovalConfig{Default: policy[p.approve]}
	}
	o, err := orchestrator.New(cfg)
	if err != nil {
		panic(err)
	}
	return o
}

// arm sees to stops that do not wait for anything to happen. What it returns has to be called in
// the end.
func (c *stopsCase) arm() func() bool {
	stop := c.now.stop
	switch {
	case stop.how == stopsNot:
	case stop.where == stopsAtStart:
		c.fire()
	case stop.where == stopsAtTime:
		return time.AfterFunc(time.Duration(stop.n)*time.Millisecond+500*time.Microsecond, c.fire).Stop
	}
	return func() bool { return false }
}

func (c *stopsCase) start(ctx context.Context) (end stopsEnd) {
	task := orchestrator.Task{Strategy: stopsName(0), Run: "r", Input: c.input(), Limits: c.plan.limits}
	task.Stop = c.stopping()
	defer c.arm()()
	if c.now.whole && c.now.stop.how != stopsLeave && c.now.stop.how != stopsCrash {
		res, err := c.o.Run(ctx, task)
		end.err = err
		if err == nil || res.Output.Err != nil || res.Status == machine.StatusWaiting {
			end.finished = &machine.RunFinished{Status: res.Status, Output: res.Output, Waits: res.Waits, Strategy: res.Strategy, Limits: res.Limits, Left: res.Left}
		}
		return end
	}
	return c.watch(c.o.Stream(ctx, task))
}

// stopping returns Task.Stop of a segment that is stopped after the step in progress.
func (c *stopsCase) stopping() <-chan struct{} {
	if c.now.stop.how == stopsAfter {
		c.stop = make(chan struct{})
	}
	return c.stop
}

// input is what the run begins with.
func (c *stopsCase) input() delegation.Input {
	in := delegation.Input{Goal: "go"}
	if c.plan.history {
		in.Messages = messages.History{
			messages.System{Text: "be brief"},
			messages.UserText("before"),
			messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c0", Name: "raw", Arguments: "{}"}}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c0", ToolName: "raw", Output: "then", Untrusted: true}},
			messages.AssistantText("so be it"),
		}
	}
	return in
}

// resume goes on with the run, with some replies to what it waits for.
func (c *stopsCase) resume(ctx context.Context) stopsEnd {
	if c.now.late {
		time.Sleep(25 * time.Hour)
	}
	if c.now.wrong {
		c.refused(machine.Reply{WaitID: "nothing", Approve: true})
	}
	how := resuming("r", c.replies()...)
	if how.Stop = c.stopping(); c.plan.tells {
		how.Unknown = machine.UnknownTell
	}
	defer c.arm()()
	return c.watch(c.o.Resume(ctx, how))
}

// replies are those that the segment has for what the run waits for.
func (c *stopsCase) replies() []machine.Reply {
	var list []machine.Reply
	for i, wait := range c.waits {
		reply := machine.Reply{WaitID: wait.ID}
		switch c.now.replies[i%len(c.now.replies)] {
		case 0:
			continue
		case 1:
			reply.Approve, reply.Text = true, "yes"
		default:
			reply.Reason = "no"
		}
		if !wait.Expires.IsZero() && time.Now().After(wait.Expires) {
			c.refused(reply)
			continue
		}
		list = append(list, reply)
		c.answered(wait, reply)
	}
	return list
}

// refused sees to it that a reply is not taken.
func (c *stopsCase) refused(reply machine.Reply) {
	for e, err := range c.o.Resume(context.Background(), resuming("r", reply)) {
		if _, ok := errors.AsType[*machine.ReplyError](err); !ok || e.Kind != "" {
			c.blame("a reply to %q is taken: %s, %v", reply.WaitID, e.Kind, err)
		}
	}
}

var errStopsCrash = errors.New("the process is gone")

// watch consumes the events of a segment, until it leaves.
func (c *stopsCase) watch(events iter.Seq2[machine.Event, error]) (end stopsEnd) {
	end.told = true
	defer func() {
		if v := recover(); v != nil {
			if v != any(errStopsCrash) {
				panic(v)
			}
			end.crashed = true
		}
	}()
	for e, err := range events {
		c.see(&end, &e, err)
		now := c.reached(stopsAtEvent)
		if e.Kind == machine.EventTextDelta || e.Kind == machine.EventThoughtDelta {
			now = c.reached(stopsAtPiece) || now
		}
		if !now {
			continue
		}
		switch c.now.stop.how {
		case stopsLeave:
			end.left = end.finished == nil
			return end
		case stopsCrash:
			panic(errStopsCrash)
		default:
			if end.finished == nil {
				c.fire()
				end.cut = c.stop == nil
			}
		}
	}
	return end
}
