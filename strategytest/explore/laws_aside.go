package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// aside holds facts about a walk that laws need and that are no part of a state.
type aside struct {
	off      string // the law that is not checked, in tests of the laws
	tamper   func(*machine.Machine, *machine.Ready)
	failed   string            // the frame that the last reaction has told of a failure
	edited   map[string]string // the arguments of calls that were changed, see callName
	cut      string            // a frame that was stopped
	panics   []string          // of methods after which a run goes on
	notes    notes             // that the world has said
	handoffs handoffs
	bounded  bounded

	most    delegation.Limits         // of the run
	agents  map[string]*machine.Agent // of the run
	own     map[string]bool           // the tools that strategies bring
	spent   delegation.Counts         // by the run, as far as the world has seen
	outside map[string]bool           // the frames that have read text from outside
	allowed map[string][]string       // the tools of the frames that are not given all

	stands    map[string]*standIn // in the live frames, in a walk that looks closely
	complaint complaint           // the first of the stand-ins
	forgotten []string            // the fields that have come back otherwise from a snapshot
}

// complaint is a broken law that only a stand-in can see.
type complaint struct{ law, problem string }

// complain notes the first complaint.
func (a *aside) complain(law, format string, args ...any) {
	if law != a.off && a.complaint.law == "" {
		a.complaint = complaint{law, fmt.Sprintf(format, args...)}
	}
}

func (a *aside) reset() {
	a.failed, a.cut, a.panics = "", "", a.panics[:0]
	a.notes.reset()
	a.handoffs.reset()
	a.bounded.reset()
	clear(a.edited)
	clear(a.outside)
	clear(a.allowed)
	a.spent = delegation.Counts{}
	clear(a.stands)
	a.complaint, a.forgotten = complaint{}, nil
	if a.stands == nil {
		a.stands, a.outside, a.allowed = map[string]*standIn{}, map[string]bool{}, map[string][]string{}
	}
}

// note notes the effects of a record before it is applied.
func (w *walk) note(e *machine.Effect, rec machine.Record) {
	w.failed = ""
	switch r := rec.(type) {
	case machine.Answered:
		w.count(e, &r)
		switch a := r.Answer.(type) {
		case nextstep.APIResponse: // whose calls have ids of their own
			maps.DeleteFunc(w.edited, func(call, _ string) bool { return strings.HasPrefix(call, e.Frame+" ") })
		case nextstep.Failure:
			w.failed = e.Frame
		case nextstep.DelegationResult:
			if a.Output.Err != nil {
				w.failed = e.Frame
			}
		case nextstep.ToolResult:
			if a.Call != nil {
				w.edit(e, a.Call.Arguments)
			}
		}
	case machine.Replied:
		if r.Reply.Arguments != "" {
			w.edit(e, r.Reply.Arguments)
		}
	}
}

// edit notes that a call was changed.
func (w *walk) edit(e *machine.Effect, arguments string) {
	if w.edited == nil {
		w.edited = map[string]string{}
	}
	c := e.Call
	if e.Wait != nil { // a question about it
		c.ID, c.Name = e.Wait.CallID, e.Wait.Tool
	}
	w.edited[callName(e.Frame, &c)] = arguments
}

// callName identifies a call until the next reply in its frame.
func callName(frame string, c *messages.ToolCall) string { return frame + " " + c.ID + " " + c.Name }

// reportPanic is told of each panic that the Machine has contained.
func (w *walk) reportPanic(p machine.PanicReport) {
	if strings.HasSuffix(p.Where, " in Conclude") { // Inherit is called there, too
		w.panics = append(w.panics, fmt.Sprintf("%s: %v", p.Where, p.Value))
	}
}

// panickedAside names a method that has panicked although its frame went on.
func (w *walk) panickedAside([]machine.FrameView) string {
	if len(w.panics) == 0 {
		return ""
	}
	return w.panics[0]
}

// lost names a frame that ended as a success without a result after a failure.
func (w *walk) lost([]machine.FrameView) string {
	failed := w.failed
	for left, frame := range w.left() {
		if left.Err != nil {
			if failed = frame; strings.Contains(frame, ".") { // who delegated to it is told
				failed = frame[:strings.LastIndexByte(frame, '.')]
			}
			continue
		}
		if left.Handoff != "" { // who goes on
			continue
		}
		nothing := left.Result == nil || *left.Result == ""
		if w.m.Done() && w.m.Output().Data != nil && !strings.Contains(frame, ".") {
			nothing = false // the answer of the run
		}
		if frame == failed && nothing {
			return fmt.Sprintf("frame %s of %q was told of a failure, and has completed with nothing", frame, left.Strategy)
		}
	}
	return ""
}

// unedited names a changed call that a request shows in its old form.
func (w *walk) unedited([]machine.FrameView) string {
	for i := range w.open {
		ask, ok := w.open[i].Step.(nextstep.GetChatCompletion)
		if _, editor := w.live[w.open[i].Frame].(strategy.CallEditor); !ok || !editor || len(w.edited) == 0 {
			continue
		}
		for m := range lastReply(ask.Request.Messages) {
			want, edited := w.edited[callName(w.open[i].Frame, &m)]
			if edited && m.Arguments != want {
				return fmt.Sprintf("call %s was made with %s, and the request says %s", m.ID, want, m.Arguments)
			}
		}
	}
	return ""
}

// lastReply yields the calls of the last message of the model.
func lastReply(h messages.History) func(func(messages.ToolCall) bool) {
	return func(yield func(messages.ToolCall) bool) {
		for _, m := range slices.Backward(h) {
			reply, ok := m.(messages.Assistant)
			if !ok {
				continue
			}
			for _, c := range reply.Calls() {
				if !yield(c) {
					return
				}
			}
			return
		}
	}
}
