package guard_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/guard"
)

func TestBare(t *testing.T) {
	for text, want := range map[string]string{
		"tools: tool \"a\": no function":             "tool \"a\": no function",
		"completetask: Schema: tools: it is no JSON": "Schema: tools: it is no JSON",
		"builtin: react: Tools: twice":               "Tools: twice",
		"timeout: must be positive":                  "timeout: must be positive",
		"tools":                                      "tools",
	} {
		require.Equal(t, want, guard.Bare(errors.New(text)))
	}
	two := errors.Join(errors.New("tools: a"), nil, errors.Join(errors.New("retry: b")))
	require.Equal(t, "a\nb", guard.Bare(two))
	require.Equal(t, "x: tools: a, tools: b", guard.Bare(fmt.Errorf("x: %w, %w", errors.New("tools: a"), errors.New("tools: b"))))
}

func TestEach(t *testing.T) {
	require.Empty(t, guard.Each(nil))
	require.Equal(t, []error{io.EOF}, guard.Each(io.EOF))
	require.Equal(t, []error{io.EOF, io.ErrUnexpectedEOF}, guard.Each(errors.Join(io.EOF, errors.Join(io.ErrUnexpectedEOF))))
	both := fmt.Errorf("%w and %w", io.EOF, io.ErrUnexpectedEOF)
	require.Equal(t, []error{both}, guard.Each(both))
}

func TestWithin(t *testing.T) {
	all := guard.Within("strategy \"a\"", errors.Join(fmt.Errorf("react: Tools: %w", io.EOF), io.ErrClosedPipe))
	require.Len(t, all, 2)
	require.EqualError(t, all[0], `strategy "a": Tools: EOF`)
	require.ErrorIs(t, all[0], io.EOF)
	require.EqualError(t, all[1], `strategy "a": io: read/write on closed pipe`)
}

// The names of all packages of this module are known.
func TestPackages(t *testing.T) {
	for _, place := range []string{"../..", "../../checkpoint", "../../llmclient", "../../strategy", "../../tools", "../../orchestrator"} {
		entries, err := os.ReadDir(place)
		require.NoError(t, err)
		for _, e := range entries {
			sources, err := filepath.Glob(filepath.Join(place, e.Name(), "*.go"))
			require.NoError(t, err)
			if len(sources) == 0 || strings.HasSuffix(e.Name(), "test") || e.Name() == "bench" || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			require.Equal(t, "x", guard.Bare(errors.New(e.Name()+": x")), e.Name())
		}
	}
}
