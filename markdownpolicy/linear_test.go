package markdownpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

// TestS2_20_TimeIsLinear reads each unit many times, whole and in pieces: twice the text takes
// about twice the steps, for every policy, mode and set of tools. make prove reads each unit with
// each of them, every test run a seventh of the pairs.
func TestS2_20_TimeIsLinear(t *testing.T) {
	if !counts(t) {
		return
	}
	for i, l := range timed(t) {
		texts := scraps
		if l.mixes {
			texts = specials() // for all policies together
		}
		for k, s := range texts {
			if isSpared(i + k) {
				continue
			}
			requireLinearReading(t, l, "", s, 8<<10)
		}
		if l.mixes || strings.HasPrefix(l.name, "think/") || strings.HasPrefix(l.name, "chain/") {
			continue
		}
		for k, s := range units {
			if isSpared(i + k) {
				continue
			}
			requireLinearReading(t, l, "", s, 16<<10)
		}
	}
	requireEndMarksLinear(t)
}

// isSpared reports whether a pair is left to make prove.
func isSpared(pair int) bool { return !prove.OneIn(15, pair) }

// requireLinearReading reads a text that begins with begin and repeats unit, whole and in pieces.
func requireLinearReading(t *testing.T, l lawful, begin, unit string, size int) {
	t.Helper()
	for _, c := range []struct{ size, piece int }{{size, 64 * size}, {size / 4, 3}} {
		requireLinear(t, unit, c.size, func(text string) { readInPieces(l, begin+text, c.piece) }, "%s: %q and %q in pieces of %d", l.name, begin, unit, c.piece)
	}
}

// readInPieces reads a reply in pieces of some size.
func readInPieces(l lawful, text string, size int) {
	p := l.parser()
	for len(text) > 0 {
		n := min(size, len(text))
		p.Write(text[:n])
		text = text[n:]
	}
	_, _, _ = p.Close()
}

// requireLinear counts the steps that work takes for unit, repeated to half a size and to the whole
// size. Up to some limit a parser may look ahead in vain in quadratic time. If the whole takes much
// more than twice the steps, the test is repeated with sizes far beyond that limit.
func requireLinear(t *testing.T, unit string, size int, work func(text string), about string, args ...any) {
	t.Helper()
	const much, more = 2.25, 16
	growth := func(size int) float64 {
		half := strings.Repeat(unit, max(1, size/2/len(unit)))
		before := steps(func() { work(half) })
		require.GreaterOrEqual(t, before, len(half), "each byte is looked at, and counted")
		return float64(steps(func() { work(half + half) })) / float64(before)
	}
	times := growth(size)
	if times >= much {
		times = growth(more * size)
	}
	require.Less(t, times, much, append([]any{about + ": steps for twice the text"}, args...)...)
}

// units are texts that, when repeated, tempt a parser to look far ahead each time.
var units = []string{
	"``` ", "```json\n{", "{\"", "{\"a\":", "{\"name\":", "\n```\n", "\n~~~", "\n```tool_call\n{\"a\":\"", "<think></think>", "\\<think>", "\nAction:", "{ ", "\n``` x", "[{", "t(", "[t(", "\"<think>",
	"<add>", "<add><a>", "<add><a>1</a></add>", "<think>a</think>" + `{"name":"t","arguments":{}}`, "Action: None\n", "Action: None\nThought: t\n", "Action: None\nAction Input: None\nThought: t\n",
	`[{"`, `{"a":[`, `[{"a":[`, `[{},`, `[{"name":"t","arguments":{}},`, `{"a" `, `{"a":"{\"`, `{"name":"t","parameters":{`, `{"name":"t","parameters":{}}; `, `{"name":"t","parameters":{"a":"`,
	`{"a":{"name":"t","parameters":{}`, `{"a":[{"name":"t","parameters":{}}]}`, `{"a":[{"name":"t","parameters":{}},`, `{"name":"t","parameters":{"type":"object","properties":{}}}`,
	"{'a':", "{a: [1, ", `['a',{"name":"t","parameters":{}},`, `{'a':{"name":"t","arguments":{}},`, `{'a':{"name":"t","parameters":{}}}`, `['a',[{"name":"t","arguments":{}}],`, `[1,{"name":"add","parameters":{}} x`,
	"<function=t>", "<function=t>{", `<function=t>{"a":"`, `<function=t>{"a":1}`, `<function=t>{"a":1}</function>`, "<function=t><parameter=a>", "<function=t><parameter=a></function>", "<function=t><parameter=a>x</parameter></function>",
	"<function=t><parameter=a>x</parameter>", "<function=t> ", "<function=t/>", "<tool_call><function=t/>", "<tool_call><function=t>{}</function>", "<t/>", "x<tool_call>{}</think>", "<think><tool_call>{}</tool_call></think>", "<think><tool_call> ",
	"<think><tool_call>{\"", "<add/>", "<function=add>{\"a\":1}</function>", "<function=add><parameter=a>1</parameter></function>", "<function=add><parameter=a>", "<function=add><parameter=a></function>", "<function=add>{\"a\":", "<function=add>{\"a\":1}",
	`\<tool_call>`, `\</think>`, `<think>a<tool_call>{"name":"t"}</tool_call>`, `<tool_call>{`, `<tool_call>{"`, `<tool_call>{"name":"t"`, `<tool_call>{"name":"t"</tool_call>`, `<tool_call>{"name":"</tool_call>`,
	`<tool_call>{"name":"t","arguments":{}</tool_call>`, `<tool_call>[{"name":"t"},`, `<tool_call>{"name":"t"}]`, `<tool_call>{"t":{}}</tool_call>`, `<tool_call>t(`, `<tool_call>t(a=1)\n`, `<tool_call>t<arg_key>a</arg_key>`,
	`<tool_call><function=t><parameter=a>x</parameter>`, `<tool_call><name>t</name><arguments>{"a":{}</arguments></tool_call>`, `<tool_call><name>t</name><arguments>{</arguments></tool_call>`,
	`<tool_call><name>t</name><arguments>{"x</arguments></tool_call>"`, `<tool_call><name>t</name><arguments>"{</arguments></tool_call>`, `<tool_call><name>t</name><arguments>{`, `<tool_call><name>t</name><arguments>{}`,
	`<tool_call><name>t</name><arguments>`, `<tool_call><name>t</name>`, `<tool_call><name>t`, `<tool_call><name></name>x`, `<tool_call><name>a<tool_call><name>b</name>`,
	`[TOOL_CALLS][{`, `[TOOL_CALLS]t{`, `[TOOL_CALLS]t{"a":1}`, `[TOOL_CALLS][{"name":"t"}]`, `[TOOL_CALLS][{"name":"`, "\n[t(a=[", "\n[t(a='", "\n[t(**{\"a\":1})]", "Action: t[", "\nAction Input: {",
	"\nto=functions.add {\"", "\nto=functions.add {\"a\":1}", "\nto=functions.add {\"a\":1} x", ".assistantcommentary to=functions.add {\"", "<|channel|>commentary to=functions.add {\"a\":\"", "to=functions.",
	".functions.add:0{\"", "\nfunctions.add:0{}", "functions.add:0", "\nfunctions.add:", "\nfunctions.add:0{\"a\":1} x", "\nadd\n```json\n{", "\nadd\n```json\n{\"a\":1}\n```", "\nadd<｜tool▁sep｜>{\"", "\nadd<arg_key>a</arg_key>", "\nadd<arg_key>a</arg_key><arg_value>1</arg_value>",
	"\nadd<arg_key>", "<tool_call>add<arg_key>a</arg_key>1</arg_value>", "<tool_call>adda</arg_key>1</arg_value></tool_call>", "a</arg_key>1</arg_value><arg_key>",
}

// timed are the policies, with tools and without, in each mode.
func timed(t testing.TB) []lawful {
	add := []tools.Definition{{Name: "add", Parameters: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}
	all := append(policies(t), lawful{Policy: chainOfAll(t, nil), name: "chain/all", mixes: true}, lawful{Policy: chainOfAll(t, add), name: "chain/all/tools", mixes: true})
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
		o := markdownpolicy.Options{Mode: mode, Tools: add}
		all = append(all, lawful{Policy: markdownpolicy.XML.With(o), name: "xml/tools/" + string(mode)}, lawful{Policy: markdownpolicy.Fenced.With(o), name: "fenced/tools/" + string(mode)})
		all = append(all, lawful{Policy: thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen).With(o), name: "hermes/open/" + string(mode)})
		all = append(all, lawful{Policy: markdownpolicy.GLM.With(o), name: "glm/add/" + string(mode)}, lawful{Policy: markdownpolicy.Kimi.With(o), name: "kimi/add/" + string(mode)})
		all = append(all, lawful{Policy: markdownpolicy.DeepSeek.With(o), name: "deepseek/add/" + string(mode)}, lawful{Policy: markdownpolicy.Harmony.With(o), name: "harmony/add/" + string(mode)})
	}
	return all
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
					worst = max(worst, min(took(l, text), took(l, text)))
				}
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms/MiB")
		})
	}
}

// took returns the time that it takes to read a reply.
func took(l lawful, text string) time.Duration {
	began := time.Now()
	readInPieces(l, text, len(text))
	return time.Since(began)
}

// BenchmarkParse reads prose and calls. ReAct, with one call per reply, reads a short reply. For
// comparison, encoding/json reads the same calls.
func BenchmarkParse(b *testing.B) {
	benchmarkJSON(b)
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

func benchmarkJSON(b *testing.B) {
	const call = `{"name":"write_file","arguments":{"path":"a/b.txt","content":"some text\nwith \"quotes\" and more","mode":420}}`
	for name, text := range map[string]string{"call": call, "calls": "[" + strings.Repeat(call+",", 4095) + call + "]"} {
		b.Run("encoding-json/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var v any
				if err := json.Unmarshal([]byte(text), &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Rendering is linear, too: each request renders all earlier replies again.
func TestRenderingIsLinear(t *testing.T) {
	if !counts(t) {
		return
	}
	for i, p := range chainOfAll(t, nil) {
		for _, s := range append([]string{`{"`, `[{"`, `{"name":"`, `[{"name":"`, "{\"name\":[", "\n```json\n{\""}, scraps...) {
			requireLinear(t, s, 1<<14, func(text string) {
				p.(markdownpolicy.Renderer).Render([]messages.AssistantContent{messages.Text{Text: text}, messages.Thought{Text: text}})
			}, "%s: %q", markdownpolicy.Names()[i], s)
		}
	}
}

// Repairs, Python literals and objects in prose are read in linear time, whatever they contain.
func TestS2_8_RepairIsLinear(t *testing.T) {
	if !counts(t) {
		return
	}
	for _, unit := range []string{"[", "{", "(", `{"a":`, `{a:`, "'", `"`, "\\", "//", "/*", "# \n", "1_", "[1,", "}", "“", `{"a":"\d",`, " ", "{'a':('x',", "'a' "} {
		requireLinear(t, unit, 1<<16, func(text string) {
			text = `{"x":[` + text
			jsonrepair.Repair(text)
			_, _, _ = pyliteral.Read(text, 0)
			markdownpolicy.FindObject(text, "x")
		}, "%q", unit)
	}
}

// Calls are read even after much text that looks like objects but is not.
func TestS2_20_CallsBehindWhatIsNoObject(t *testing.T) {
	call := callPart("call_1", "t", `{"a":1}`)
	deep := prove.DepthOr(1<<14, 1<<17)
	tree := strings.Repeat(`{"k": "v", "c": `, 150) + "..." + strings.Repeat("}", 150)
	for _, text := range []string{strings.Repeat(`[{"`, 157) + "x", strings.Repeat(`{"a":`, 184) + "x", tree, strings.Repeat(`{"a":`, deep) + "x", strings.Repeat(`[{"a":"`, deep) + "x"} {
		for i, p := range chainOfAll(t, nil) {
			if markdownpolicy.Names()[i] != "react" { // which has no text before a call
				checkRoundTrip(t, p, parts(textPart(text), call))
			}
		}
	}
	again := "\n```tool_call\n{\"name\":\"t\",\"arguments\":{\"a\":1}}\n```"
	require.Equal(t, parts(textPart(tree), call), partsOf(t, markdownpolicy.Fenced, tree+again))
}

// Repeated marks that do not begin a call do not hide a call after them.
func TestS2_20_CallsBehindBrokenOnes(t *testing.T) {
	for _, c := range []struct {
		policy       markdownpolicy.Policy
		broken, call string
	}{
		{markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), "<tool_call>t(", `<tool_call>{"name":"t"}</tool_call>`},
		{markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), "<tool_call>t(", `<tool_call>t()</tool_call>`},
		{markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), `<tool_call>{"`, `<tool_call>{"name":"t"}</tool_call>`},
		{markdownpolicy.XML.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), "<tool_call><name>t</name><arguments>{", `<tool_call><name>t</name></tool_call>`},
		{markdownpolicy.Mistral.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), "[TOOL_CALLS][{", `[TOOL_CALLS][{"name":"t"}]`},
		{markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}), `{"name":"t","parameters":{{`, "\n" + `{"name":"t","parameters":{}}`},
	} {
		text := strings.Repeat(c.broken, 1<<13)
		require.Equal(t, parts(textPart(text), callPart("call_1", "t", "{}")), partsOf(t, c.policy, text+c.call), "%T: %q", c.policy, c.broken)
	}
}

// A chain whose policies disagree examines released parts only once.
func TestChainInPiecesIsLinear(t *testing.T) {
	if !counts(t) {
		return
	}
	for _, s := range []string{"a", "`", "<", "{", " "} {
		requireLinear(t, s, 1<<14, func(text string) {
			p := chainOfAll(t, nil).NewParser()
			p.Write("Action: t " + strings.Repeat("a", 64*len(text))) // ReAct releases nothing like it
			for i := range text {
				p.Write(text[i : i+1])
			}
			_, _, _ = p.Close()
		}, "%q", s)
	}
}
