package llmclient

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"slices"

	"github.com/segue-go/segue/messages"
)

// Price is what a model costs, in US dollars per million tokens. The zero Price is that of a model
// that costs nothing, such as one of one's own machine.
type Price struct {
	Input       float64 `json:"input,omitempty"`
	CachedInput float64 `json:"cached_input,omitempty"` // of input that the provider had in its cache; 0: as Input
	CacheWrites float64 `json:"cache_writes,omitempty"` // of input that the provider wrote to its cache; 0: as Input
	Output      float64 `json:"output,omitempty"`       // reasoning included
}

// Prices are the prices of models, by the name that a request or a reply has for the model. A
// Prices is read-only once it is in use.
type Prices map[string]Price

// dated matches the date at the end of the name of a model: gpt-4.1-2025-04-14, model-20250929.
var dated = regexp.MustCompile(`-20\d\d(-\d\d-\d\d|\d{4})$`)

// Of returns the price of a model, and whether there is one: that of its name, else that of its
// name without the date at its end.
func (p Prices) Of(model string) (Price, bool) {
	price, ok := p[model]
	if !ok && model != "" {
		if end := dated.FindStringIndex(model); end != nil {
			price, ok = p[model[:end[0]]]
		}
	}
	return price, ok
}

// With returns the prices of both lists; where both have a model, that of the other list.
func (p Prices) With(other Prices) Prices {
	all := make(Prices, len(p)+len(other))
	maps.Copy(all, p)
	maps.Copy(all, other)
	return all
}

// mostDollars bounds a price: what is more is a mistake.
const mostDollars = 1_000_000

// Check returns an error that names a model whose price is negative, is no number, or is above a
// million dollars.
func (p Prices) Check() error {
	for _, model := range slices.Sorted(maps.Keys(p)) {
		price := p[model]
		for _, dollars := range []float64{price.Input, price.CachedInput, price.CacheWrites, price.Output} {
			if !(dollars >= 0 && dollars <= mostDollars) { // so that NaN is caught
				return fmt.Errorf("the price of model %.64q: %v is no price in dollars per million tokens", model, dollars)
			}
		}
	}
	return nil
}

// Cost returns what so many tokens cost, rounded to the next millionth of a dollar. Prices count in
// millionths of a dollar too, so that no sum depends on how a processor rounds.
func (p Price) Cost(u messages.Usage) messages.Cost {
	cached := min(max(0, u.Cached), max(0, u.Input))
	written := min(max(0, u.CacheWrites), max(0, u.Input)-cached)
	var high, low uint64 // the sum, in millionths of a millionth of a dollar
	for _, part := range []struct {
		tokens  int64
		dollars float64
	}{
		{max(0, u.Input) - cached - written, p.Input},
		{cached, cmp.Or(p.CachedInput, p.Input)},
		{written, cmp.Or(p.CacheWrites, p.Input)},
		{max(0, u.Output), p.Output},
	} {
		hi, lo := bits.Mul64(uint64(part.tokens), millionths(part.dollars))
		var carry uint64
		low, carry = bits.Add64(low, lo, 0)
		high += hi + carry
	}
	const million = 1_000_000
	low, carry := bits.Add64(low, million/2, 0)
	if high += carry; high >= million {
		return messages.MaxCost
	}
	cost, _ := bits.Div64(high, low, million)
	return messages.Cost(min(cost, math.MaxInt64))
}

// millionths returns an amount of dollars in millionths of a dollar; 0 for what is no price.
func millionths(dollars float64) uint64 {
	if !(dollars > 0) {
		return 0
	}
	return uint64(math.Round(min(dollars, mostDollars) * 1e6))
}
