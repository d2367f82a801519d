package orchestrator

import (
	"context"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// price adds the cost to the record of an answer.
func (o *Orchestrator) price(e *machine.Effect, rec *machine.Answered) {
	if e.Kind != machine.EffectModel {
		return
	}
	asked := ""
	if step, ok := e.Step.(nextstep.GetChatCompletion); ok {
		asked = step.Request.Model
	}
	*rec = rec.Priced(asked, o.cfg.Prices, o.prices)
}

// Left returns what was left of each limit, for the frame of the effect of ctx and all frames above
// it, when the effect began. The effect is a call of a tool or a model. Negative means no limit.
// Left returns false if ctx is not from a run.
func Left(ctx context.Context) (delegation.Limits, bool) {
	x := executionOf(ctx)
	if x == nil {
		return delegation.Limits{}, false
	}
	return x.effect.Left, true
}
