package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
)

// Arguments that are the same as JSON are found, however they are written, and no others.
func TestFrame_lastMade(t *testing.T) {
	found := func(kept, made string) bool {
		f := &frame{}
		f.keepCall(madeCall{call: messages.ToolCall{Name: "t", Arguments: kept}, weight: weigh(kept)})
		return f.lastMade(&messages.ToolCall{Name: "t", Arguments: made}, weigh(made)) != nil
	}
	for _, same := range [][2]string{
		{`{"a":1,"b":{"c":[1,2],"d":"x y"}}`, "{ \"b\": {\"d\":\"x y\",\n\t\"c\": [1, 2]}, \"a\": 1 }"},
		{`{"a":"é"}`, `{"a":"\u00e9"}`},
		{`{"a":"/"}`, `{"a":"\/"}`},
		{`{"a":"\n"}`, `{"a":"\n"}`},
		{`{"a`, `{"a`},
		{"", ""},
	} {
		require.True(t, found(same[0], same[1]), same)
		require.True(t, found(same[1], same[0]), same)
	}
	for _, other := range [][2]string{
		{`{"a":12}`, `{"a":21}`}, {`{"a":"x y"}`, `{"a":"xy"}`}, {`{"a":1}`, `{"a":1.0}`}, {`{"a":1,"b":2}`, `{"a":2,"b":1}`}, {`[1,2]`, `[2,1]`}, {`{"a`, `{"a `}, {"{}", ""},
	} {
		require.False(t, found(other[0], other[1]), other)
	}
	const one = `\{"[cd]":("[xy ,{]*"|[0-9]{1,2}|\[[0-9]\]|\{"c":[0-9]\}) ?(, ?"[ab]":("[xy ,{]*"|[0-9]{1,2}|\[[0-9]\]|\{"c":[0-9]\}))?\}`
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(one).Draw(t, "one")
		b := rapid.StringMatching(one).Draw(t, "another")
		for _, other := range []string{b, jsonform.Canonical(a)} {
			require.Equal(t, jsonform.Canonical(a) == jsonform.Canonical(other), found(a, other), "%s %s", a, other)
		}
	})
}
