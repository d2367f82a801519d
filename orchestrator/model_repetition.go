package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"

	"github.com/segue-go/segue/internal/repeats"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Repetition bounds how often a reply may repeat itself. A reply that passes a bound while it is
// streamed is cut off, and ends with [llmclient.FinishRepetition]; the built-in strategies tell the
// model so, once. Its text, its thoughts and the arguments of its calls count alike.
type Repetition struct {
	Block int // the longest block that is looked for, in bytes; 0: 512
	Times int // how often a block may stand at the end; 0: 24; negative: any number
	Bytes int // blocks at the end that are together no longer than this are never too many; at least two of Block; 0: 4 KiB
	Calls int // how often the last call may be made in one reply; 0: 8; negative: any number
}

// withDefaults returns the bounds with the defaults.
func (r Repetition) withDefaults() Repetition {
	usual := repeats.Usual
	return Repetition{Block: max(1, cmp.Or(r.Block, usual.Block)), Times: cmp.Or(r.Times, usual.Times), Bytes: cmp.Or(r.Bytes, usual.Bytes), Calls: cmp.Or(r.Calls, 8)}
}

var errRepeats = errors.New("orchestrator: the reply repeats itself without end")

// loopWatch watches a reply for repetition.
type loopWatch struct {
	most  *Repetition
	cut   context.CancelCauseFunc
	found bool // the reply was cut off
	tail  repeats.Tail

	index  int // of the last call; -1: there is none
	last   maphash.Hash
	before uint64 // the one before the last
	same   int    // how many calls in a row, before the last, are that one
}

// begin begins a reply, which cut ends.
func (w *loopWatch) begin(most *Repetition, cut context.CancelCauseFunc) {
	w.most, w.cut, w.found, w.index, w.same, w.before = most, cut, false, -1, 0, 0
	w.tail.Bounds = repeats.Bounds{Block: most.Block, Times: most.Times, Bytes: most.Bytes}
	w.tail.Reset()
}

// text receives a piece of text, of thought or of arguments.
func (w *loopWatch) text(piece string) {
	if w.most.Times > 0 && w.tail.Add(piece) {
		w.end()
	}
}

// call receives a piece of a call, of which text receives the arguments, too.
func (w *loopWatch) call(d llmclient.CallDelta) {
	if d.Index != w.index {
		switch sum := w.last.Sum64(); {
		case d.Index < w.index:
			w.same, w.before = 0, 0 // the reply was asked for again
		case w.index >= 0 && sum == w.before:
			w.same++
		case w.index >= 0:
			w.same, w.before = 1, sum
		}
		w.index = d.Index
		w.last.Reset()
		_, _ = w.last.WriteString(d.Tool)
	}
	_, _ = w.last.WriteString(d.Text)
	if w.most.Calls > 0 && w.same >= w.most.Calls && w.last.Sum64() == w.before {
		w.end()
	}
}

// end cuts the reply off.
func (w *loopWatch) end() {
	if !w.found {
		w.found = true
		w.cut(errRepeats)
	}
}

// cutReply returns the reply that was cut off, of what the client returned. Where neither the
// provider nor the client has counted its tokens, they are estimated.
func (x *execution) cutReply(resp *llmclient.Response, err error) *llmclient.Response {
	var cut llmclient.Response
	if resp != nil {
		cut = *resp
	} else if e, ok := errors.AsType[*llmclient.Error](err); ok {
		cut = llmclient.Response{Message: e.Partial, Usage: e.Usage, Model: e.Model, Attempts: e.Attempts}
	}
	cut.Finish = llmclient.FinishRepetition
	if cut.Usage == (messages.Usage{}) {
		in, out := int64(llmclient.EstimateTokens(&x.request.Request)), int64(x.request.loop.tail.Size+3)/4
		cut.Usage = messages.Usage{Input: in, Output: out, Total: in + out, Estimated: in + out}
	}
	return &cut
}
