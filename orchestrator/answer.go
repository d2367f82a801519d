package orchestrator

import (
	"fmt"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// misfit says why a does not answer the pending step; "" if it does.
func (m *Machine) misfit(a nextstep.Answer) string {
	switch a.(type) {
	case nil:
		return "it is nil"
	case nextstep.APIResponse, nextstep.ToolResults, nextstep.DelegationResult, nextstep.Failure, nextstep.Stop:
	default:
		return "answers are values of the types in package nextstep"
	}
	if !a.Answers(m.pending.Kind()) {
		return "it answers another kind of step"
	}
	switch a := a.(type) {
	case nextstep.APIResponse:
		if a.Response == nil {
			return "it holds no response"
		}
		if problem := badReply(a.Response); problem != "" {
			return "its reply " + problem
		}
	case nextstep.ToolResults:
		return m.badResults(&a)
	case nextstep.DelegationResult:
		if problem := badUsage(a.Output.Usage, nil); problem != "" {
			return "its output " + problem
		}
	case nextstep.Failure:
		if problem := badUsage(a.Usage, a.Attempts); problem != "" {
			return "it " + problem
		}
	case nextstep.Stop:
		return m.badStop(&a)
	}
	return ""
}

// badReply says what is wrong with a model's reply, whoever asked for it; "" if nothing is.
func badReply(r *llmclient.Response) string {
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

// badSpent says what is wrong with what runs within a step are said to have used; "" if nothing is.
func badSpent(s nextstep.Spent) string {
	if s.Steps < 0 || s.ModelCalls < 0 || s.ToolCalls < 0 || negative(s.Usage) {
		return "it reports that runs within the step have used less than nothing"
	}
	return ""
}

// badResults says why a does not answer the pending batch; "" if it does.
func (m *Machine) badResults(a *nextstep.ToolResults) string {
	calls := m.pending.(nextstep.ExecuteTools).Calls
	if problem := remade(calls, a.Calls); problem != "" {
		return problem
	}
	if problem := mismatch(calls, a.Results); problem != "" {
		return problem
	}
	return badSpent(a.Spent)
}

// badStop says why a does not answer the pending step; "" if it does.
func (m *Machine) badStop(a *nextstep.Stop) string {
	if len(a.Results) > 0 {
		step, ok := m.pending.(nextstep.ExecuteTools)
		if !ok {
			return "it holds tool results"
		}
		if problem := mismatch(step.Calls, a.Results); problem != "" {
			return problem
		}
	}
	if problem := badUsage(a.Usage, nil); problem != "" {
		return "it " + problem
	}
	return badSpent(a.Spent)
}

// mismatch says why results do not answer calls, one for one and in order. A result need not name
// its tool.
func mismatch(calls []messages.ToolCall, results []messages.ToolOutput) string {
	if len(results) != len(calls) {
		return fmt.Sprintf("it holds %d results for %d calls", len(results), len(calls))
	}
	for i, c := range calls {
		switch o := &results[i]; {
		case o.CallID != c.ID:
			return fmt.Sprintf("result %d answers call %q, not %q", i, o.CallID, c.ID)
		case o.ToolName != "" && o.ToolName != c.Name:
			return fmt.Sprintf("result %d is of tool %.64q, and call %.64q is of %.64q", i, o.ToolName, c.ID, c.Name)
		case o.Status != "" && o.Status != messages.StatusOK && o.Status != messages.StatusFailed && o.Status != messages.StatusUnknown:
			return fmt.Sprintf("result %d has the status %.64q, which is none", i, o.Status)
		}
	}
	return ""
}

// remade says why made are not the calls of a batch as a middleware made them: with other
// arguments, and otherwise the same. Nil made stands for the calls themselves.
func remade(calls, made []messages.ToolCall) string {
	if made == nil {
		return ""
	}
	if len(made) != len(calls) {
		return fmt.Sprintf("it says that %d calls were made of %d", len(made), len(calls))
	}
	for i, c := range calls {
		if made[i].ID != c.ID || made[i].Name != c.Name {
			return fmt.Sprintf("it says that call %d was %.64q of tool %.64q, and that is %.64q of %.64q", i, made[i].ID, made[i].Name, c.ID, c.Name)
		}
	}
	return ""
}
