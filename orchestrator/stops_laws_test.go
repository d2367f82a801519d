package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// around is a middleware that does nothing but look.
func (w *stopsWorld) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if w.late(e.ID.Seq) {
			w.blame("step %s of frame %s begins after the stop", e.ID, e.Frame)
		}
		return next(ctx, e)
	}
}

// see holds an event to the laws.
func (c *stopsCase) see(end *stopsEnd, e *machine.Event, err error) {
	switch {
	case end.finished != nil || end.err != nil:
		c.blame("%s (%v) comes after the end", e.Kind, err)
	case e.Kind != "" && e.Run != "r":
		c.blame("%s is of run %q", e.Kind, e.Run)
	case end.cut && (e.Kind == machine.EventTextDelta || e.Kind == machine.EventThoughtDelta) && c.segment == 0 && !c.plan.wrapped && !c.now.answering: // else it may have been on its way
		c.blame("%s comes after the context was cancelled", e.Kind)
	}
	end.events++
	end.err = err
	if e.Kind == machine.EventTextDelta || e.Kind == machine.EventThoughtDelta {
		end.piece(e)
	}
	switch d := e.Detail.(type) {
	case machine.RetryWaiting:
		if d.Discard {
			end.text, end.thought = "", ""
		}
	case machine.StepTaken:
		end.cutOff = end.cutOff && e.Seq != end.seq
		end.broke = d.Err != nil && e.Seq == end.seq
	case machine.ToolProgress:
		c.open(e, d.CallID)
	case machine.WaitStarted:
		if d.Wait.CallID != "" {
			c.open(e, d.Wait.CallID)
		}
	case machine.ToolFinished:
		c.tell(e, d.Output)
	case machine.FrameEntered:
		c.entered[e.Frame]++
	case machine.FrameLeft:
		c.entered[e.Frame]--
	case machine.RunFinished:
		end.finished = &d
	}
}

// piece keeps a piece of a reply.
func (end *stopsEnd) piece(e *machine.Event) {
	if end.seq != e.Seq {
		end.frame, end.seq, end.text, end.thought, end.cutOff = e.Frame, e.Seq, "", "", true
	}
	if e.Kind == machine.EventTextDelta {
		end.text += e.Text
	} else {
		end.thought += e.Text
	}
}

// stopsTold is a result as an event tells it.
type stopsTold struct {
	frame string
	out   messages.ToolOutput
}

// tell notes the result that an event tells.
func (c *stopsCase) tell(e *machine.Event, out messages.ToolOutput) {
	n := stopsNumberOf(c.said, out.CallID)
	if n == 0 {
		c.blame("the result of a call %q is told that nobody made", out.CallID)
	}
	c.told[n] = append(c.told[n], stopsTold{frame: e.Frame, out: out})
}

// open checks that a call that something is told of has not finished.
func (c *stopsCase) open(e *machine.Event, id string) {
	if n := stopsNumberOf(c.said, id); !c.lost && len(c.told[n]) > 0 {
		c.blame("%s is told of call %d, which has finished", e.Kind, n)
	}
}

// stopsNumberOf returns the number of the call with that id; 0 if there is none.
func stopsNumberOf(calls []messages.ToolCall, id string) int {
	for _, call := range calls {
		if call.ID == id {
			return stopsNumber(call.Arguments)
		}
	}
	return 0
}

// judge holds the end of a segment to the laws.
func (c *stopsCase) judge(end *stopsEnd) {
	c.lost = c.lost || end.crashed || end.unstored()
	c.gaps = c.gaps || c.lost || !end.told || end.left
	c.stopped = c.stopped || c.hasFired()
	if end.finished == nil && !end.left || end.crashed || end.unstored() {
		clear(c.answers) // what was answered may have been lost
	}
	before, ran := c.stored, c.executions()
	if c.store != nil {
		c.stored = c.readJournal()
		c.begun = c.stored.records > 0
		c.journalled(end, &before, ran)
	}
	switch {
	case end.finished != nil:
		c.waits = end.finished.Waits
		c.ended(end)
	case end.left || end.crashed:
		c.waits = nil
	case end.events > 1:
		c.blame("there is no terminal event but the error %v", end.err)
	case end.unstored():
		if c.now.stop.how == stopsOddDisk { // the replies were taken all the same
			c.waits = nil
		}
	case c.hasFired() && errors.Is(end.err, context.Canceled): // before it was resumed
	default:
		c.blame("it does not begin: %v", end.err)
	}
}

// ended holds the terminal event to the laws.
func (c *stopsCase) ended(end *stopsEnd) {
	f := end.finished
	if err := f.Output.Messages.Validate(); err != nil {
		c.blame("the history: %v", err)
	}
	c.agree(f, end.err)
	if c.hasFired() && f.Status == machine.StatusWaiting {
		c.blame("the run waits although it was stopped")
	}
	if c.hasFired() && c.now.stop.where == stopsAtStart && c.counts[stopsAtModel]+c.counts[stopsAtTool] > 0 {
		c.blame("stopped before it begins it works on")
	}
	switch f.Status {
	case machine.StatusFailed:
		if end.broke && end.frame == "0" && !end.unstored() {
			c.keptPieces(end, f.Output.Messages.Last())
		}
	case machine.StatusStopped:
		c.stoppedWell(end)
	case machine.StatusWaiting:
		c.waitingWell(f)
	default: // the same laws as for all
	}
}

// agree checks that status, error and waits say the same.
func (c *stopsCase) agree(f *machine.RunFinished, err error) {
	want := machine.StatusFailed
	switch e := f.Output.Err; {
	case e == nil && len(f.Waits) > 0:
		want = machine.StatusWaiting
	case e == nil:
		want = machine.StatusDone
	case e.Code == delegation.CodeStopped:
		want = machine.StatusStopped
	case e.Code == delegation.CodeLimit:
		want = machine.StatusLimit
	}
	if f.Status != want || len(f.Waits) > 0 && want != machine.StatusWaiting {
		c.blame("status %s with the error %v and %d waits", f.Status, f.Output.Err, len(f.Waits))
	}
	if told, ok := errors.AsType[*delegation.Error](err); ok != (f.Output.Err != nil) || ok && told != f.Output.Err {
		c.blame("the error %v is told with the output's %v", err, f.Output.Err)
	}
	_, lost := errors.AsType[*orchestrator.UnansweredError](err)
	if waits := f.Status == machine.StatusWaiting; lost != (waits && c.store == nil) || waits && c.store != nil && err != nil {
		c.blame("it is %s, and its error %v", f.Status, err)
	}
	ids := map[string]bool{}
	for _, w := range f.Waits {
		if w.ID == "" || ids[w.ID] {
			c.blame("the wait %+v has no id of its own", w)
		}
		ids[w.ID] = true
	}
	switch {
	case f.Status == machine.StatusStopped && !c.stopped && c.plan.timeouts.Run == 0:
		c.blame("nobody stopped the run: %v", f.Output.Err)
	case f.Status == machine.StatusLimit && c.plan.limits == delegation.Limits{}:
		c.blame("there was no limit: %v", f.Output.Err)
	}
}

// waitingWell checks that a run that waits does not wait for what was answered, and that its
// history holds the results that there are.
func (c *stopsCase) waitingWell(f *machine.RunFinished) {
	for _, wait := range f.Waits {
		if c.answers[stopsQuestion(wait)] && wait.Kind != machine.WaitUnknown {
			c.blame("the run waits for what was answered: %+v", wait)
		}
	}
	seen := map[int]messages.ToolOutput{}
	c.collect(seen, f.Output.Messages)
	for n, got := range seen {
		if out, ok := c.stored.results[n]; ok && !reflect.DeepEqual(out, got) {
			c.blame("the run waits, and the result of call %d, which is %+v, is %+v in the history", n, out, got)
		}
	}
}

// stoppedWell checks what a stop left.
func (c *stopsCase) stoppedWell(end *stopsEnd) {
	last := end.finished.Output.Messages.Last()
	if _, open := last.(messages.Tool); open && c.plan.note != "-" {
		c.blame("the history ends with the result of a tool")
	}
	switch {
	case !end.cutOff:
	case end.frame == "0":
		c.keptPieces(end, last)
	case c.store != nil: // of a frame that ended with the run only the journal tells
		c.keptPieces(end, c.stored.partial)
	}
}

// keptPieces checks that what was streamed of the last reply is what was kept of it. The blanks at
// its end, behind which a call might have begun, were not yet streamed.
func (c *stopsCase) keptPieces(end *stopsEnd, kept messages.Message) {
	said, _ := kept.(messages.Assistant)
	if end.text+end.thought != "" && (strings.TrimRight(said.Text(), " ") != strings.TrimRight(end.text, " ") || said.Thought() != end.thought) {
		c.blame("of a reply %q (%q) was streamed in frame %s, and %q (%q) was kept", end.text, end.thought, end.frame, said.Text(), said.Thought())
	}
}

// conclude holds a case that is over to the laws.
func (c *stopsCase) conclude(end *stopsEnd) {
	if end.finished == nil {
		return
	}
	if end.final() {
		c.complete(end)
		if c.store != nil && c.plan.twice {
			c.again(end)
		}
	}
	c.nextTurn(end.finished.Output.Messages)
}

// again checks that a run that has ended says so again, from its journal.
func (c *stopsCase) again(end *stopsEnd) {
	events := 0
	for e, err := range c.o.Resume(context.Background(), resuming("r")) {
		events++
		f, _ := e.Detail.(machine.RunFinished)
		if e.Kind != machine.EventRunFinished || events > 1 {
			c.blame("a run that has ended goes on with %s: %v", e.Kind, err)
			return
		}
		c.agree(&f, err)
		first, _ := json.Marshal(end.finished)
		second, _ := json.Marshal(f)
		if string(first) != string(second) {
			c.blame("the run ended as %s\nand says now %s", first, second)
		}
	}
}

// nextTurn goes on from the history of a run.
func (c *stopsCase) nextTurn(h messages.History) {
	c.enter(len(c.plan.segments))
	c.model, c.over = scripted.New(scripted.Text("fine")), true
	res, err := c.o.Run(context.Background(), orchestrator.Task{Strategy: "solve", Run: "next", Input: delegation.Input{Goal: "and now?", Messages: h}})
	switch {
	case err != nil || res.Status != machine.StatusDone || res.Output.Text() != "fine":
		c.blame("the next turn ends as %s: %v", res.Status, err)
	case res.Output.Metadata["repaired"] != nil:
		c.blame("the next turn has to mend the history: %s", res.Output.Metadata["repaired"])
	case len(c.model.Requests()[0].Messages) != len(h)+1:
		c.blame("the next turn is about %d messages of %d", len(c.model.Requests()[0].Messages), len(h)+1)
	}
}
