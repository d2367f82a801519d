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
// The price is looked up by the model that answered, and then by the model that was asked for.
// Tokens of a model without a price cost nothing, and Unpriced counts such requests. Records of
// other answers are returned unchanged.
func (r Answered) Priced(prices llmclient.Prices, asked string) Answered {
	if r.Cost, r.Unpriced = 0, 0; r.Kind != EffectModel {
		return r
	}
	switch a := r.Answer.(type) {
	case nextstep.APIResponse:
		if a.Response != nil {
			r.charge(prices, a.Response.Model, asked, a.Response.Usage)
			r.chargeAttempts(prices, asked, a.Response.Attempts)
		}
	case nextstep.Failure:
		r.charge(prices, asked, asked, a.Usage)
		r.chargeAttempts(prices, asked, a.Attempts)
	}
	return r
}

func (r *Answered) chargeAttempts(prices llmclient.Prices, asked string, attempts []llmclient.Attempt) {
	for _, a := range attempts {
		r.charge(prices, a.Model, asked, a.Usage)
	}
}

// charge adds the cost of one request.
func (r *Answered) charge(prices llmclient.Prices, model, asked string, u messages.Usage) {
	if u == (messages.Usage{}) {
		return
	}
	price, ok := prices.Of(cmp.Or(model, asked))
	if !ok {
		price, ok = prices.Of(asked)
	}
	if !ok {
		r.Unpriced++
		return
	}
	r.Cost = r.Cost.Add(price.Cost(u))
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
