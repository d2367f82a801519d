package orchestrator_test

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// stopsPlan is all that is decided about a case of TestStops before it begins.
type stopsPlan struct {
	nodes    []stopsNode    // the strategies: nodes[0] is the root's
	script   []stopsReply   // what the model says; then it says that it is done
	segments []stopsSegment // the first starts the run, the others resume it; then it is resumed until it has ended
	person   []stopsAnswer  // what Config.Reply does, by call and question
	history  bool           // the run goes on from a conversation
	store    bool           // a journal is kept
	fresh    bool           // each segment has an Orchestrator of its own, as another process has
	wrapped  bool           // a middleware stands in between
	approve  stopsApproval  // who must approve calls
	retry    bool           // the client tries again
	twice    bool           // in the end it is asked again how the run ended
	sameIDs  bool           // the model gives its calls the same ids in each message
	tells    bool           // of calls that may have had their effect the strategy is told, and nobody is asked
	note     string         // Config.StopNote
	parallel int            // Config.Parallel
	limits   delegation.Limits
	timeouts orchestrator.Timeouts
}

// stopsNode is a strategy that asks the model and delegates, one after the other.
type stopsNode struct {
	acts      []int // stopsAsk, stopsSolve, or the node to delegate to
	end       stopsEnding
	bare      bool // leaves no messages: the Machine fills them in
	recovers  bool // asks once more when the model could not be asked
	concludes bool
	share     bool // its children see its conversation
	few       bool // its children may use no tool but look
}

const (
	stopsAsk   = -1
	stopsSolve = -2 // delegate to complete-task
)

type stopsEnding int

const (
	stopsEndsWell stopsEnding = iota
	stopsEndsBadly
	stopsEndsInPanic
)

// stopsReply is a reply of the model.
type stopsReply struct {
	thought string
	pieces  []string
	calls   []stopsCall
	err     llmclient.Code // it breaks off
	panics  bool
	delay   time.Duration // before it begins
	gap     time.Duration // between its pieces
}

// stopsCall is a call of a tool. Its number is its own within the case.
type stopsCall struct {
	n    int
	tool string
	act  string
	ms   int
}

// arguments are those that the model writes. The number of the call is the first in them.
func (c stopsCall) arguments() string {
	switch {
	case c.tool == "ask_user":
		return fmt.Sprintf(`{"question":"q%d"}`, c.n)
	case c.act == "broken":
		return fmt.Sprintf(`{"n":%d`, c.n)
	default:
		return fmt.Sprintf(`{"n":%d,"act":%q,"ms":%d}`, c.n, c.act, c.ms)
	}
}

// stopsAnswer is what a person does who is asked in the process.
type stopsAnswer int

const (
	stopsSaysYes stopsAnswer = iota
	stopsSaysNo
	stopsSaysLater // ErrSuspended
	stopsSaysSlowly
	stopsSaysNothing // until the context ends
	stopsSaysError
	stopsSaysPanic
	stopsAnswers // how many there are
)

// stopsApproval is the policy of a case.
type stopsApproval int

const (
	stopsApprovesNothing stopsApproval = iota // there is no such policy
	stopsApprovesChanges
	stopsApprovesAll
	stopsApprovesUntrusted
	stopsApprovesNever // refuses
	stopsApprovals     // how many there are
)

// stopsSegment is one process's part of a run.
type stopsSegment struct {
	stop      stopsStop
	answering bool  // Config.Reply can answer
	replies   []int // to the waits, when the run is resumed: 0 none, 1 yes, 2 no
	late      bool  // resumed when all waits have expired
	wrong     bool  // first resumed with a reply to nothing
	whole     bool  // by Run, not Stream
}

// stopsStop is how and where a segment is stopped.
type stopsStop struct {
	how   stopsHow
	where stopsWhere
	n     int // at which event, piece, request, tool call, question, millisecond or record
}

type stopsHow int

const (
	stopsNot     stopsHow = iota
	stopsNow              // the context is cancelled
	stopsAfter            // Stop is closed
	stopsLeave            // the consumer breaks out
	stopsCrash            // the consumer panics: the run ends where it is
	stopsNoDisk           // the store fails, and has not kept the record
	stopsOddDisk          // the store fails, and has kept it
	stopsHows             // how many there are
)

type stopsWhere int

const (
	stopsAtStart stopsWhere = iota
	stopsAtEvent
	stopsAtPiece // of a reply
	stopsAtModel
	stopsAtTool
	stopsAtQuestion
	stopsAtTime
	stopsAtRecord
)

// stopsDraw draws the parts of a plan.
type stopsDraw struct {
	*rapid.T
	plan  stopsPlan
	calls int
}

func (d *stopsDraw) upTo(n int) int { return rapid.IntRange(0, n).Draw(d.T, "n") }

// oneIn is true in one of n cases.
func (d *stopsDraw) oneIn(n int) bool { return d.upTo(n-1) == n-1 }

func stopsPick[V any](d *stopsDraw, from ...V) V { return from[d.upTo(len(from)-1)] }

func drawStops(t *rapid.T) stopsPlan {
	d := &stopsDraw{T: t}
	p := &d.plan
	d.node(1 + d.upTo(3))
	for range d.upTo(9) {
		p.script = append(p.script, d.reply(len(p.script)+1))
	}
	for range 1 + d.upTo(3) {
		p.segments = append(p.segments, d.segment())
	}
	for range 1 + d.upTo(4) {
		p.person = append(p.person, stopsAnswer(d.upTo(int(stopsAnswers)-1)))
	}
	p.store = !d.oneIn(5)
	p.history, p.fresh, p.wrapped = d.oneIn(3), !d.oneIn(3), d.oneIn(2)
	p.retry, p.sameIDs, p.twice, p.tells = d.oneIn(5), d.oneIn(3), d.oneIn(2), d.oneIn(3)
	p.note = stopsPick(d, "", "", "", "-", "(stopped here)")
	p.parallel = stopsPick(d, 0, 0, 1, 2)
	if d.oneIn(2) {
		p.approve = stopsApproval(d.upTo(int(stopsApprovals) - 1))
	}
	if d.oneIn(5) {
		p.limits = d.limits()
	}
	if d.oneIn(6) {
		p.timeouts = d.timeouts()
	}
	return d.plan
}

// node adds a strategy below which the tree is so many frames deep, and returns which it is.
func (d *stopsDraw) node(depth int) int {
	i := len(d.plan.nodes)
	d.plan.nodes = append(d.plan.nodes, stopsNode{})
	n := stopsNode{
		bare: d.oneIn(3), recovers: d.oneIn(3), concludes: d.oneIn(3), share: d.oneIn(3), few: d.oneIn(6),
		end: stopsPick(d, stopsEndsWell, stopsEndsWell, stopsEndsWell, stopsEndsWell, stopsEndsWell, stopsEndsBadly, stopsEndsInPanic),
	}
	n.acts = append(n.acts, d.acts(depth, false)...)
	if depth > 1 {
		n.acts = append(n.acts, d.acts(depth, true)...)
	}
	n.acts = append(n.acts, d.acts(depth, d.oneIn(4) && len(d.plan.nodes) < 5)...)
	d.plan.nodes[i] = n
	return i
}

// acts draws an act, or none.
func (d *stopsDraw) acts(depth int, delegates bool) []int {
	switch {
	case !delegates || depth == 1:
		if d.oneIn(3) {
			return nil
		}
		return []int{stopsAsk}
	case depth == 2 && d.oneIn(3):
		return []int{stopsSolve}
	default:
		return []int{d.node(depth - 1)}
	}
}

func (d *stopsDraw) reply(number int) stopsReply {
	r := stopsReply{delay: d.pause(), gap: d.pause()}
	for i := range d.upTo(3) {
		r.pieces = append(r.pieces, fmt.Sprintf("r%d.%d ", number, i))
	}
	if d.oneIn(5) {
		r.thought = fmt.Sprintf("t%d", number)
	}
	switch d.upTo(9) {
	case 0, 1, 2, 3, 4:
		for range 1 + d.upTo(3) {
			r.calls = append(r.calls, d.call())
		}
	case 9:
		r.err = stopsPick(d, llmclient.CodeUnavailable, llmclient.CodeTruncated, llmclient.CodeContextLength, llmclient.CodeMalformedToolCall)
		r.panics = d.oneIn(6)
	}
	return r
}

// pause draws a time in the middle of nothing, so that what is stopped at a time is stopped while
// it waits.
func (d *stopsDraw) pause() time.Duration {
	return stopsPick(d, 0, 0, 0, time.Millisecond, 7*time.Millisecond)
}

func (d *stopsDraw) call() stopsCall {
	d.calls++
	return stopsCall{
		n:    d.calls,
		tool: stopsPick(d, "raw", "look", "again", "alone", "outside", "typed", "inline", "inlineraw", "ask_user", "nope", "raw", "look", "ask_user"),
		act:  stopsPick(d, "ok", "ok", "ok", "fail", "panic", "slow", "stubborn", "block", "progress", "ask", "ask", "asktwice", "asklate", "exit", "broken"),
		ms:   stopsPick(d, 1, 5, 30, 400),
	}
}

func (d *stopsDraw) segment() stopsSegment {
	s := stopsSegment{answering: d.oneIn(2), late: d.oneIn(8), wrong: d.oneIn(8), whole: d.oneIn(6)}
	for range 1 + d.upTo(3) {
		s.replies = append(s.replies, d.upTo(2))
	}
	s.stop.how = stopsHow(d.upTo(int(stopsHows) - 1))
	switch s.stop.how {
	case stopsNow, stopsAfter:
		s.stop.where = stopsPick(d, stopsAtEvent, stopsAtPiece, stopsAtModel, stopsAtTool, stopsAtQuestion, stopsAtTime, stopsAtEvent, stopsAtPiece, stopsAtStart)
	case stopsLeave, stopsCrash:
		s.stop.where = stopsPick(d, stopsAtEvent, stopsAtEvent, stopsAtPiece)
	case stopsNoDisk, stopsOddDisk:
		s.stop.where = stopsAtRecord
	default:
	}
	most := 1
	switch s.stop.where {
	case stopsAtModel:
		most = 3
	case stopsAtQuestion:
		s.answering = true
	case stopsAtEvent, stopsAtTime:
		most = 20
	case stopsAtPiece, stopsAtRecord:
		most = 6
	default:
	}
	s.stop.n = 1 + d.upTo(most)
	return s
}

func (d *stopsDraw) limits() delegation.Limits {
	return delegation.Limits{
		Depth: stopsPick(d, 0, 0, 1, 2, 3), Steps: d.upTo(9), ModelCalls: d.upTo(6), ToolCalls: d.upTo(6),
		TotalTokens: stopsPick(d, int64(0), 0, 40),
	}
}

func (d *stopsDraw) timeouts() orchestrator.Timeouts {
	odd := func(ms int) time.Duration { return time.Duration(ms)*time.Millisecond + 500*time.Microsecond }
	return orchestrator.Timeouts{
		Run:       stopsPick(d, 0, 0, odd(3), odd(20)),
		Model:     stopsPick(d, 0, odd(2), odd(9)),
		ModelIdle: stopsPick(d, 0, odd(4)),
		Tool:      stopsPick(d, 0, odd(10)),
	}
}

// replies is the script of the model.
func (p *stopsPlan) replies() []scripted.Reply {
	list := make([]scripted.Reply, 0, len(p.script)+1)
	for _, r := range p.script {
		reply := scripted.Reply{Thought: r.thought, Deltas: r.pieces, Delay: r.delay, Usage: messages.Usage{Input: 8, Output: 2}}
		for i, c := range r.calls {
			call := scripted.Call(c.tool, c.arguments(), "")
			if p.sameIDs {
				call.ID = fmt.Sprintf("c%d", i)
			}
			reply.Calls = append(reply.Calls, call)
		}
		switch {
		case r.panics:
			reply = scripted.Func(func(*llmclient.Request) scripted.Reply { panic("the client") })
		case r.err != "":
			reply.Calls = nil
			reply.Err = &llmclient.Error{Code: r.err, Message: "it broke off", Err: errors.ErrUnsupported}
		}
		list = append(list, reply)
	}
	return append(list, scripted.Reply{Text: "that is all", Times: -1})
}
