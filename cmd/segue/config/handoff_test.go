package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
)

// An agent that is handed over to is part of the run, with those that it calls; one that is not
// there, or that may use tools which the run does not allow, is an error with its place.
func TestParse_handoffs(t *testing.T) {
	c, err := Parse("segue.yaml", []byte(`agents:
  triage: {tools: [], config: {handoffs: [{strategy: books}, {strategy: books, tool: again, history: goal}]}}
  books: {children: [{agent: clerk}]}
  clerk: {description: Knows, config: {handoffs: [{strategy: triage}]}}
  lonely: {}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"books"}, c.Agents["triage"].HandsOffTo())
	setup, err := c.Setup("triage", Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"books", "clerk", "triage"}, setup.Strategies.Names())
	for name, factory := range setup.Strategies {
		require.Equal(t, c.Agents[name].HandsOffTo() != nil, strategy.NamesOf(factory()).Handoffs != nil, name)
	}
	setup, err = c.Setup("triage", Options{Strategy: "react"})
	require.NoError(t, err)
	require.Equal(t, []string{"triage"}, setup.Strategies.Names(), "another strategy has another config")
}
