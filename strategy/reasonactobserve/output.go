package reasonactobserve

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// answered processes the answer that was requested in plain words.
func (s *reasonActObserve) answered(reply messages.Assistant) nextstep.NextStep {
	s.record(reply, "NotRun")
	switch text := reply.Text(); {
	case frame.CutOff(s.Finish):
		return s.cutOff(text)
	case text == "":
		return s.Abort(delegation.CodeFailed, errors.New("reasonactobserve: the model said that it is done, and gave no answer"))
	default:
		return s.done(text)
	}
}

// cutOff ends with a part of an answer, or asks for another one if the model went on repeating
// itself, and has not been told so before.
func (s *reasonActObserve) cutOff(part string) nextstep.NextStep {
	if s.Finish == llmclient.FinishRepetition && s.HasNews(noted) {
		return s.goOn()
	}
	return s.failWith(part, delegation.CodeTruncated, errors.New("reasonactobserve: the answer was cut off "+frame.CutWhere(s.Finish)))
}

// concluded processes the last reply, after the steps were used up.
func (s *reasonActObserve) concluded(reply messages.Assistant) nextstep.NextStep {
	why := frame.MustConclude(s.History)
	s.record(reply, "NotRun")
	text := reply.Text()
	if s.OnLimit == LimitAccept && why != messages.ReasonRepetition && text != "" && !frame.CutOff(s.Finish) {
		return s.done(text)
	}
	var result *string
	if text != "" {
		result = &text
	}
	return s.Then(concluded, s.limited(why, result))
}

// done ends with an answer, and adds it as the last message if it is not already there.
func (s *reasonActObserve) done(answer string) nextstep.NextStep {
	last, ok := s.History.Last().(messages.Assistant)
	if !ok || last.Text() != answer {
		s.History = append(s.History, messages.AssistantText(answer))
	}
	if s.HasNews(noted) {
		return s.goOn()
	}
	out := s.Reached()
	out.Result = &answer
	return s.Then(finished, nextstep.Complete{Output: out})
}

// limited ends because no step is left, or for the reason of [frame.MustConclude].
func (s *reasonActObserve) limited(why string, result *string) nextstep.NextStep {
	out := s.Reached()
	out.Result = result
	_ = out.Metadata.Set("limited", true)
	return nextstep.ReportError{Err: frame.LimitReached(pkg, why, fmt.Sprintf("of %d steps", s.step)), Output: out}
}

// failWith ends with an error, and a text as the Result.
func (s *reasonActObserve) failWith(text string, code delegation.Code, err error) nextstep.NextStep {
	out := s.Reached()
	if text != "" {
		out.Result = &text
	}
	return s.Fail(delegation.NewError(code, err), out)
}

// Reached implements frame.Converser.
func (s *reasonActObserve) Reached() delegation.Output {
	var m delegation.Metadata
	set := func(name string, v any) { _ = m.Set(name, v) } // all these values can be encoded
	set("steps", s.step)
	set("model_calls", s.Asked)
	frame.SetList(&m, "tools", s.used)
	if frame.CutOff(s.Finish) {
		set("truncated", true)
	}
	if s.State() == frame.Concluding {
		set("limited", true)
	}
	s.Describe(&m)
	return delegation.Output{Messages: s.History.Clip(), Metadata: m}
}
