package completetask_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

func namesOf(defs []tools.Definition) (names []string) {
	for _, d := range defs {
		names = append(names, d.Name)
	}
	return names
}

// A strategy that hands over says so in each request, however many tools there are.
func TestSearch_handoffsAreOffered(t *testing.T) {
	var many []string
	for i := range 41 {
		many = append(many, fmt.Sprint("tool_", i))
	}
	handoffs := []completetask.Handoff{{Strategy: "refunds"}, {Strategy: "sales", Tool: "to_sales"}}
	_, step := start(t, completetask.Config{Handoffs: handoffs}, delegation.Input{Goal: "go"}, many...)
	first := step.(nextstep.GetChatCompletion).Request
	require.Equal(t, []string{"transfer_to_refunds", "to_sales", toolsearch.DefaultName}, namesOf(first.Tools))
	require.True(t, strings.HasPrefix(first.Tools[2].Description, "Finds tools. 41 tools"))
}
