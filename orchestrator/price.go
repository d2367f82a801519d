package orchestrator

import (
	"context"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// price notes in the record of an answer what it has cost.
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

// Left returns what is left of each limit for the effect of ctx, a call of a tool or of a model: of
// those of its frame and of all above it, as it was when the effect began. Negative means that
// there is no limit. It returns false for a context that no run has made.
func Left(ctx context.Context) (delegation.Limits, bool) {
	x := executionOf(ctx)
	if x == nil {
		return delegation.Limits{}, false
	}
	return x.effect.Left, true
}
