package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnescaped shows letters that a server has sent as escapes, and nothing else.
func TestUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		`{"q":"r\u00e9sum\u00e9 \u65e5\u672c"}`:      `{"q":"résumé 日本"}`,
		`{"q":"\ud83c\udf89 x"}`:                     `{"q":"🎉 x"}`,
		`{"q":"\\u00e9 \\\u00e9"}`:                   `{"q":"\\u00e9 \\é"}`,
		`{"q":"\u0022 \u000a\n \u202e \ud83c \u00"}`: `{"q":"\u0022 \u000a\n \u202e \ud83c \u00"}`,
		"": "",
	} {
		require.Equal(t, want, unescaped(in), in)
	}
	require.Equal(t, `{"path":"日本"}`, arguments(`{"path":"\u65e5\u672c"}`, false))
}
