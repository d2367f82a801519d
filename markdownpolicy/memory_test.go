package markdownpolicy_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
)

// nested are texts with brackets within each other: the text before them, what is repeated, and
// what closes it.
var nested = []struct{ before, unit, closing string }{
	{"", "[", "]"},
	{"", "{", "}"},
	{"", `{"a":`, "}"},
	{"", `[{"a":`, "}]"},
	{"", `{"name":"t","parameters":{"a":`, "}}"},
	{"```json\n", `{"name":"t","arguments":`, "}"},
	{"```tool_call\n" + `{"name":"t","arguments":{"a":`, "[", "]"},
	{"<tool_call>", "[", "]"},
	{"<tool_call>[{", `"a":[{`, "}]"},
	{`<tool_call>{"name":"t","arguments":`, `{"a":`, "}"},
	{"<tool_call>t(a=", "[", "]"},
	{"<tool_call><name>t</name><arguments>", `{"a":`, "}"},
	{"<function=t>", `{"a":`, "}"},
	{"[TOOL_CALLS]", `[{"a":`, "}]"},
	{"[TOOL_CALLS]t", `{"a":`, "}"},
	{"[t(a=", "[", "]"},
	{"[t(a=", "{'a':(", ",)}"},
	{"Action: t\nAction Input: ", `{"a":`, "}"},
	{"Action: t\nAction Input: ", "{'a':", "}"},
	{"<start_function_call>call:t", "{a:", "}"},
	{"<tool_call>t<arg_key>a</arg_key><arg_value>", "[", "]"},
	{"<|tool_call_begin|>t<|tool_call_argument_begin|>", `{"a":`, "}"},
	{"<｜tool▁call▁begin｜>t<｜tool▁sep｜>", `{"a":`, "}"},
	{"<|channel|>commentary to=functions.t<|message|>", `{"a":`, "}"},
	{"```tool_code\nt(a=", "[", "]"},
}

// TestS2_20_MemoryIsLinear reads brackets within each other, open and closed, and counts the bytes
// that are allocated. They are at most a few times the text, however deep the brackets are. An
// ordinary test run gives each policy a thirtieth of the texts.
func TestS2_20_MemoryIsLinear(t *testing.T) {
	const depth, most = 20_000, 25 // bytes for each byte of the text
	for i, l := range policies(t) {
		if l.tools != nil && l.mixes {
			continue
		}
		for k, n := range nested {
			if !prove.OneIn(30, i+k) {
				continue
			}
			open := n.before + strings.Repeat(n.unit, depth)
			for _, text := range []string{open, open + strings.Repeat(n.closing, depth)} {
				allocated := allocatedBy(func() { _, _ = l.ParseResponse(text) })
				require.Less(t, float64(allocated)/float64(len(text)), float64(most), "%s: %q", l.name, n.before+n.unit)
			}
		}
	}
}

// allocatedBy returns the bytes that a function allocates.
func allocatedBy(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
