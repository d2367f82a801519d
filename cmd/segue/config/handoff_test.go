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

	for _, test := range []struct{ agents, problem string }{
		{`one: {config: {handoffs: [{strategy: two}]}}`, `no agent "two"; there are: one`},
		{`one: {config: {handoffs: [{strategy: one, tool: read_file}]}}`, `there is another tool "read_file"`},
		{`one: {config: {handoffs: [{strategy: one, tool: two}]}, children: [{agent: two}]}, two: {description: x}`, `there is another tool "two"`},
		{`one: {config: {handoffs: [{strategy: one, history: some}]}}`, `history`},
		{`one: {config: {handoffs: two}}`, `handoffs`},
		{`one: {strategy: retry, config: {handoffs: [{strategy: one}]}}`, `handoffs`},
		{`one: {strategy: retry, tools: [], children: [{agent: two, as: executor}]}, two: {config: {handoffs: [{strategy: three}]}}, three: {tools: [ask_user]}`, `its tools do not allow ask_user`},
	} {
		c, err := Parse("segue.yaml", []byte("agents: {"+test.agents+"}"))
		if err == nil {
			err = c.Try()
		}
		require.ErrorContains(t, err, test.problem, test.agents)
	}
}
