package machine

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// misfit says why a does not answer the effect; "" if it does.
func misfit(e *effect, a nextstep.Answer) string {
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
		if c := a.Output.Counts; c.Steps < 0 || c.ModelCalls < 0 || c.ToolCalls < 0 {
			return "its output reports that less than nothing was used"
		}
	case nextstep.Failure:
		if problem := badUsage(a.Usage, a.Attempts); problem != "" {
			return "it " + problem
		}
	}
	return formlessAnswer(a)
}

// formlessAnswer says why an answer cannot stand in a journal; "" if it can. What holds nothing but
// text and calls as values can: that has been checked.
func formlessAnswer(a nextstep.Answer) string {
	plain := false
	switch a := a.(type) {
	case nextstep.APIResponse:
		plain = isPlain(a.Response.Message)
	case nextstep.ToolResult:
		plain = a.Call == nil || len(a.Call.Extras) == 0
	case nextstep.Failure:
		plain = len(a.Partial.Content) == 0 && len(a.Partial.Extras) == 0
	}
	if plain {
		return ""
	}
	if _, err := nextstep.AppendAnswer(nil, a); err != nil {
		return "it has no JSON form: " + err.Error()
	}
	return ""
}

// isPlain reports whether a reply has no extras.
func isPlain(a messages.Assistant) bool {
	return len(a.Extras) == 0 && !slices.ContainsFunc(a.Content, func(part messages.AssistantContent) bool {
		c, ok := part.(messages.ToolCall)
		return ok && len(c.Extras) > 0
	})
}

// badResult says why a is no result of a call; "" if it is one. It need not name its tool.
func badResult(c *messages.ToolCall, a *nextstep.ToolResult) string {
	o := &a.Output
	switch {
	case o.CallID != c.ID:
		return fmt.Sprintf("it answers call %.64q, not %.64q", o.CallID, c.ID)
	case o.ToolName != "" && o.ToolName != c.Name:
		return fmt.Sprintf("it is of tool %.64q, and call %.64q is of %.64q", o.ToolName, c.ID, c.Name)
	case o.Status != "" && o.Status != messages.StatusOK && o.Status != messages.StatusFailed && o.Status != messages.StatusUnknown:
		return fmt.Sprintf("it has the status %.64q, which is none", o.Status)
	case o.Reason == tools.ReasonSuspended:
		return "a call that waits has no result: it is answered with Suspended"
	case a.Call != nil && (a.Call.ID != c.ID || a.Call.Name != c.Name):
		return fmt.Sprintf("it says that the call was %.64q of tool %.64q, and that is %.64q of %.64q", a.Call.ID, a.Call.Name, c.ID, c.Name)
	}
	return ""
}

// BadReply says what is wrong with a model's reply, whoever asked for it; "" if nothing is.
func BadReply(r *llmclient.Response) string {
	if problem := unsound(r.Message); problem != "" {
		return problem
	}
	return badUsage(r.Usage, r.Attempts)
}

// badUsage says what is wrong with what a step is said to have used; "" if nothing is.
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
	return u.Input < 0 || u.Output < 0 || u.Total < 0 || u.Cached < 0 || u.Reasoning < 0
}

// idSet notes ids. The first few take no memory of their own: most replies have no more calls.
type idSet struct {
	few  [8]string
	n    int
	many map[string]bool
}

// add notes an id and reports whether it is new.
func (s *idSet) add(id string) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], id) {
			return false
		}
		if s.n < len(s.few) {
			s.few[s.n] = id
			s.n++
			return true
		}
		s.many = make(map[string]bool, 4*len(s.few))
		for _, known := range s.few {
			s.many[known] = true
		}
	}
	if s.many[id] {
		return false
	}
	s.many[id] = true
	return true
}

// unsound says what is wrong with a reply that could not stand in a history; "" if nothing is.
func unsound(a messages.Assistant) string {
	var ids idSet
	for _, part := range a.Content {
		switch c := part.(type) {
		case messages.Text, messages.Thought:
		case messages.ToolCall:
			if c.ID == "" {
				return "holds a call without an id"
			}
			if !ids.add(c.ID) {
				return fmt.Sprintf("holds two calls with the id %.64q", c.ID)
			}
		default:
			return fmt.Sprintf("holds a %T, which is no part as a value", part)
		}
	}
	return ""
}
