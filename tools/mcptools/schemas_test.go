package mcptools

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

// Schemas of a stranger hold neither a connection nor a call: a deep one is left out with the
// reason, the time-out counts between the tools of a list, and a check ends with its call.
func TestOffers_schemasOfStrangers(t *testing.T) {
	cfg, err := Config{Command: []string{"x"}}.withDefaults()
	require.NoError(t, err)
	s := &Toolset{cfg: cfg, redact: newRedactor(&cfg)}
	var deep any = map[string]any{}
	for range 400 {
		deep = map[string]any{"items": deep}
	}
	defs := map[string]any{"n30": map[string]any{"type": "string"}}
	for i := range 30 {
		ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/n%d", i+1)}
		defs[fmt.Sprintf("n%d", i)] = map[string]any{"allOf": []any{ref, ref}}
	}
	list := []*mcp.Tool{
		{Name: "deep", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"x": deep}}},
		{Name: "wide", InputSchema: map[string]any{"type": "object", "$defs": defs, "properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/n0"}}}},
	}
	offers, found := s.offers(t.Context(), list)
	require.Contains(t, offers[0].LeftOut, "is nested deeper than 128 levels")
	require.Len(t, found, 1)
	_, err = found[0].Call(t.Context(), `{"x":"a"}`)
	require.ErrorAs(t, err, new(*tools.ArgumentError))
	require.ErrorContains(t, err, "is too much work to check")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = found[0].Call(over, `{"x":"a"}`)
	require.ErrorIs(t, err, context.Canceled)
	offers, found = s.offers(over, list)
	require.Empty(t, offers)
	require.Empty(t, found)
}
