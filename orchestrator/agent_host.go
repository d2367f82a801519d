package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// host is what the agents of a step are run in. It reaches their tools through the context.
type host struct {
	run     *run
	call    Call
	allowed []tools.Definition
	left    remains
	agents  []string // the ids of the calls of agents, in order

	mu        sync.Mutex
	accounts  []*account
	closed    bool            // the batch has its results
	untrusted map[string]bool // by call
}

type hostKey struct{}

// host prepares for the agents of a batch, on the goroutine of the loop.
func (r *run) host(calls []messages.ToolCall) *host {
	f, _ := r.m.stack.Top()
	h := &host{run: r, call: r.call, allowed: f.allowed, untrusted: map[string]bool{}}
	if step, ok := r.m.pending.(nextstep.ExecuteTools); ok {
		calls = step.Calls // those that wait have their share, too
	}
	h.left = r.m.remains(len(calls)).without(r.asks().spent)
	h.call.Replies = nil
	if r.people != nil {
		h.call.Replies = r.call.Replies
	}
	done := placed(r.partial)
	for _, c := range calls {
		if _, ok := done[c.ID]; ok {
			continue
		}
		if t, ok := r.lookup(c.Name); ok && agentOf(t) != nil {
			h.agents = append(h.agents, c.ID)
		}
	}
	return h
}

// agentOf returns the agent tool that t is or wraps; nil if there is none.
func agentOf(t tools.Tool) *agentTool {
	for t != nil {
		if a, ok := t.(*agentTool); ok {
			return a
		}
		u, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = u.Unwrap()
	}
	return nil
}

// settle puts down what the agents of a batch have used, and marks results that hold text from
// outside.
func (h *host) settle(results []messages.ToolOutput, p *people) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for i := range results {
		o := &results[i]
		o.Untrusted = o.Untrusted || h.untrusted[o.CallID]
		delete(p.held, o.CallID)
		switch used := h.spent(o.CallID); {
		case isSuspended(*o):
			if p.held == nil {
				p.held = map[string]nextstep.Spent{}
			}
			p.held[o.CallID] = used
		case o.Reason == messages.ReasonInterrupted:
			p.cut = p.cut.Add(used)
		default:
			p.spent = p.spent.Add(used)
		}
	}
}

// make makes the run of a task, or goes on with it, and returns its result.
func (h *host) make(ctx context.Context, t *agentTool, call string, task Task) (string, error) {
	r, err := h.begin(ctx, t, &task)
	if err != nil {
		return "", err
	}
	r.account = h.open(call)
	if r.m.Done() {
		defer r.close()
		return h.result(r, t, call, RunFinished{Status: r.m.status, Output: r.m.output}, nil)
	}
	var text string
	err = errBrokeOff
	r.goOn(ctx, h.run.stop, h.run.streams, func(e Event, end error) bool {
		switch d := e.Detail.(type) {
		case RunStarted, RunResumed:
			return true
		case RunFinished:
			text, err = h.result(r, t, call, d, end)
			return true
		}
		if !h.run.streams {
			return true
		}
		e.Depth += h.call.Depth
		return h.run.sink.nest(ctx, &e, h.call.Seq)
	})
	return text, err
}

// runs returns the ids of the runs of a call: "run/seq/call_id", and with several runs "/1" and so
// on behind it. They are ids that every store takes, and those of two calls differ, whatever a
// provider makes of the ids of calls.
func (h *host) runs(call string, n int, single bool) []string {
	call = fitting(call)
	ids := make([]string, n)
	for i := range ids {
		id := "/" + call
		if !single {
			id += "/" + strconv.Itoa(i+1)
		}
		if ids[i] = h.call.Key() + id; checkpoint.CheckRun(ids[i]) != nil {
			ids[i] = hashed(h.call.Key()) + id
		}
	}
	return ids
}

// fitting is the id of a call as it stands in the id of a run: whole, or hashed.
func fitting(call string) string {
	const most = 128
	odd := strings.ContainsAny(call, "/\x00") || strings.ContainsRune(call, utf8.RuneError) // or not UTF-8
	if odd || len(call) > most || strings.HasPrefix(call, hashMark) {
		return hashed(call)
	}
	return call
}

// hashMark begins what stands for a text that does not fit.
const hashMark = "~"

// hashed stands for a text that does not fit. It is that of the text as a journal gives it back, in
// which U+FFFD stands for each byte that is not UTF-8.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(string([]rune(text))))
	return hashMark + hex.EncodeToString(sum[:16])
}

// begin starts a run, or takes it up from its journal.
func (h *host) begin(ctx context.Context, t *agentTool, task *Task) (*run, error) {
	o, allowed := h.run.o, narrow(h.allowed, t.Tools)
	if o.store == nil || len(h.call.Replies) == 0 && !h.run.resumed {
		return o.begin(ctx, task, allowed, origin{run: h.call.Run, untrusted: h.call.Untrusted}, h.run.streams)
	}
	r, err := o.load(ctx, task.Run, allowed)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return o.begin(ctx, task, allowed, origin{run: h.call.Run, untrusted: h.call.Untrusted}, h.run.streams)
	}
	if err != nil || r.m.Done() {
		return r, err
	}
	var replies []Reply
	for _, reply := range h.call.Replies {
		if r.asks().problem(reply, time.Now()) == "" {
			replies = append(replies, reply)
		}
	}
	if err := r.take(ctx, replies); err != nil {
		r.close()
		return nil, err
	}
	r.m.Events() // they have been told
	r.resumed = true
	return r, nil
}

// result makes the result of a call of how its run ended, with that error. It is called before the
// run is let go of.
func (h *host) result(r *run, t *agentTool, call string, end RunFinished, failed error) (string, error) {
	r.account.charge(r)
	if end.Status == StatusWaiting {
		refused, _ := errors.AsType[*ReplyError](failed)
		h.run.people.nested(h.call.Seq, call, end.Waits, refused)
		return "", &SuspendedError{Waits: end.Waits}
	}
	h.mu.Lock()
	h.untrusted[call] = h.untrusted[call] || r.m.untrusted
	h.mu.Unlock()
	if end.Output.Err == nil {
		return end.Output.Text(), nil
	}
	text := fmt.Sprintf("orchestrator: agent %s ended as %s: %s", t.def.Name, end.Status, end.Output.Err.Message)
	if reached := end.Output.Text(); reached != "" {
		text += "\nIt had reached this:\n" + reached
	}
	return "", errors.New(text)
}
