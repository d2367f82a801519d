package segue

import (
	"bytes"
	"context"
	"iter"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/internal/jsonprefix"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// Partial is a part of an answer, as far as the model has written it.
type Partial[T any] struct {
	// Value holds what is certain: the fields and elements that are whole, strings as far as they
	// have come, and of the last object or array what there is of it. A number, true, false or null
	// that is not whole is left out. All else is the zero value. Before Final nothing is held
	// against the schema. A type that reads its own JSON or text, such as time.Time, and a number
	// with the option "string", is read from what there is of the string; where that is refused,
	// more of the string has to come first.
	//
	// It shares no memory with other Values.
	Value T

	// Attempt is the number of the answer that the model writes, from 1. A model that is told that
	// its answer does not do writes another, and so does one whose reply broke off: the Values of
	// earlier Attempts are void. Those of one Attempt grow.
	Attempt int

	// Final says that Value is the answer, as [Ask] returns it. It is true of the last Partial and
	// of no other.
	Final bool
}

// Stream is [Ask] for programs that show the answer while the model writes it. It yields a Partial
// whenever there is more of the answer, and the Final one at the end. If there is an error, it
// comes last, with a zero Partial; it is the error of Ask. Breaking out of the loop ends the work.
//
// A long answer is read again only after it has grown by one part in 64, so the time for reading
// grows with the length of the answer, and not faster. If a client does not stream, Stream yields
// the Final Partial and at most one before it.
//
// The lower-level API is [orchestrator.Orchestrator.Stream]. Its events EventTextDelta and
// EventCallDelta hold the pieces of the text of a reply, or of the arguments of a call.
func Stream[T any](ctx context.Context, a *Agent, task string) iter.Seq2[Partial[T], error] {
	return func(yield func(Partial[T], error) bool) {
		o, work, err := typedTask[T](a, task)
		if err != nil {
			yield(Partial[T]{}, err)
			return
		}
		p := partials[T]{tool: a.finalTool}
		for e, err := range o.Stream(ctx, work) {
			var v T
			end, over := e.Detail.(machine.RunFinished)
			if over {
				err = unlessWaiting(orchestrator.Result{Run: e.Run, Status: end.Status, Waits: end.Waits}, err)
			}
			if over && err == nil {
				err = end.Output.Decode(&v)
			}
			switch {
			case err != nil:
				yield(Partial[T]{}, err)
				return
			case over:
				yield(Partial[T]{Value: v, Attempt: p.final(), Final: true}, nil)
				return
			case p.hear(e, &v) && !yield(Partial[T]{Value: v, Attempt: p.attempt}, nil):
				return
			}
		}
	}
}

// partials reads the answer out of the events of a run.
type partials[T any] struct {
	tool    string // whose arguments may be the answer; "": no tool's
	text    reader // of the text of the reply
	call    reader // of the arguments of its call
	index   int    // of that call
	seq     int    // of the step that asked for the reply
	taken   int    // the step that was taken last
	last    *reader
	attempt int
}

// hear reads the next event, and reports whether v was set.
func (p *partials[T]) hear(e machine.Event, v *T) bool {
	if e.Frame != "0" { // an agent that is called as a tool
		return false
	}
	if e.Text != "" && e.Seq != p.seq { // another reply
		p.text, p.call, p.last, p.seq = reader{}, reader{}, nil, e.Seq
	}
	switch d := e.Detail.(type) {
	case nil:
		return e.Kind == machine.EventTextDelta && p.read(&p.text, e.Text, v)
	case machine.CallDelta:
		if d.ToolName != p.tool || p.call.begun && d.Index != p.index {
			return false
		}
		p.index = d.Index
		return p.read(&p.call, e.Text, v)
	case machine.RetryWaiting:
		if p.call = (reader{}); d.Discard {
			p.text = reader{}
		}
	case machine.StepTaken:
		p.taken = e.Seq
	default: // it says nothing of an answer
	}
	return false
}

// read reads a piece of a reply.
func (p *partials[T]) read(r *reader, piece string, v *T) bool {
	r.write(piece)
	read, ok := readCertain[T](r)
	if !ok {
		return false
	}
	*v, p.last = read, r
	p.attempt = p.attemptOf(r)
	r.attempt = p.attempt
	return true
}

// final returns the number of the attempt that became the answer; its request is the last step. The
// attempt has no partials if it was not streamed.
func (p *partials[T]) final() int {
	if p.taken != p.seq {
		return p.attempt + 1
	}
	return p.attemptOf(p.last)
}

// attemptOf is the number of the attempt that a reader, which may be nil, reads.
func (p *partials[T]) attemptOf(r *reader) int {
	if r != nil && r.attempt > 0 {
		return r.attempt
	}
	return p.attempt + 1
}

// reader reads one answer as it comes.
type reader struct {
	begun   bool
	lead    string // what stands before the JSON, if that has not begun
	scanner jsonprefix.Scanner
	inside  bool   // the JSON has begun
	next    int    // the length from which on it is worth reading
	seen    []byte // what was certain last, the string that is open among it
	certain int    // how much of what was read last is, a string that was open aside
	parsed  int    // how many bytes were parsed
	attempt int    // 0: nothing was read
}

// write takes a piece. The JSON may stand in a fenced code block.
func (r *reader) write(piece string) {
	r.begun = true
	if r.inside {
		r.scanner.Write(piece)
		return
	}
	r.lead = strings.TrimLeft(r.lead+piece, " \t\r\n")
	const longest = 1000 // first line of a code block
	text, ok := r.lead, r.lead != ""
	if len(text) < longest && strings.HasPrefix("```", text[:min(3, len(text))]) {
		_, text, ok = strings.Cut(text, "\n")
	}
	if ok {
		r.scanner.Write(text)
		r.inside, r.lead = true, ""
	}
}

// due reports whether enough has arrived to read the answer again.
func (r *reader) due() bool {
	const share = 64
	n := r.scanner.Len()
	if !r.inside || n < r.next {
		return false
	}
	r.next = n + max(1, n/share)
	return true
}

// readCertain decodes the certain part of the answer into a T, and reports whether there was
// anything new. It leaves out an open string that cannot be decoded yet.
func readCertain[T any](r *reader) (v T, ok bool) {
	if !r.due() {
		return v, false
	}
	text := r.scanner.Complete(true)
	if text == nil || bytes.Equal(text, r.seen) {
		return v, false
	}
	r.seen = text
	if r.parsed += len(text); jsonform.Decode(text, &v, false) == nil {
		r.certain = r.scanner.Certain()
		return v, true
	}
	var without T
	if r.scanner.Certain() == r.certain {
		return without, false
	}
	text, r.certain = r.scanner.Complete(false), r.scanner.Certain()
	r.parsed += len(text)
	return without, jsonform.Decode(text, &without, false) == nil
}
