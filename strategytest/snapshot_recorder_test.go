package strategytest

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// recorder shows a strategy before and after each answer. It has what the built-in strategies have
// and the driver needs.
type recorder struct {
	strategy.Strategy
	look func(strategy.Strategy)
}

func (r *recorder) around(step func() nextstep.NextStep) nextstep.NextStep {
	r.look(r.Strategy)
	made := step()
	if made != nil && !made.Kind().Final() {
		r.look(r.Strategy)
	}
	return made
}

func (r *recorder) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	return r.around(func() nextstep.NextStep { return r.Strategy.ProcessAPIResponse(resp) })
}

func (r *recorder) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	return r.around(func() nextstep.NextStep { return r.Strategy.ProcessToolResults(results) })
}

func (r *recorder) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	return r.around(func() nextstep.NextStep { return r.Strategy.ProcessDelegationResult(out) })
}

func (r *recorder) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	h, ok := r.Strategy.(strategy.FailureHandler)
	if !ok {
		return nextstep.ReportError{Err: &delegation.Error{Code: f.Code, Message: f.Message}}
	}
	return r.around(func() nextstep.NextStep { return h.ProcessFailure(f) })
}

func (r *recorder) FSM() *strategy.FSM { return r.Strategy.(strategy.Tabler).FSM() }

func (r *recorder) Names() strategy.Names { return strategy.NamesOf(r.Strategy) }

func (r *recorder) UseTools(defs []tools.Definition) {
	if u, ok := r.Strategy.(strategy.ToolUser); ok {
		u.UseTools(defs)
	}
}

func (r *recorder) Tools() []tools.Tool {
	if p, ok := r.Strategy.(strategy.ToolProvider); ok {
		return p.Tools()
	}
	return nil
}
