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
	out := s.Reached()
	out.Result, out.Data = &text, data
	return s.Then(finished, nextstep.Complete{Output: out})
}

// limited ends because no model call is left, or for the reason of [frame.MustConclude].
func (s *completeTask) limited(why, result string) nextstep.NextStep {
	out := s.Reached()
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

// Reached implements frame.Converser.
func (s *completeTask) Reached() delegation.Output {
	return delegation.Output{Messages: s.History.Clip(), Metadata: s.metadata()}
}

// metadata describes the work. All its values can be encoded.
func (s *completeTask) metadata() delegation.Metadata {
	m := delegation.Metadata{"model_calls": strconv.AppendInt(nil, int64(s.Asked), 10)}
	if frame.CutOff(s.Finish) {
		_ = m.Set("truncated", true)
	}
	if s.unforced {
		_ = m.Set("unforced", true)
	}
	if s.final && s.Answer != AnswerTool {
		_ = m.Set("answer_tool", true)
	}
	frame.SetList(&m, "not_run", s.dropped)
	s.Describe(&m)
	return m
}
