package machine

import (
	"cmp"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// Priced returns the record with the cost of a model's answer, hidden attempts included. The engine
// calls it before it applies the record. So the journal stores what was charged, and later changes
// of prices do not change it.
//
// The price is looked up by the model that answered, and then by the model that was asked for. A
// price in an earlier list wins, by either name. Tokens of a model without a price cost nothing,
// and Unpriced counts such requests. Records of other answers are returned unchanged.
func (r Answered) Priced(asked string, lists ...llmclient.Prices) Answered {
	if r.Cost, r.Unpriced = 0, 0; r.Kind != EffectModel {
		return r
	}
	switch a := r.Answer.(type) {
	case nextstep.APIResponse:
		if a.Response == nil {
			return r
		}
		name := cmp.Or(a.Response.Asked, asked)
		r.charge(lists, a.Response.Model, name, a.Response.Usage)
		for _, before := range a.Response.Attempts {
			if before.Model == a.Response.Model { // the same was asked
				r.charge(lists, before.Model, name, before.Usage)
			} else {
				r.charge(lists, before.Model, asked, before.Usage)
			}
		}
	case nextstep.Failure:
		r.charge(lists, a.Model, asked, a.Usage)
		for _, before := range a.Attempts {
			r.charge(lists, before.Model, asked, before.Usage)
		}
	}
	return r
}

// charge adds the cost of one request.
func (r *Answered) charge(lists []llmclient.Prices, model, asked string, u messages.Usage) {
	if u == (messages.Usage{}) {
		return
	}
	for _, prices := range lists {
		price, ok := prices.Of(cmp.Or(model, asked))
		if !ok {
			price, ok = prices.Of(asked)
		}
		if ok {
			r.Cost = r.Cost.Add(price.Cost(u))
			return
		}
	}
	r.Unpriced++
}

// costProblem says what is wrong with the cost of an answer; "" if nothing is wrong.
func costProblem(e *effect, r *Answered) string {
	switch {
	case r.Cost < 0 || r.Unpriced < 0:
		return "it reports a negative cost"
	case e.kind != EffectModel && (r.Cost != 0 || r.Unpriced != 0):
		return "it reports the cost of a model, and no model was asked"
	}
	return ""
}
