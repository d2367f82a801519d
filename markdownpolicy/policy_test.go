package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// TestWithTools shows that a policy reads better if it knows the tools, also through wrappers, and
// that a policy with tools keeps them.
func TestWithTools(t *testing.T) {
	search := []tools.Definition{{Name: "Search", Parameters: []byte(`{"type":"object","properties":{"query":{"type":"string"}}}`)}}
	other := []tools.Definition{{Name: "Other"}}
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		with, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: search})
		require.NoError(t, err)
		require.Equal(t, with, p.(markdownpolicy.Tooled).WithTools(search), name)
		require.Equal(t, with, with.(markdownpolicy.Tooled).WithTools(other), name)
	}
	const text = "Action: Search\nAction Input: Oslo"
	for _, p := range []markdownpolicy.Tooled{markdownpolicy.ReAct{}, markdownpolicy.Think{Policy: markdownpolicy.ReAct{}}, markdownpolicy.Chain{markdownpolicy.ReAct{}}} {
		doc, err := p.WithTools(search).ParseResponse(text)
		require.NoError(t, err)
		require.Equal(t, `{"query":"Oslo"}`, doc.Contents()[0].(messages.ToolCall).Arguments)
	}
	require.Equal(t, markdownpolicy.Think{Policy: markdownpolicy.Fenced.With(markdownpolicy.Options{Tools: search})}, markdownpolicy.Think{}.WithTools(search))
}
