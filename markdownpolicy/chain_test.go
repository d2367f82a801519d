package markdownpolicy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	fencedCall = "```tool_call\n{\"name\":\"f\",\"arguments\":{}}\n```"
	hermesCall = `<tool_call>{"name":"h","arguments":{}}</tool_call>`
)

func TestS2_21_TheEarliestOfAChainReads(t *testing.T) {
	chain := markdownpolicy.Chain{markdownpolicy.Fenced, markdownpolicy.Hermes, markdownpolicy.Mistral}
	for _, tt := range []struct {
		reply, policy string
		calls         []string
	}{
		{"Hi " + hermesCall, "hermes", []string{"h"}},
		{"Hi\n" + fencedCall, "fenced", []string{"f"}},
		{hermesCall + "\n" + fencedCall, "hermes", []string{"h"}},
		{fencedCall + "\n" + hermesCall, "fenced", []string{"f", "h"}}, // which is an object in prose to it
		{`<think>hm</think>[TOOL_CALLS][{"name":"m","arguments":{}}]`, "mistral", []string{"m"}},
		{"<think>hm</think> Hello.", "hermes", nil},
		{"Hello.", "", nil},
		{"", "", nil},
	} {
		doc, err := chain.ParseResponse(tt.reply)
		require.NoError(t, err)
		require.Equal(t, tt.policy, doc.Policy, tt.reply)
		var names []string
		for _, c := range doc.Contents() {
			if call, ok := c.(messages.ToolCall); ok {
				names = append(names, call.Name)
			}
		}
		require.Equal(t, tt.calls, names, tt.reply)
		for size := range len(tt.reply) + 1 {
			checkReply(t, lawful{Policy: chain, name: "chain"}, tt.reply, size)
		}
	}
}

func TestS2_21_TheEarliestErrorOfAChainCounts(t *testing.T) {
	chain := markdownpolicy.Chain{markdownpolicy.Fenced, markdownpolicy.Hermes}
	doc, err := chain.ParseResponse("<tool_call>{\"name\":</tool_call>\n" + fencedCall)
	var broken *markdownpolicy.ParseError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, "hermes", broken.Policy)
	require.Equal(t, "hermes", doc.Policy)
	doc, err = chain.ParseResponse(fencedCall + "\n<tool_call>{\"name\":</tool_call>")
	require.NoError(t, err)
	require.Equal(t, "fenced", doc.Policy)
}

// The offset of an error is in the text that cannot be read, and not in what comes before it: a
// chain compares offsets.
func TestS2_21_ErrorsAreWhereTheTextIs(t *testing.T) {
	prove.Checks(t, prove.Cases()/2)
	const before = "Let me look at this first.\n\n"
	check := func(t require.TestingT, l lawful, reply string) {
		_, err := l.ParseResponse(before + reply)
		if broken, ok := errors.AsType[*markdownpolicy.ParseError](err); ok {
			require.GreaterOrEqual(t, broken.Offset, len(before), "%s: %q: %v", l.name, reply, err)
		}
	}
	for _, l := range policies(t) {
		for _, reply := range append(slices.Concat(scraps, units), "<tool_call>{}", `<tool_call>{"name":"t"}`, "<tool_call>\n[t()]", "<tool_call> x", "<tool_call><arguments>{}</arguments>") {
			check(t, l, reply)
			check(t, l, reply+"</tool_call>")
		}
		rapid.Check(t, func(t *rapid.T) { check(t, l, prose.Draw(t, "reply")) })
	}
}

func TestS2_21_AChainReleasesWhatAllAgreeOn(t *testing.T) {
	p := markdownpolicy.Chain{markdownpolicy.Fenced, markdownpolicy.Hermes}.NewParser()
	require.Equal(t, []markdownpolicy.Part{{Content: textPart("Hello"), Start: 0, End: 5}}, p.Write("Hello <tool_c"))
	require.Empty(t, p.Write(`all>{"name":"h",`), "it may be a call of either")
	released := p.Write(`"arguments":{}}</tool_call> and`)
	require.Equal(t, messages.ToolCall{ID: "call_1", Name: "h", Arguments: "{}"}, released[0].Content, "it begins earlier for one of them")
	require.Equal(t, []markdownpolicy.Part{{Content: textPart(" more"), Start: 60, End: 65}}, p.Write(" more"))
	doc, rest, err := p.Close()
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, "hermes", doc.Policy)
}

// whole is a policy that can only read whole replies.
type whole struct{ markdownpolicy.Policy }

func TestChainAndThinkTakeAnyPolicy(t *testing.T) {
	for _, p := range []markdownpolicy.Policy{
		markdownpolicy.Chain{whole{markdownpolicy.Fenced}, whole{markdownpolicy.Hermes}},
		markdownpolicy.Think{Policy: whole{markdownpolicy.Fenced}},
		markdownpolicy.Chain{},
		markdownpolicy.Chain{markdownpolicy.Chain{}, markdownpolicy.ReAct{}},
	} {
		for size := range 40 {
			checkReply(t, lawful{Policy: p, name: "whole", drops: true}, "Let me look:\n"+fencedCall+"\nDone.", size)
		}
		doc, err := p.ParseResponse("Let me look:\n" + fencedCall)
		require.NoError(t, err)
		require.Equal(t, "fenced", doc.Policy)
		require.Equal(t, []messages.AssistantContent{textPart("Let me look:"), callPart("call_1", "f", "{}")}, doc.Contents())
		checkRoundTrip(t, p, doc.Contents())
		require.Equal(t, markdownpolicy.Fenced.FormatInstructions([]tools.Definition{{Name: "t"}}), p.FormatInstructions([]tools.Definition{{Name: "t"}}))
	}
	require.Equal(t, markdownpolicy.ReAct{}.Stop(), markdownpolicy.Think{Policy: markdownpolicy.Chain{markdownpolicy.ReAct{}}}.Stop())
}

func TestNew(t *testing.T) {
	require.Equal(t, []string{"fenced", "xml", "react", "hermes", "llama", "pythonic", "mistral", "glm", "kimi", "deepseek", "harmony", "gemma", "minimax", "gemma4", "deepseekv32", "structured"}, markdownpolicy.Names())
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(t, err)
		require.Equal(t, name, p.(markdownpolicy.Namer).Name())
	}
	p, err := markdownpolicy.New("", markdownpolicy.Options{Mode: markdownpolicy.ModeText})
	require.NoError(t, err)
	require.Equal(t, markdownpolicy.Fenced.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), p)
	_, err = markdownpolicy.New("yaml", markdownpolicy.Options{})
	require.EqualError(t, err, `markdownpolicy: there is no policy "yaml"; there are: fenced, xml, react, hermes, llama, pythonic, mistral, glm, kimi, deepseek, harmony, gemma, minimax, gemma4, deepseekv32, structured`)
}

func FuzzChain(f *testing.F) {
	f.Add("a "+hermesCall+"\n"+fencedCall, 3)
	f.Add("\\<tool_call>\n```json\n{\"name\":\"\"}\n```[TOOL_CALLS]", 1)
	f.Fuzz(func(t *testing.T, reply string, size int) {
		p := markdownpolicy.Chain{markdownpolicy.Fenced, markdownpolicy.Hermes, markdownpolicy.Think{}, markdownpolicy.Mistral}
		checkReply(t, lawful{Policy: p, name: "chain"}, reply, size)
	})
}
