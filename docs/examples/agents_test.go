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

// Of 60 tools the model is offered those that it searches for, and no request is longer than the
// window.
func TestResearch(t *testing.T) {
	t.Parallel()
	p := newProvider(t,
		reply{tool: "search_tools", arguments: `{"query":"trains Norway Sweden"}`},
		reply{tool: "trains_norway", arguments: `{}`}, reply{tool: "trains_sweden", arguments: `{}`},
		reply{tool: "search_tools", arguments: `{"query":"rents Norway Sweden"}`},
		reply{tool: "rents_norway", arguments: `{}`}, reply{tool: "rents_sweden", arguments: `{}`},
		reply{text: "Those of Norway improved most."},
		reply{text: "In Norway, and the rents rose."})
	require.Regexp(t, `^It reads trains_norway
It reads trains_sweden
It reads rents_norway
It reads rents_sweden
It makes a summary of what it has read: \d+ tokens become \d+
In Norway, and the rents rose.
$`, p.run(t, t.TempDir(), "research"))
	require.Equal(t, []string{"search_tools"}, p.asked[0].offers())
	require.Subset(t, p.asked[1].offers(), []string{"trains_norway", "trains_sweden"})
	for _, asked := range p.asked {
		require.Less(t, len(asked.offers()), 12)
		require.Less(t, len(asked.text()), 4*8_000)
	}
	last := p.asked[7].text()
	require.Contains(t, last, "In which of the Nordic countries")
	require.Contains(t, last, "Those of Norway improved most.")
	require.Less(t, len(last), len(p.asked[5].text()))
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
