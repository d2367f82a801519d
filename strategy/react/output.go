package react

import (
	"fmt"
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// ToolUse is one action in the metadata of an output.
type ToolUse struct {
	Tool    string `json:"tool"`
	CallID  string `json:"call_id,omitempty"` // "" for an unknown tool
	Success bool   `json:"success"`
}

// limited ends because no step is left, or for the reason of [frame.MustConclude].
func (s *react) limited(why string, result *string) nextstep.NextStep {
	out := s.Reached()
	out.Result = result
	return nextstep.ReportError{Err: frame.LimitReached("react", why, fmt.Sprintf("of %d steps", s.MaxSteps)), Output: out}
}

// Reached implements frame.Converser: the work done so far, with the available part of an answer.
// It includes the last reply, even if that was unusable.
func (s *react) Reached() delegation.Output {
	history := s.History.Clip()
	if s.scrap != "" {
		history = append(history, messages.AssistantText(s.scrap)).Clip()
	}
	return delegation.Output{Messages: history, Result: s.part, Metadata: s.metadata()}
}

// metadata describes the work. All its values can be encoded.
func (s *react) metadata() delegation.Metadata {
	m := delegation.Metadata{"steps": strconv.AppendInt(nil, int64(s.steps), 10)}
	_ = m.Set("finished", false)
	if s.implicit {
		_ = m.Set("implicit", true)
	}
	frame.SetList(&m, "tools", s.used)
	s.Describe(&m)
	return m
}
