package terminal

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"

	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

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
