package terminal

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// partialReply is the model's text in the step in progress.
type partialReply struct {
	text    string
	thought string
}

// happening is an event, with the name of the agent that it is about; "" if it has none.
type happening struct {
	machine.Event
	agent string
}

// The maximum columns of a text, and of a tool's arguments or result, unless everything is shown.
const (
	TextColumns = 120
	toolColumns = 90

	lastWordsColumns = 600 // of what a model said before its strategy failed
)

// describe converts an event to lines. It depends on nothing else, and omits times that depend on
// the computer: the same run gives the same lines.
func describe(e happening, said partialReply, verbose bool) []Line {
	switch d := e.Detail.(type) {
	case nil: // a delta: its text is shown with the step
		return nil
	case machine.RunStarted:
		return []Line{{Dim, "run " + e.Run}}
	case machine.RunResumed:
		return []Line{{Dim, "run " + e.Run + " goes on"}}
	case machine.FrameEntered:
		return []Line{{Bold, place(e) + plaintext.OneLine(d.Strategy) + plaintext.Colon(opening(d.Goal, verbose))}}
	case machine.StateChanged:
		return describeState(e, d, verbose)
	case machine.StepTaken:
		return describeStep(e, d, said, verbose)
	case machine.ToolStarted:
		return describeCall(e, d.Call, verbose)
	case machine.ToolProgress:
		return []Line{{Dim, place(e) + plaintext.Join(" ", plaintext.OneLine(d.ToolName), id(d.CallID, verbose)) + ": " + text(e.Text, verbose)}}
	case machine.ToolFinished:
		return describeResult(e, d.Output, verbose)
	case machine.RetryWaiting:
		return []Line{{Warn, place(e) + describeRetry(d, said)}}
	case machine.WaitStarted:
		return []Line{{Warn, place(e) + waitText(d.Wait, verbose)}}
	case machine.WaitEnded:
		return []Line{describeReply(e, d.Reply, verbose)}
	case machine.Compacted:
		return []Line{{Dim, place(e) + describeCompaction(d)}}
	case machine.Noting:
		return describeNote(e, d, verbose)
	case machine.Drifted:
		return []Line{{Warn, place(e) + "not as it was recorded: " + text(d.What, verbose)}}
	case machine.RunMigrated:
		return []Line{{Warn, place(e) + "carried over a change of code"}}
	case machine.FrameLeft:
		return describeFrame(e, d, said, verbose)
	case machine.RunFinished:
		return describeRun(e, d, verbose)
	default:
		return []Line{{Plain, fmt.Sprintf("%s%s %T", place(e), e.Kind, d)}}
	}
}

// describeState describes a move of a state machine, or only its target if not everything is shown.
func describeState(e happening, d machine.StateChanged, verbose bool) []Line {
	if verbose {
		return []Line{{Dim, fmt.Sprintf("%s%s -> %s", place(e), d.From, d.To)}}
	}
	return LineIf(d.From != d.To && showsState(d.To), Line{Dim, place(e) + "-> " + string(d.To)})
}

// describeStep describes the result of a model call. Results of tools have their own lines.
func describeStep(e happening, d machine.StepTaken, said partialReply, verbose bool) []Line {
	if d.Err != nil {
		failed := Line{Bad, place(e) + verb(d.Kind) + " failed (" + string(d.Err.Code) + "): " + text(plainwords.Of(d.Err.Message), verbose)}
		return append([]Line{failed}, brokenOff(e, said, verbose)...)
	}
	if d.Kind != nextstep.KindGetChatCompletion {
		return LineIf(verbose, Line{Dim, place(e) + verb(d.Kind) + plaintext.Colon(plaintext.Join(", ", plaintext.Counted(d.Calls, "call"), lasting(d.Elapsed)))})
	}
	reply := "an answer"
	if d.Calls > 0 {
		reply = plaintext.Counted(d.Calls, "call")
	}
	what := plaintext.Join(", ", reply, Tokens(d.Usage, d.Cost, d.Unpriced), lasting(d.Elapsed))
	lines := []Line{{Plain, place(e) + plaintext.Join(" ", "model", plaintext.OneLine(d.Model)) + ": " + what}}
	lines = append(lines, LineIf(verbose && said.thought != "", Line{Dim, place(e) + "thinks: " + plaintext.OneLine(said.thought)})...)
	// Without calls the text may be the result, which is shown elsewhere; see Screen.unheard.
	return append(lines, LineIf(said.text != "" && (verbose || d.Calls > 0), Line{Plain, place(e) + "says: " + text(said.text, verbose)})...)
}

// describeResult describes how a tool call ended. It shows the first line of a result, or a whole
// error, or everything.
func describeResult(e happening, out messages.ToolOutput, verbose bool) []Line {
	if !verbose && startsStep(out.ToolName) && (out.OK() || out.Reason == tools.ReasonError) {
		return nil // the frame of the step shows it
	}
	how, s := "ok", Dim
	if !out.OK() {
		how, s = string(out.Status), Bad
		if out.Reason != "" {
			how += " (" + out.Reason + ")"
		}
	}
	begin := place(e) + plaintext.Join(" ", plaintext.OneLine(out.ToolName), id(out.CallID, verbose), how, lasting(out.Elapsed))
	rows := strings.Split(strings.TrimSpace(out.Output), "\n")
	switch {
	case verbose:
		lines := []Line{{s, begin}}
		for _, l := range rows {
			lines = append(lines, LineIf(l != "", Line{Dim, indent(e) + "    " + plaintext.Printable(strings.TrimRight(l, "\r"))})...)
		}
		return lines
	case out.OK() && len(rows) > 1:
		return []Line{{s, begin + plaintext.Colon(plaintext.Head(plaintext.OneLine(rows[0]), toolColumns)) + " (+" + plaintext.Counted(len(rows)-1, "line") + ")"}}
	case !out.OK():
		return []Line{{s, begin + plaintext.Colon(text(plainwords.Of(out.Output), false))}}
	default:
		return []Line{{s, begin + plaintext.Colon(text(out.Output, false))}}
	}
}

// describeCompaction describes how a conversation became shorter.
func describeCompaction(d machine.Compacted) string {
	how := "old messages were summarized"
	switch {
	case d.Failed != "":
		how = "old messages were left out, because their summary failed"
	case d.How == string(compaction.Trim):
		how = "old messages were left out"
	}
	return fmt.Sprintf("%s: about %d tokens instead of %d", how, d.After, d.Before)
}

func describeRetry(d machine.RetryWaiting, said partialReply) string {
	what := strings.ReplaceAll(string(d.Kind), "_", " ")
	if d.Attempt > 0 {
		what += fmt.Sprintf(" after attempt %d", d.Attempt)
	}
	if d.Wait > 0 {
		what += " in " + d.Wait.Round(time.Millisecond).String()
	}
	what += plaintext.Colon(text(plainwords.Of(d.Error), false))
	if d.Discard && said.text != "" {
		what += "; what was said is dropped, and said again"
	}
	return what
}

// brokenOff shows the text of an incomplete reply. The root's text is shown elsewhere, like its
// answer.
func brokenOff(e happening, said partialReply, verbose bool) []Line {
	return LineIf(said.text != "" && e.Depth > 1, Line{Plain, place(e) + "says: " + text(said.text, verbose)})
}

// describeFrame describes how a strategy ended, and its result for the parent. The error and the
// result of the root are shown with the run.
func describeFrame(e happening, d machine.FrameLeft, said partialReply, verbose bool) []Line {
	child := e.Depth > 1
	ended := Line{Good, place(e) + plaintext.OneLine(d.Strategy) + " done"}
	if d.Handoff != "" {
		ended.Text = place(e) + plaintext.OneLine(d.Strategy) + " hands off to " + plaintext.OneLine(d.Handoff)
	}
	if d.Err != nil {
		ended = Line{Bad, place(e) + plaintext.OneLine(d.Strategy) + " failed (" + string(d.Err.Code) + ")"}
		if child {
			ended.Text += plaintext.Colon(text(plainwords.Of(d.Err.Message), verbose))
		}
	}
	ended.Text += plaintext.Colon(plaintext.Join(", ", Tokens(d.Usage, d.Cost, d.Unpriced), lasting(d.Elapsed)))
	lines := brokenOff(e, said, verbose)
	if child && d.Result != nil {
		lines = append(lines, Line{Plain, place(e) + "result" + plaintext.Colon(text(*d.Result, verbose))})
	}
	return append(lines, ended)
}

// status returns the current activity, for the last line; false if e does not change it.
func status(e happening, said partialReply, columns int) (string, bool) {
	switch d := e.Detail.(type) {
	case nil:
		now := said.text
		if e.Kind == machine.EventThoughtDelta {
			now = said.thought
		}
		if len(now) > 4*columns {
			now = now[len(now)-4*columns:]
		}
		at := place(e)
		return at + plaintext.Tail(plaintext.OneLine(strings.ToValidUTF8(now, "")), max(columns-plaintext.CellsOf(at), 0)), true
	case machine.RunResumed:
		return "going on" + plaintext.Ellipsis, true
	case machine.StateChanged:
		return place(e) + strings.ReplaceAll(string(d.To), "_", " ") + plaintext.Ellipsis, true
	case machine.StepTaken, machine.FrameLeft:
		return place(e), true
	case machine.ToolStarted:
		return place(e) + plaintext.OneLine(d.Call.Name) + plaintext.Ellipsis, true
	default:
		return "", false
	}
}

// place returns the agent, the frame and the step of an event, indented by the depth of the frame.
func place(e happening) string {
	at := plaintext.Join(" ", plaintext.OneLine(e.agent), e.Frame)
	if e.Seq > 0 {
		at += fmt.Sprintf(" #%d", e.Seq)
	}
	return indent(e) + "[" + at + "] "
}

// indent returns the indentation of a line about a frame. The root has none.
func indent(e happening) string { return strings.Repeat("  ", max(0, e.Depth-1)) }

func verb(k nextstep.Kind) string {
	switch k {
	case nextstep.KindGetChatCompletion:
		return "model"
	case nextstep.KindExecuteTools:
		return "tools"
	default:
		return k.String()
	}
}

func ending(s machine.Status) Style {
	switch s {
	case machine.StatusDone:
		return Good
	case machine.StatusWaiting:
		return Warn
	default:
		return Bad
	}
}

// opening returns the first paragraph of a text on one line, or the whole text if everything is
// shown.
func opening(s string, verbose bool) string {
	first, rest, more := strings.Cut(strings.TrimSpace(s), "\n\n")
	if verbose || !more {
		return text(s, verbose)
	}
	return text(first, false) + " (+" + plaintext.Counted(strings.Count(rest, "\n")+1, "line") + ")"
}

// text returns a text on one line.
func text(s string, verbose bool) string {
	if verbose {
		return plaintext.OneLine(s)
	}
	return plaintext.Head(plaintext.OneLine(s), TextColumns)
}

// arguments returns the arguments of a call on one line, with letters instead of their escapes.
func arguments(s string, verbose bool) string {
	s = unescaped(s)
	if verbose {
		return plaintext.OneLine(s)
	}
	return plaintext.Head(plaintext.OneLine(s), toolColumns)
}

// tokens describes the usage; "" if the provider did not report it.
func tokens(u messages.Usage) string {
	if u == (messages.Usage{}) {
		return ""
	}
	if u.Estimated > 0 {
		return fmt.Sprintf("about %d tokens in, %d out", u.Input, u.Output)
	}
	return fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output)
}

// lasting describes a duration; "" if it is very short.
func lasting(d time.Duration) string {
	if d < 100*time.Millisecond {
		return ""
	}
	return d.Round(100 * time.Millisecond).String()
}

func id(s string, verbose bool) string {
	if !verbose {
		return ""
	}
	return plaintext.OneLine(s)
}

// showsState reports whether a state is shown without --verbose. What strategies do in other states
// has its own lines.
func showsState(s strategy.State) bool {
	switch s {
	case "needs_plan", "evaluating_plan", "executing_step", "executing_steps", "revising_plan", "synthesizing":
		return true
	default:
		return false
	}
}

// startsStep reports whether calls of a tool start a step of a plan beside others.
func startsStep(tool string) bool { return stepTool.MatchString(tool) }

var stepTool = regexp.MustCompile(`^` + pre.ExecuteStep + `(_\d+)?$`)

// describeCall describes a tool call. Valid plans and judgements are shown in words.
func describeCall(e happening, call messages.ToolCall, verbose bool) []Line {
	begin := place(e) + plaintext.Join(" ", plaintext.OneLine(call.Name), id(call.ID, verbose))
	if startsStep(call.Name) {
		var c struct{ Step, Goal string }
		if json.Unmarshal([]byte(call.Arguments), &c) == nil && c.Step != "" {
			return []Line{{Plain, place(e) + plaintext.Join(" ", "step", plaintext.OneLine(c.Step), id(call.ID, verbose)) + plaintext.Colon(opening(c.Goal, verbose))}}
		}
	}
	switch call.Name {
	case pre.SubmitPlan:
		var p pre.Plan
		if json.Unmarshal([]byte(call.Arguments), &p) == nil && len(p.Steps) > 0 {
			for i := range p.Steps {
				p.Steps[i].Status, p.Steps[i].Err = "", nil // the model must not set these
			}
			return append([]Line{{Plain, begin + ": " + plaintext.Counted(len(p.Steps), "step")}}, describePlan(e, p, verbose)...)
		}
	case pre.SubmitEvaluation:
		var v struct {
			Approved *bool
			Feedback string
		}
		if json.Unmarshal([]byte(call.Arguments), &v) == nil && v.Approved != nil {
			if *v.Approved {
				return []Line{{Good, begin + ": approved" + plaintext.Colon(text(v.Feedback, verbose))}}
			}
			return []Line{{Warn, begin + ": rejected" + plaintext.Colon(text(v.Feedback, verbose))}}
		}
	}
	return []Line{{Plain, plaintext.Join(" ", begin, arguments(call.Arguments, verbose))}}
}

// describePlan describes the steps of a plan, one line each, with their outcomes.
func describePlan(e happening, p pre.Plan, verbose bool) []Line {
	lines := make([]Line, 0, len(p.Steps))
	for _, step := range p.Steps {
		s, how := Plain, string(step.Status)
		switch {
		case step.Status == pre.StepDone:
			s = Good
		case step.Err != nil:
			s, how = Bad, how+" ("+string(step.Err.Code)+")"
		}
		var more []string
		if len(step.DependsOn) > 0 {
			more = append(more, "after "+strings.Join(step.DependsOn, ", "))
		}
		if step.Free() {
			more = append(more, "after none")
		}
		if step.Executor != "" {
			more = append(more, "by "+step.Executor)
		}
		line := plaintext.Join(": ", plaintext.Join(" ", plaintext.OneLine(step.ID), how), text(step.Goal, verbose))
		if len(more) > 0 {
			line += " (" + plaintext.OneLine(strings.Join(more, "; ")) + ")"
		}
		lines = append(lines, Line{s, indent(e) + "    " + line})
	}
	for _, problem := range p.Unread {
		lines = append(lines, Line{Warn, indent(e) + "    not read: " + text(problem, verbose)})
	}
	return lines
}

// describeRun describes how the run ended, and the progress of its plan if there was one.
func describeRun(e happening, d machine.RunFinished, verbose bool) []Line {
	var lines []Line
	var p pre.Plan
	if found, err := d.Output.Metadata.Decode("plan", &p); verbose && found && err == nil && len(p.Steps) > 0 {
		lines = append([]Line{{Plain, place(e) + "plan: " + plaintext.Counted(len(p.Steps), "step")}}, describePlan(e, p, verbose)...)
	}
	return append(lines, Line{ending(d.Status), "run " + e.Run + " " + string(d.Status)})
}
