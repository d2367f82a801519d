package machine

import (
	"fmt"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// answerProblem says why a does not answer the effect; "" if it does. formless is the error if the
// answer has no JSON form.
func answerProblem(e *effect, a nextstep.Answer, formless error) string {
	kind := nextstep.KindExecuteTools
	if e.kind != EffectTool {
		kind = e.step.Kind()
	}
	switch a.(type) {
	case nil:
		return "it is nil"
	case nextstep.APIResponse, nextstep.ToolResult, nextstep.DelegationResult, nextstep.Failure:
	default:
		return "answers are values of the types in package nextstep"
	}
	if !a.Answers(kind) {
		return "it answers another kind of step"
	}
	switch a := a.(type) {
	case nextstep.APIResponse:
		if a.Response == nil {
			return "it holds no response"
		}
		if problem := BadReply(a.Response); problem != "" {
			return "its reply " + problem
		}
	case nextstep.ToolResult:
		if problem := badResult(&e.call, &a); problem != "" {
			return problem
		}
	case nextstep.DelegationResult:
		if problem := badUsage(a.Output.Usage, nil); problem != "" {
			return "its output " + problem
		}
		if c := a.Output.Counts; c.Steps < 0 || c.ModelCalls < 0 || c.ToolCalls < 0 || c.Handoffs < 0 {
			return "its output reports negative counts"
		}
		if a.Output.Cost < 0 || a.Output.Unpriced < 0 {
			return "its output reports a negative cost"
		}
	case nextstep.Failure:
		if problem := badUsage(a.Usage, a.Attempts); problem != "" {
			return "it " + problem
		}
	}
	if formless != nil {
		return "it has no JSON form: " + formless.Error()
	}
	return ""
}

// badResult says why a is not a result of call c; "" if it is. A result may omit the name of its
// tool.
func badResult(c *messages.ToolCall, a *nextstep.ToolResult) string {
	o := &a.Output
	switch {
	case o.CallID != c.ID:
		return fmt.Sprintf("it answers call %.64q, not %.64q", o.CallID, c.ID)
	case o.ToolName != "" && o.ToolName != c.Name:
		return fmt.Sprintf("it names tool %.64q, but call %.64q is of tool %.64q", o.ToolName, c.ID, c.Name)
	case o.Status != "" && o.Status != messages.StatusOK && o.Status != messages.StatusFailed && o.Status != messages.StatusUnknown:
		return fmt.Sprintf("it has the unknown status %.64q", o.Status)
	case o.Reason == tools.ReasonSuspended:
		return "a call that waits has no result: it is answered with Suspended"
	case a.Call != nil && (a.Call.ID != c.ID || a.Call.Name != c.Name):
		return fmt.Sprintf("its call is %.64q of tool %.64q, but the call of the effect is %.64q of %.64q", a.Call.ID, a.Call.Name, c.ID, c.Name)
	}
	return ""
}

// BadReply says what is wrong with a model's reply; "" if nothing is wrong.
func BadReply(r *llmclient.Response) string {
	if problem := badMessage(r.Message); problem != "" {
		return problem
	}
	return badUsage(r.Usage, r.Attempts)
}

// badUsage says what is wrong with the reported usage of a step; "" if nothing is wrong.
func badUsage(u messages.Usage, attempts []llmclient.Attempt) string {
	if negative(u) {
		return "reports a negative usage"
	}
	for _, a := range attempts {
		if negative(a.Usage) {
			return "reports a negative usage of an attempt"
		}
	}
	return ""
}

func negative(u messages.Usage) bool {
	return u.Input < 0 || u.Output < 0 || u.Total < 0 || u.Cached < 0 || u.Reasoning < 0 || u.CacheWrites < 0 || u.Estimated < 0
}

// badMessage says why a reply is not valid in a history; "" if it is valid.
func badMessage(a messages.Assistant) string {
	ids := map[string]bool{}
	for _, part := range a.Content {
		switch c := part.(type) {
		case messages.Text, messages.Thought:
		case messages.ToolCall:
			if c.ID == "" {
				return "holds a call without an id"
			}
			if ids[c.ID] {
				return fmt.Sprintf("holds two calls with the id %.64q", c.ID)
			}
			ids[c.ID] = true
		default:
			return fmt.Sprintf("holds a %T, which is not a part", part)
		}
	}
	return ""
}
