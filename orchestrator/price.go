package orchestrator

import (
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
