package orchestrator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// people is what the pending step asked of people, and what they said. While tools run it is used
// by any goroutine.
type people struct {
	mu      sync.Mutex
	run     *run
	id      string           // of the run
	now     place            // the step whose tools run
	waits   []Wait           // that there were in this step; of two with the same ID the last
	byCall  map[string][]int // where waits stand, by the call that waits
	open    map[string]int   // those of them that a reply may still be given to, by ID: where they stand
	replies []Reply
	replyTo map[string][]int // where replies stand, by the wait
	new     int              // replies[new:] are not in the journal
	asking  []asking         // that nobody could answer in this process
	refused []error          // replies of this process to other waits than those that it was asked about
	used    map[string]bool  // ids of approvals whose calls were made
	past    int              // the number of the last step that has its answer

	// The loop's own:
	spent  nextstep.Spent            // by runs that tools made in this step
	cut    nextstep.Spent            // the same, of calls that were cut off, and are made again if the run is resumed
	held   map[string]nextstep.Spent // the same, of calls that wait, by call
	edited []messages.ToolCall       // the calls of this step, where a middleware has changed them; nil otherwise
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

// find returns w with its ID: as it was asked before, if it was, then with the reply if there is
// one.
func (p *people) find(w Wait, now time.Time) (Wait, Reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range slices.Backward(p.byCall[w.CallID]) {
		before, same := p.waits[i], w
		same.Expires = before.Expires
		if before.ID != same.identity() {
			continue
		}
		same.ID = before.ID
		if at := p.replyTo[same.ID]; len(at) > 0 && !p.used[same.ID] {
			return same, p.replies[at[0]], true
		}
		if !same.expired(now) {
			return same, Reply{}, false
		}
	}
	w.ID = w.identity()
	return w, Reply{}, false
}

// wait notes that w cannot be answered in this process, and which reply was refused to it, if one
// was.
func (p *people) wait(w Wait, refused *ReplyError) {
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
	if refused != nil {
		p.refused = append(p.refused, refused)
	}
}

// refusal is the error of replies that were refused in this step; nil if none was.
func (p *people) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.refused...)
}

// nested notes what a run waits for that a tool call made, in the step of that number, and which
// reply it refused.
func (p *people) nested(seq int, call string, waits []Wait, refused *ReplyError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq <= p.past {
		return
	}
	for _, w := range waits {
		p.asking = append(p.asking, asking{Wait: w, call: call})
	}
	if refused != nil {
		p.refused = append(p.refused, refused)
	}
}

// use notes that what was approved has been done: whoever does it again asks again.
func (p *people) use(waits []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[string]bool{}
	}
	for _, id := range waits {
		p.used[id] = true
	}
}

// answered notes that w was answered in this process.
func (p *people) answered(w Wait, r Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over(w) {
		p.addWait(w)
		p.addReply(r)
	}
}

// addWait notes a wait. The lock is held, or nobody else asks.
func (p *people) addWait(w Wait) {
	if p.byCall == nil {
		p.byCall = map[string][]int{}
	}
	p.byCall[w.CallID] = append(p.byCall[w.CallID], len(p.waits))
	p.waits = append(p.waits, w)
}

// addReply notes a reply, likewise.
func (p *people) addReply(r Reply) {
	if p.replyTo == nil {
		p.replyTo = map[string][]int{}
	}
	p.replyTo[r.WaitID] = append(p.replyTo[r.WaitID], len(p.replies))
	p.replies = append(p.replies, r)
}

// over reports whether w is of a step that is over.
func (p *people) over(w Wait) bool { return w.Seq <= p.past }

// unstored returns replies that are not in the journal, and what they answer.
func (p *people) unstored() (replies []Reply, answered []Wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	replies = p.replies[p.new:]
	for _, w := range p.waits {
		if at := p.replyTo[w.ID]; len(at) > 0 && at[len(at)-1] >= p.new {
			answered = append(answered, w)
		}
	}
	return replies, answered
}

// settled returns what runs have used in this step that tools made, and its calls if they were
// changed; false if that is nothing. It is for the loop, as long as no tool runs. The people of a
// run that asked nobody are nil.
func (p *people) settled() (spent nextstep.Spent, calls []messages.ToolCall, some bool) {
	none := nextstep.Spent{}
	if p == nil || p.spent == none && p.cut == none && p.held == nil && p.edited == nil {
		return none, nil, false
	}
	spent = p.spent.Add(p.cut)
	for _, held := range p.held {
		spent = spent.Add(held)
	}
	return spent, p.edited, true
}

// reset forgets everything: the step of that number has its answer.
func (p *people) reset(seq int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits, p.open, p.replies, p.new, p.asking, p.refused, p.used = nil, nil, nil, 0, nil, nil, nil
	p.byCall, p.replyTo = nil, nil
	p.now, p.past = place{}, seq
	p.spent, p.cut, p.held, p.edited = nextstep.Spent{}, nextstep.Spent{}, nil, nil
}

func isSuspended(o messages.ToolOutput) bool { return o.Reason == tools.ReasonSuspended }

// suspend returns what a batch waits for that left these results.
func (p *people) suspend(results []messages.ToolOutput) *SuspendedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := new(SuspendedError)
	byCall := map[string][]Wait{}
	for _, a := range p.asking {
		byCall[a.call] = append(byCall[a.call], a.Wait)
	}
	for _, o := range results {
		if !isSuspended(o) {
			s.Results = append(s.Results, o)
			continue
		}
		s.Waits = append(s.Waits, byCall[o.CallID]...)
		if len(byCall[o.CallID]) == 0 { // the tool asks in a way of its own
			s.Waits = append(s.Waits, Wait{Kind: WaitQuestion, CallID: o.CallID, Tool: o.ToolName, Text: o.Output})
		}
	}
	return s
}

// asked returns the ids of the waits whose events have been told.
func (p *people) asked() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := make(map[string]bool, len(p.asking))
	for _, a := range p.asking {
		told[a.ID] = true
	}
	return told
}

// suspended notes what a journal says that the run waits for.
func (p *people) suspended(e *entry) {
	p.replied(e.Replies)
	for _, w := range e.Answered {
		p.addWait(w)
	}
	if len(e.Waits) == 0 { // the run was broken off in a step that it goes on with
		return
	}
	p.open = make(map[string]int, len(e.Waits))
	for _, w := range e.Waits {
		p.open[w.ID] = len(p.waits)
		p.addWait(w)
	}
}

// replied notes replies that stand in the journal, or will.
func (p *people) replied(replies []Reply) {
	for _, r := range replies {
		p.addReply(r)
		delete(p.open, r.WaitID)
	}
	p.new = len(p.replies)
}

// problem says why a reply is not taken; "" if it is.
func (p *people) problem(reply Reply, now time.Time) string {
	id := reply.WaitID
	if i, ok := p.open[id]; ok {
		switch {
		case p.waits[i].expired(now):
			return "it has expired; resume the run without a reply to be asked again"
		case p.waits[i].Kind == WaitQuestion && reply.Text == "" && reply.Reason == "":
			return "a question is answered by Text, or declined by a Reason"
		}
		return ""
	}
	if len(p.replyTo[id]) > 0 {
		return "it has been answered"
	}
	if len(p.open) == 0 {
		return "the run does not wait for anything"
	}
	return fmt.Sprintf("the run does not wait for it; it waits for %q", slices.Sorted(maps.Keys(p.open)))
}
