package mcptools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of what a command writes is kept, and no key of its configuration, also where a key is
// cut in two.
func TestTail(t *testing.T) {
	cfg := Config{
		URL: "https://ada:hunter2@example.com/?key=query-key", Env: []string{"KEY=s3cret-key", "SHORT=1"},
		Headers: map[string]string{"Authorization": "Bearer header-key"},
	}
	r := newRedactor(&cfg)
	require.Equal(t, "[redacted] 1 [redacted] Bearer and [redacted] [redacted]@", r.text("s3cret-key 1 Bearer header-key Bearer and header-key ada:hunter2@"))
	require.Equal(t, "[redacted] [redacted]", r.text("hunter2 query-key"))
	tail := &tail{redact: r, most: 40}
	require.Empty(t, tail.String())
	_, _ = tail.Write([]byte("it begins s3cr"))
	_, _ = tail.Write([]byte("et-key"))
	require.Equal(t, "it begins [redacted]", tail.String())
	for i := range 200 {
		_, _ = fmt.Fprint(tail, "s3cret-key ", i, "\n")
		require.LessOrEqual(t, len(tail.String()), 40+len("[…]"))
		require.NotContains(t, tail.String(), "cret")
		require.NotContains(t, strings.ReplaceAll(tail.String(), redacted, ""), "key")
		require.LessOrEqual(t, cap(tail.held), 1000)
	}
	require.Contains(t, tail.String(), "[redacted] 199\n")
	_, _ = tail.Write([]byte(strings.Repeat("x", 1000) + "s3cret-key"))
	require.True(t, strings.HasSuffix(tail.String(), "x[redacted]"))
}
