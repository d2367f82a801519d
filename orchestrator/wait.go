package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Wait is something that a run waits for: a person's answer, as a rule.
type Wait struct {
	ID        string    `json:"id"`                  // what a [Reply] names; unique
	Run       string    `json:"run"`                 // that waits: the one that is asked, or one that an agent tool made for it
	Frame     string    `json:"frame"`               // where: a position in the delegation tree
	Seq       int       `json:"seq"`                 // of the step
	Kind      string    `json:"kind"`                // what is asked for: WaitApproval, WaitQuestion, or one of your own
	CallID    string    `json:"call_id,omitempty"`   // the tool call that it is about, if it is about one
	Tool      string    `json:"tool,omitempty"`      // the tool of that call
	Arguments string    `json:"arguments,omitempty"` // of that call, as they will be used
	Text      string    `json:"text,omitempty"`      // what to tell the person
	Options   []string  `json:"options,omitempty"`   // answers to choose from; none: any
	Untrusted bool      `json:"untrusted,omitempty"` // the run has read text from outside, which may have led to this
	Expires   time.Time `json:"expires,omitzero"`    // an answer after this is not taken; zero: never
}

// The kinds of a [Wait] that this library makes.
const (
	WaitApproval = "approval"         // may the call be made? Reply.Approve says
	WaitQuestion = tools.KindQuestion // Reply.Text says
	WaitStep     = "step"             // a Handler cannot perform the step now, and said no more
)

// Reply answers a [Wait].
type Reply struct {
	WaitID  string `json:"wait_id"`
	Approve bool   `json:"approve,omitempty"` // for WaitApproval: the call may be made
	Text    string `json:"text,omitempty"`    // for WaitQuestion: the answer
	Reason  string `json:"reason,omitempty"`  // why not, for the model: of a refusal, or of a question that is declined (no Text)
}

// ErrSuspended is what the error of a Handler that cannot answer now wraps, and of a Config.Reply that cannot. It is the
// same as [tools.ErrSuspended]. See [SuspendedError].
var ErrSuspended = tools.ErrSuspended

// SuspendedError ends a run as waiting, and says for what.
type SuspendedError struct {
	Waits   []Wait
	Results []messages.ToolOutput // of those calls of an ExecuteTools that have a result all the same; they are not made again
}

// Error says how many waits there are.
func (e *SuspendedError) Error() string {
	return fmt.Sprintf("orchestrator: the run waits for %d answers", len(e.Waits))
}

// Unwrap returns [ErrSuspended].
func (e *SuspendedError) Unwrap() error { return ErrSuspended }

// ExpiredError says that nobody answered a [Wait] in time.
type ExpiredError struct{ Wait Wait }

// Error names the wait.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("orchestrator: nobody answered in time to the %s %.64q", e.Wait.Kind, e.Wait.ID)
}

// Unwrap returns context.DeadlineExceeded.
func (e *ExpiredError) Unwrap() error { return context.DeadlineExceeded }

// Ask asks somebody and returns the reply: at once if the run was resumed with one; else from Config.Reply, which may take
// long; else the error is a [*SuspendedError], which the Handler has to return, together with those of its other waits.
// ID, Frame, Seq and Untrusted of w are filled in. While tools run Ask may be called from any goroutine.
//
// The ID is a hash of the run, the step, and all that w says, the arguments in canonical form: a reply to it fits nothing
// else. A wait that has expired is made anew, with a new ID.
//
// While somebody is asked in this process, a stop of either kind ends the wait; the error is then the cause.
func (c Call) Ask(ctx context.Context, w Wait) (Reply, error) {
	p := c.run.asks()
	w.Run, w.Frame, w.Seq, w.Untrusted = c.Run, c.Frame, c.Seq, c.Untrusted
	w, reply, answered := p.find(w, time.Now())
	if answered {
		return reply, nil
	}
	if w.expired(time.Now()) {
		return Reply{}, &ExpiredError{Wait: w}
	}
	if c.run.o.reply == nil {
		p.wait(w)
		c.Emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
		return Reply{}, &SuspendedError{Waits: []Wait{w}}
	}
	c.Emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
	reply, err := c.run.askNow(ctx, w)
	if errors.Is(err, ErrSuspended) {
		p.wait(w)
		return Reply{}, &SuspendedError{Waits: []Wait{w}}
	}
	end := WaitEnded{WaitID: w.ID}
	if err == nil {
		reply.WaitID = w.ID
		p.answered(w, reply)
		end.Reply = &reply
	}
	c.Emit(Event{Kind: EventWaitEnded, Detail: end})
	return reply, err
}

// askNow asks in this process.
func (r *run) askNow(ctx context.Context, w Wait) (reply Reply, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !w.Expires.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, w.Expires, &ExpiredError{Wait: w})
		defer end()
	}
	if r.stop != nil {
		go func() {
			select {
			case <-r.stop:
				cancel(errStop)
			case <-ctx.Done():
			}
		}()
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("orchestrator: Config.Reply %w", &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	if cause := r.stopped(ctx); cause != nil { // nobody is asked for what is over
		return Reply{}, cause
	}
	reply, err = r.o.reply(ctx, w)
	if ctx.Err() != nil {
		return Reply{}, causeOfEnd(ctx) // what comes too late is not taken
	}
	return reply, err
}

// askTool is [tools.AskFunc]. A tool that was abandoned may ask when its step is over.
func (r *run) askTool(ctx context.Context, a tools.Asked) (string, error) {
	call, ok := r.people.step(a.Seq)
	if !ok {
		return "", errOver
	}
	if a.Kind == WaitApproval || a.Kind == WaitStep {
		return "", fmt.Errorf("orchestrator: a tool cannot ask for a %q: the kind is taken", a.Kind)
	}
	reply, err := call.Ask(ctx, Wait{
		Kind: a.Kind, CallID: a.Call.ID, Tool: a.Call.Name, Arguments: a.Call.Arguments, Text: a.Text, Options: a.Options,
	})
	switch {
	case err != nil:
		return "", err
	case reply.Text == "" && reply.Reason != "":
		return "", &tools.DeclinedError{Reason: reply.Reason}
	default:
		return reply.Text, nil
	}
}

// errOver is what a tool gets that asks after its step.
var errOver = errors.New("orchestrator: the step is over")

// people is what the pending step asked of people, and what they said. While tools run it is used by any goroutine.
type people struct {
	mu      sync.Mutex
	run     *run
	id      string   // of the run
	now     place    // the step whose tools run
	waits   []Wait   // that there were in this step; of two with the same ID the last
	open    []string // those of them that a reply may still be given to
	replies []Reply
	new     int      // replies[new:] are not in the journal
	asking  []asking // that nobody could answer in this process
	used    []string // ids of approvals whose calls were made
	settled int      // the number of the last step that has its answer

	// The loop's own:
	spent  nextstep.Spent      // by runs that tools made in this step
	cut    nextstep.Spent      // the same, of calls that were cut off, and are made again if the run is resumed
	edited []messages.ToolCall // the calls of this step, where a middleware has changed them; nil otherwise
}

// asks returns what the pending step asked of people.
func (r *run) asks() *people {
	if r.people == nil {
		r.people = new(people)
	}
	return r.people
}

// asking is a wait that keeps a tool call from its result.
type asking struct {
	Wait
	call string // the id of the call; "" for an approval, which its middleware tells of
}

// place is where a step stands.
type place struct {
	frame      string
	depth, seq int
	untrusted  bool
}

// begin lets the tools of a step ask.
func (p *people) begin(c *Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.id = c.run, c.Run
	p.now = place{frame: c.Frame, depth: c.Depth, seq: c.Seq, untrusted: c.Untrusted}
}

// step returns the step whose tools may ask, if it has that number.
func (p *people) step(seq int) (Call, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now
	return Call{Run: p.id, Frame: now.frame, Depth: now.depth, Seq: now.seq, Untrusted: now.untrusted, run: p.run, tool: true}, now.seq == seq
}

// find returns w with its ID: as it was asked before, if it was, then with the reply if there is one.
func (p *people) find(w Wait, now time.Time) (Wait, Reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, before := range slices.Backward(p.waits) {
		same := w
		same.Expires = before.Expires
		if before.ID != same.identity() {
			continue
		}
		same.ID = before.ID
		if i := slices.IndexFunc(p.replies, func(r Reply) bool { return r.WaitID == same.ID && !slices.Contains(p.used, r.WaitID) }); i >= 0 {
			return same, p.replies[i], true
		}
		if !same.expired(now) {
			return same, Reply{}, false
		}
	}
	w.ID = w.identity()
	return w, Reply{}, false
}

// wait notes that w cannot be answered in this process.
func (p *people) wait(w Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over(w) {
		return
	}
	a := asking{Wait: w, call: w.CallID}
	if w.Kind == WaitApproval {
		a.call = ""
	}
	p.asking = append(p.asking, a)
}

// nested notes what a run waits for that a tool call made, in the step of that number.
func (p *people) nested(seq int, call string, waits []Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq <= p.settled {
		return
	}
	for _, w := range waits {
		p.asking = append(p.asking, asking{Wait: w, call: call})
	}
}

// use notes that what was approved has been done: whoever does it again asks again.
func (p *people) use(waits []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = append(p.used, waits...)
}

// answered notes that w was answered in this process.
func (p *people) answered(w Wait, r Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over(w) {
		p.waits, p.replies = append(p.waits, w), append(p.replies, r)
	}
}

// over reports whether w is of a step that is over.
func (p *people) over(w Wait) bool { return w.Seq <= p.settled }

// unstored returns replies that are not in the journal, and what they answer.
func (p *people) unstored() (replies []Reply, answered []Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	replies = p.replies[p.new:]
	for _, w := range p.waits {
		if slices.ContainsFunc(replies, func(r Reply) bool { return r.WaitID == w.ID }) {
			answered = append(answered, w)
		}
	}
	return replies, answered
}

// reset forgets everything: the step of that number has its answer.
func (p *people) reset(seq int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits, p.open, p.replies, p.new, p.asking, p.used = nil, nil, nil, 0, nil, nil
	p.now, p.settled = place{}, seq
	p.spent, p.cut, p.edited = nextstep.Spent{}, nextstep.Spent{}, nil
}

func isSuspended(o messages.ToolOutput) bool { return o.Reason == tools.ReasonSuspended }

// suspend returns what a batch waits for that left these results.
func (p *people) suspend(results []messages.ToolOutput) *SuspendedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := new(SuspendedError)
	for _, o := range results {
		if !isSuspended(o) {
			s.Results = append(s.Results, o)
			continue
		}
		from := len(s.Waits)
		for _, a := range p.asking {
			if a.call == o.CallID {
				s.Waits = append(s.Waits, a.Wait)
			}
		}
		if len(s.Waits) == from { // the tool asks in a way of its own
			s.Waits = append(s.Waits, Wait{Kind: WaitQuestion, CallID: o.CallID, Tool: o.ToolName, Text: o.Output})
		}
	}
	return s
}

// asked reports whether the events of w have been told.
func (p *people) asked(w Wait) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.asking, func(b asking) bool { return b.ID == w.ID })
}

// suspended notes what a journal says that the run waits for.
func (p *people) suspended(e *entry) {
	p.replied(e.Replies)
	p.waits = append(p.waits, e.Answered...)
	if len(e.Waits) == 0 { // the run was broken off in a step that it goes on with
		return
	}
	p.open = p.open[:0]
	for _, w := range e.Waits {
		p.waits, p.open = append(p.waits, w), append(p.open, w.ID)
	}
}

// replied notes replies that stand in the journal, or will.
func (p *people) replied(replies []Reply) {
	p.replies = append(p.replies, replies...)
	p.new = len(p.replies)
	p.open = slices.DeleteFunc(p.open, func(id string) bool {
		return slices.ContainsFunc(replies, func(r Reply) bool { return r.WaitID == id })
	})
}

// problem says why a reply is not taken; "" if it is.
func (p *people) problem(reply Reply, now time.Time) string {
	id := reply.WaitID
	if slices.Contains(p.open, id) {
		i := slices.IndexFunc(p.waits, func(w Wait) bool { return w.ID == id })
		switch {
		case p.waits[i].expired(now):
			return "it has expired; resume the run without a reply to be asked again"
		case p.waits[i].Kind == WaitQuestion && reply.Text == "" && reply.Reason == "":
			return "a question is answered by Text, or declined by a Reason"
		}
		return ""
	}
	if slices.ContainsFunc(p.replies, func(r Reply) bool { return r.WaitID == id }) {
		return "it has been answered"
	}
	if len(p.open) == 0 {
		return "the run does not wait for anything"
	}
	return fmt.Sprintf("the run does not wait for it; it waits for %q", p.open)
}

func (w Wait) expired(now time.Time) bool { return !w.Expires.IsZero() && now.After(w.Expires) }

// identity is a hash of all that a wait is about.
func (w Wait) identity() string {
	sum := sha256.New()
	for _, part := range []string{w.Run, strconv.Itoa(w.Seq), w.Frame, w.Kind, w.CallID, w.Tool, canonical(w.Arguments), w.Text, strconv.Itoa(len(w.Options))} {
		_, _ = fmt.Fprintf(sum, "%d:%s;", len(part), part)
	}
	for _, o := range w.Options {
		_, _ = fmt.Fprintf(sum, "%d:%s;", len(o), o)
	}
	if !w.Expires.IsZero() {
		_, _ = fmt.Fprintf(sum, "%d", w.Expires.UnixMilli())
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// canonical returns JSON with its keys sorted, numbers as they are written, and no blanks; anything else as it is.
func canonical(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.Decode(new(any)) != io.EOF {
		return text
	}
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(out)
}
