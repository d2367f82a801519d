package planreviseexecute

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// answer ends with the text that was made of the results.
func (s *planReviseExecute) answer(resp llmclient.Response, calls []messages.ToolCall) nextstep.NextStep {
	s.close(calls, "NotRun")
	text := resp.Message.Text()
	switch {
	case resp.Finish == llmclient.FinishLength:
		step := s.fail(delegation.CodeTruncated, errors.New("planreviseexecute: the answer was cut off at the token limit"))
		if r, ok := step.(nextstep.ReportError); ok && text != "" {
			r.Output.Result = &text
			return r
		}
		return step
	case text == "":
		return s.fail(delegation.CodeFailed, errors.New("planreviseexecute: the model's answer was empty"))
	default:
		out := s.output()
		out.Result = &text
		return s.Then(finished, nextstep.Complete{Output: out})
	}
}

// fail ends with an error and everything that was reached.
func (s *planReviseExecute) fail(code delegation.Code, err error) nextstep.NextStep {
	return s.Fail(delegation.NewError(code, err), s.partial())
}

// output is what was reached.
func (s *planReviseExecute) output() delegation.Output {
	m := delegation.Metadata{}
	set := func(name string, v any) {
		raw, err := json.Marshal(v)
		if err == nil { // all of these can be encoded
			m[name] = raw
		}
	}
	set("plan", Plan{Steps: append([]Step{}, s.plan.Steps...)}) // a list, if an empty one
	if len(s.revisions) > 0 {
		set("revisions", s.revisions)
	}
	if len(s.repaired) > 0 {
		set("repaired", s.repaired)
	}
	return delegation.Output{Messages: s.history.Clip(), Result: s.last, Metadata: m}
}

// partial is what was reached by a run that did not come to its end, and where it stood. As long as
// no step is done, the text of one that failed is better than none.
func (s *planReviseExecute) partial() delegation.Output {
	out := s.output()
	out.Result = cmp.Or(out.Result, s.scrap)
	_ = out.Metadata.Set("phase", s.phase()) // a string can be encoded
	return out
}

// phase is the name of the present phase.
func (s *planReviseExecute) phase() string {
	for _, r := range Table.States {
		if r.Name == s.State() && r.Phase != "" {
			return r.Phase
		}
	}
	return string(s.State())
}
