package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const rulesFile = `
agents: {usual: {}, quick: {}, planner: {}, writer: {}, german: {}, late: {}}
default: usual
rules:
  - {keywords: [plan, to do list], agent: planner}
  - {pattern: '(?i)^dear\b', agent: writer}
  - {source: voice, agent: quick}
  - {keywords: [Größe], agent: german}
  - {source: voice, agent: late}
  - {keywords: [plan, late], agent: late}
`

// Rules choose in the order: name, source, text; within each the first of the file.
func TestRules(t *testing.T) {
	c := sound(t, rulesFile)
	for _, tt := range []struct{ name, source, goal, agent, why string }{
		{"", "", "Say hello", "usual", "default"},
		{"writer", "voice", "plan", "writer", "--agent"},
		{"", "voice", "plan it", "quick", "rules[2], its source"},
		{"", "Voice", "plan it", "planner", "rules[0], its keywords"}, // a source is exact
		{"", "telegram", "Say it", "usual", "default"},
		{"", "", "Make a PLAN!", "planner", "rules[0], its keywords"},
		{"", "", "the airplane", "usual", "default"}, // words are whole
		{"", "", "planning", "usual", "default"},
		{"", "", "write my To-do\nlist", "planner", "rules[0], its keywords"},
		{"", "", "a list to do", "usual", "default"},
		{"", "", "Dear plan", "planner", "rules[0], its keywords"},
		{"", "", "dear sir", "writer", "rules[1], its pattern"},
		{"", "", "my dear sir", "usual", "default"},
		{"", "", "welche GRÖSSE?", "usual", "default"},
		{"", "", "welche GRÖßE?", "german", "rules[3], its keywords"},
		{"", "", "too late", "late", "rules[5], its keywords"},
	} {
		agent, why, err := c.Choose(Request{tt.name, tt.source, tt.goal})
		require.NoError(t, err, tt.goal)
		require.Equal(t, tt.agent, agent, tt.goal)
		require.Equal(t, tt.why, why, tt.goal)
	}
	_, _, err := c.Choose(Request{Agent: "nobody"})
	require.EqualError(t, err, `no agent "nobody" in segue.yaml; there are: german, late, planner, quick, usual, writer`)

	agent, why, err := sound(t, "agents: {a: {}}").Choose(Request{Goal: "x"})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "the only one"}, []string{agent, why})
	_, _, err = sound(t, "agents: {a: {}, b: {}}").Choose(Request{Goal: "x"})
	require.EqualError(t, err, "no rule of segue.yaml fits the task, and there is no default; name an agent with --agent: a, b")
}
