package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// A filter of tools bounds what is offered, and keeps what the strategy says besides.
func TestToolFilter_Bounds(t *testing.T) {
	bounds := func(cfg completetask.Config) strategy.Bounds {
		return offerOnly(completetask.New(cfg), []string{"a", "b"})().(strategy.Bounder).Bounds()
	}
	require.Equal(t, []string{"a", "b"}, bounds(completetask.Config{}).Offers)
	b := bounds(completetask.Config{Tools: []string{"b", "c"}, OnLimit: completetask.LimitFail})
	require.Equal(t, []string{"b"}, b.Offers)
	require.NotEmpty(t, b.Triggers)
}

// The models that may be asked: of the agents that can be reached, with their fallbacks.
func TestSetup_ModelNames(t *testing.T) {
	cfg, err := Parse("segue.yaml", []byte(`
models:
  big: {model: big-1}
  small: {model: small-1, fallbacks: [big]}
agents:
  a: {model: small, children: [{agent: b}]}
  b: {model: big, description: Helps.}
default: a
`))
	require.NoError(t, err)
	names := func(agent, model string) []string {
		s, err := cfg.Setup(agent, Options{})
		require.NoError(t, err)
		return s.ModelNames(ClientOptions{Model: model, Getenv: func(string) string { return "" }})
	}
	require.Equal(t, []string{"big-1", "small-1"}, names("a", ""))
	require.Equal(t, []string{"big-1"}, names("b", ""))
	require.Equal(t, []string{"big-1"}, names("a", "big"))
	require.Equal(t, []string{"big-1"}, names("b", "big"))
	require.Equal(t, []string{"big-1", "other"}, names("a", "other"))
}
