package completetask

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// done ends with an answer.
func (s *completeTask) done(text string, data json.RawMessage) nextstep.NextStep {
	out := s.output()
	out.Result, out.Data = &text, data
	return s.Then(finished, nextstep.Complete{Output: out})
}

// fail ends with an error and the work done so far.
func (s *completeTask) fail(code delegation.Code, err error) nextstep.NextStep {
	return s.Fail(delegation.NewError(code, err), s.output())
}

// limited ends because no model call is left, or for the reason of [frame.MustConclude].
func (s *completeTask) limited(why, result string) nextstep.NextStep {
	out := s.output()
	out.Result = textOf(result)
	return nextstep.ReportError{
		Err:    frame.LimitReached("completetask", why, fmt.Sprintf("of %d model calls", s.Caps[capRounds]+1)),
		Output: out,
	}
}

// withResult adds a text as the Result to a step that reports an error.
func withResult(step nextstep.NextStep, text string) nextstep.NextStep {
	if r, ok := step.(nextstep.ReportError); ok {
		r.Output.Result = textOf(text)
		return r
	}
	return step
}

// textOf returns a text as a Result: nil if it is "".
func textOf(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *completeTask) output() delegation.Output {
	return delegation.Output{Messages: s.history.Clip(), Metadata: s.metadata()}
}

// metadata describes the work. All its values can be encoded.
func (s *completeTask) metadata() delegation.Metadata {
	m := delegation.Metadata{"model_calls": strconv.AppendInt(nil, int64(s.asked), 10)}
	frame.SetFinish(&m, s.finish)
	if frame.CutOff(s.finish) {
		_ = m.Set("truncated", true)
	}
	if s.unforced {
		_ = m.Set("unforced", true)
	}
	if s.final && s.Answer != AnswerTool {
		_ = m.Set("answer_tool", true)
	}
	frame.SetCompactions(&m, &s.compact)
	frame.SetList(&m, "repaired", s.repaired)
	frame.SetList(&m, "not_run", s.dropped)
	frame.SetUnused(&m, s.Untold())
	return m
}
