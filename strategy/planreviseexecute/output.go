package planreviseexecute

import (
	"cmp"
	"errors"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// answer ends with the text that was made from the results.
func (s *planReviseExecute) answer(resp llmclient.Response, calls []messages.ToolCall) nextstep.NextStep {
	s.close(calls, "NotRun")
	text := resp.Message.Text()
	switch {
	case frame.CutOff(resp.Finish):
		out := s.Reached()
		if text != "" {
			out.Result = &text
		}
		return s.Fail(delegation.NewError(delegation.CodeTruncated, errors.New("planreviseexecute: the answer was cut off "+frame.CutWhere(resp.Finish))), out)
	case text == "":
		return s.Abort(delegation.CodeFailed, errors.New("planreviseexecute: the model's answer was empty"))
	default:
		out := s.output()
		out.Result = &text
		return s.Then(finished, nextstep.Complete{Output: out})
	}
}

// output returns the work done so far.
func (s *planReviseExecute) output() delegation.Output {
	var m delegation.Metadata
	_ = m.Set("plan", Plan{Steps: append([]Step{}, s.plan.Steps...), Planned: s.plan.Planned, Unread: s.plan.Unread}) // an empty list if there are no steps; can be encoded
	_ = m.Set("steps_executed", s.plan.Done())
	if s.plan.Planned > 0 {
		_ = m.Set("truncated", true)
	}
	frame.SetList(&m, "revisions", s.revisions)
	s.Describe(&m)
	frame.SetUnused(&m, s.notes.unused())
	return delegation.Output{Messages: s.History.Clip(), Result: s.last, Metadata: m, Parts: slices.Clip(s.parts)}
}

// Reached implements frame.Converser: the work done so far, and the phase. As long as no step is
// done, it uses the text of a failed step.
func (s *planReviseExecute) Reached() delegation.Output {
	out := s.output()
	out.Result = cmp.Or(out.Result, s.scrap)
	_ = out.Metadata.Set("phase", s.phase()) // a string can be encoded
	return out
}

// phase returns the name of the current phase.
func (s *planReviseExecute) phase() string {
	now := slices.IndexFunc(Table.States, func(r strategy.StateRule) bool { return r.Name == s.State() })
	return cmp.Or(Table.States[now].Phase, string(s.State()))
}
