package examples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each turn begins with the agent that answered the one before, with its own prompt and its own
// successors.
func TestHandover(t *testing.T) {
	t.Parallel()
	p := newProvider(t,
		reply{tool: "transfer_to_refunds", arguments: `{}`}, reply{text: "Which order is it?"},
		reply{text: "You get 20 euros back."},
		reply{tool: "transfer_to_books", arguments: `{"message":"order 7"}`}, reply{text: "Here it is."})
	require.Equal(t, "refunds: Which order is it?\nrefunds: You get 20 euros back.\nbooks: Here it is.\n",
		p.run(t, t.TempDir(), "handover"))
	var prompts []any
	for _, asked := range p.asked {
		prompts = append(prompts, asked.Messages[0].Content)
	}
	const triage, refunds, books = "Find out what the user wants.", "You handle refunds.", "You keep the books."
	require.Equal(t, []any{triage, refunds, refunds, refunds, books}, prompts)
	require.Equal(t, []string{"transfer_to_refunds", "transfer_to_books"}, p.asked[0].offers())
	require.Equal(t, []string{"transfer_to_books"}, p.asked[2].offers())
	require.Contains(t, p.asked[2].text(), "I want my money back.")
}

func (r request) offers() (names []string) {
	for _, tool := range r.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}

// text is all that the request says, but for calls.
func (r request) text() string {
	var all strings.Builder
	for _, m := range r.Messages {
		if s, ok := m.Content.(string); ok {
			all.WriteString(s)
		}
	}
	return all.String()
}
