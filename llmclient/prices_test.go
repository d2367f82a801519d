package llmclient_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func TestPrice_Cost(t *testing.T) {
	mini := llmclient.Price{Input: 0.25, CachedInput: 0.025, Output: 2}
	for _, c := range []struct {
		price llmclient.Price
		usage messages.Usage
		want  messages.Cost
	}{
		{mini, messages.Usage{}, 0},
		{mini, messages.Usage{Input: 1_000_000}, 25 * messages.Cent},
		{mini, messages.Usage{Input: 1_000_000, Cached: 1_000_000}, 25_000},
		{mini, messages.Usage{Input: 1_000_000, Cached: 400_000, Output: 10_000, Reasoning: 9_000}, 150_000 + 10_000 + 20_000},
		{mini, messages.Usage{Input: 1}, 0},
		{mini, messages.Usage{Input: 2}, 1},
		{mini, messages.Usage{Input: 10, Cached: 20}, 0},
		{llmclient.Price{Input: 1}, messages.Usage{Input: 10, Cached: 10}, 10},
		{llmclient.Price{Input: 1, CachedInput: 0.1, CacheWrites: 1.25}, messages.Usage{Input: 1_000_000, Cached: 400_000, CacheWrites: 400_000}, 200_000 + 40_000 + 500_000},
		{llmclient.Price{Input: 1}, messages.Usage{Input: 10, CacheWrites: 10}, 10},
		{llmclient.Price{CacheWrites: 1}, messages.Usage{Input: 10, Cached: 8, CacheWrites: 20}, 2},
		{llmclient.Price{}, messages.Usage{Input: 1_000_000}, 0},
		{llmclient.Price{Input: 1e6, Output: 1e6}, messages.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, messages.MaxCost},
		{llmclient.Price{Input: math.NaN(), Output: -1}, messages.Usage{Input: 5, Output: 5}, 0},
	} {
		require.Equal(t, c.want, c.price.Cost(c.usage), "%+v %+v", c.price, c.usage)
	}
}

// More tokens never cost less.
func TestPrice_CostLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dollars, tokens := rapid.Float64Range(0, 1e6), rapid.Int64Range(0, math.MaxInt64/2)
		p := llmclient.Price{Input: dollars.Draw(t, "in"), Output: dollars.Draw(t, "out")}
		a := messages.Usage{Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output")}
		b := a.Add(messages.Usage{Input: tokens.Draw(t, "more"), Output: tokens.Draw(t, "more output")})
		require.LessOrEqual(t, p.Cost(a), p.Cost(b))
		require.GreaterOrEqual(t, p.Cost(a), messages.Cost(0))
	})
}

func TestPrices_Of(t *testing.T) {
	p := llmclient.KnownPrices().With(llmclient.Prices{"gpt-5": {Input: 7}, "local": {}})
	for model, want := range map[string]float64{"gpt-5": 7, "gpt-5-2025-08-07": 7, "gpt-4.1-mini-20250414": 0.4, "local": 0} {
		price, ok := p.Of(model)
		require.True(t, ok, model)
		require.InDelta(t, want, price.Input, 0, model)
	}
	for _, model := range []string{"", "gpt-5-pro", "-2025-08-07", "gpt-5-turbo-2025-08-07"} {
		_, ok := p.Of(model)
		require.False(t, ok, model)
	}
	require.NoError(t, p.Check())
	require.ErrorContains(t, llmclient.Prices{"m": {Output: math.NaN()}}.Check(), `"m"`)
	require.ErrorContains(t, llmclient.Prices{"m": {Input: -1}}.Check(), "-1")
}
