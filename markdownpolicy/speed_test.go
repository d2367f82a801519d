package markdownpolicy_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

func TestS2_20_TimeIsLinear(t *testing.T) {
	const size, bound = 1 << 16, 2 * time.Second // a square law takes seconds
	add := []tools.Definition{{Name: "add", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}
	more := []string{
		"``` ", "```json\n{", "{\"", "{\"a\":", "{\"name\":", "\n```\n", "\n~~~", "\n```tool_call\n{\"a\":\"", "<think></think>", "\\<think>", "\nAction:", "{ ", "\n``` x", "[{", "t(", "[t(", "\"<think>",
		"<add>", "<add><a>", "<add><a>1</a></add>", "<think>a</think>" + `{"name":"t","arguments":{}}`, "Action: None\n", "Action: None\nThought: t\n", "Action: None\nAction Input: None\nThought: t\n",
	}
	all := append(policies(t), lawful{Policy: chainOfAll(t, nil), name: "chain/all", mixes: true}, lawful{Policy: chainOfAll(t, add), name: "chain/all/tools"})
	for _, l := range all {
		texts := slices.Concat(more, scraps)
		if l.mixes {
			texts = specials() // for all policies at once
		}
		for _, s := range texts {
			text := strings.Repeat(s, size/len(s))
			took := measure(l, text, len(text))
			if took >= bound { // the machine may be busy
				took = measure(l, text, len(text))
			}
			require.Less(t, took, bound, "%s: %d bytes of %q", l.name, len(text), s)
			took = measure(l, text[:size/16], 3)
			require.Less(t, took, bound, "%s: %d bytes of %q in pieces", l.name, size/16, s)
		}
	}
}

// measure returns how long a reply takes to read in pieces of some size.
func measure(l lawful, text string, size int) time.Duration {
	start := time.Now()
	p := l.parser()
	for len(text) > 0 {
		n := min(size, len(text))
		p.Write(text[:n])
		text = text[n:]
	}
	_, _, _ = p.Close()
	return time.Since(start)
}

// chainOfAll is a chain of all built-in policies.
func chainOfAll(t testing.TB, defs []tools.Definition) (all markdownpolicy.Chain) {
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: defs})
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

// specials are the characters of ASCII that are neither letters nor digits, each as a text.
func specials() (all []string) {
	for c := range rune(utf8.RuneSelf) {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			all = append(all, string(c))
		}
	}
	return all
}

// BenchmarkSpecial reads 1 MiB of one special character, of each in turn, and reports the worst.
func BenchmarkSpecial(b *testing.B) {
	all := []lawful{{Policy: chainOfAll(b, nil), name: "chain"}}
	for i, p := range chainOfAll(b, nil) {
		all = append(all, lawful{Policy: p, name: markdownpolicy.Names()[i]}, lawful{Policy: markdownpolicy.Think{Policy: p}, name: "think/" + markdownpolicy.Names()[i]})
	}
	for _, l := range all {
		b.Run(l.name, func(b *testing.B) {
			var worst time.Duration
			for b.Loop() {
				for _, s := range specials() {
					text := strings.Repeat(s, 1<<20)
					worst = max(worst, min(measure(l, text, len(text)), measure(l, text, len(text))))
				}
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms/MiB")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	words := strings.Repeat("The model says (at some length) what it thinks of \"this\", and of that: `code`, 1 < 2, {braces} and [links](x).\n", 1<<13)
	for _, name := range markdownpolicy.Names() {
		p, err := markdownpolicy.New(name, markdownpolicy.Options{})
		require.NoError(b, err)
		l := lawful{Policy: p, turns: name == "react"}
		parts := []messages.AssistantContent{callPart("", "write_file", `{"path":"a/b.txt","content":"some text\nwith \"quotes\" and more","mode":420}`)}
		calls := l.render(parts)
		if !l.turns {
			for len(parts) < 4000 {
				parts = append(parts, parts...)
			}
			calls = l.render(parts)
		}
		for kind, text := range map[string]string{"prose": words, "calls": calls} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := p.ParseResponse(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Writing is linear, too: what a model said once is written again in each request.
func TestRenderingIsLinear(t *testing.T) {
	const size, bound = 1 << 17, 3 * time.Second
	for i, p := range chainOfAll(t, nil) {
		for _, s := range append([]string{`{"`, `[{"`, `{"name":"`, `[{"name":"`, "{\"name\":[", "\n```json\n{\""}, scraps...) {
			text := strings.Repeat(s, size/len(s))
			start := time.Now()
			p.(markdownpolicy.Renderer).Render([]messages.AssistantContent{messages.Text{Text: text}, messages.Thought{Text: text}})
			require.Less(t, time.Since(start), bound, "%s: %q", markdownpolicy.Names()[i], s)
		}
	}
}

// Where so much looks like an object that nobody looks into each, those that may be calls are escaped all the same.
func TestRenderingInHaste(t *testing.T) {
	const shown = "\n\\{\"name\":\"t\",\"arguments\":{}} \\[{\"name\": [{\"name\":\"t\",\"arguments\":{}}] {\"foo\":1}\n\\```\n"
	written := markdownpolicy.Fenced{}.Render([]messages.AssistantContent{messages.Text{Text: strings.Repeat(`{"`, 1<<17) + shown + "."}})
	_, tail, ok := strings.Cut(written, "\n")
	require.True(t, ok)
	require.Equal(t, parts(textPart(strings.TrimSpace(shown)+"\n.")), partsOf(t, markdownpolicy.Fenced{}, tail))
}

// A chain whose policies do not agree looks once at what they released.
func TestChainInPiecesIsLinear(t *testing.T) {
	const bound = 5 * time.Second
	for _, s := range []string{"a", "`", "<", "{", " "} {
		p := chainOfAll(t, nil).NewParser()
		start := time.Now()
		p.Write("Action: t " + strings.Repeat("a", 1<<20)) // ReAct releases nothing like it
		for range 1 << 14 {
			p.Write(s)
		}
		_, _, _ = p.Close()
		require.Less(t, time.Since(start), bound, "%q", s)
	}
}
