package prompts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prompts"
)

func TestPrompts(t *testing.T) {
	type data struct{ Goal string }
	type texts struct{ A, B string }
	samples := map[string]any{"": data{}, "B": nil}
	p, err := prompts.Parse("p", texts{B: "Mine."}, texts{A: " Do {{.Goal}}. ", B: "Yours."}, samples)
	require.NoError(t, err)
	text, err := p.Fill("A", data{"it"})
	require.NoError(t, err)
	require.Equal(t, "Do it.", text)
	text, err = p.Fill("B", nil)
	require.NoError(t, err)
	require.Equal(t, "Mine.", text)

	_, err = prompts.Parse("p", texts{A: "{{.Nothing}}", B: "{{"}, texts{}, samples)
	require.ErrorContains(t, err, "p: Prompts: template: A")
	require.ErrorContains(t, err, "template: B")
	_, err = prompts.Parse("p", texts{B: "{{.Goal}}"}, texts{}, samples)
	require.ErrorContains(t, err, "template: B", "it has no data")
	_, err = prompts.Parse("p", texts{A: "{{.nothing}}"}, texts{}, map[string]any{"A": map[string]any{}})
	require.ErrorContains(t, err, "nothing")
}
