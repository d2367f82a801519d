package explore_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategytest/explore"
)

// rewriting reports whether the test was called with -rewrite, the flag of the stories.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// ofDefects are the laws that no strategy can break, only a Machine: internal/archtest breaks it,
// with the defects of docs/internal/proof.md, and holds each of these laws to find one alone.
var ofDefects = []string{explore.Limits, explore.StoppedRun, explore.Decoded, explore.Taint, explore.Allowed, explore.Refused}

// Every law is broken by somebody, and alone; docs/internal/proof.md counts who breaks it, and
// names one.
func TestBroken_page(t *testing.T) {
	caught := map[string][]string{}
	names := map[string]bool{}
	for _, s := range allBroken() {
		require.False(t, names[s.name], "there are two of %q", s.name)
		names[s.name] = true
		caught[s.law] = append(caught[s.law], s.name)
	}
	var b strings.Builder
	b.WriteString("| law | caught by it | one of them |\n|---|--:|---|\n")
	for _, law := range explore.Laws() {
		require.NotEqual(t, slices.Contains(ofDefects, law), caught[law] != nil, "who breaks the law %q?", law)
		if caught[law] != nil {
			fmt.Fprintf(&b, "| %s | %d | %s |\n", law, len(caught[law]), caught[law][0])
		}
	}
	fmt.Fprintf(&b, "\nThese are %d. The laws that only a Machine can break are broken by the defects below: %s.\n",
		len(allBroken()), strings.Join(ofDefects, "; "))

	const command = "go test ./strategytest/explore -run '^TestBroken_page$' -rewrite"
	begin, end := "<!-- broken strategies: "+command+" -->\n", "<!-- end of broken strategies -->\n"
	if have := partOfProof(t, begin, end, b.String()); !rewriting() {
		require.Equal(t, b.String(), have, "run: %s", command)
	}
}

// partOfProof returns the text between two lines of docs/internal/proof.md. With -rewrite it
// replaces this text.
func partOfProof(t *testing.T, begin, end, instead string) string {
	t.Helper()
	const page = "../../docs/internal/proof.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, begin)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok, end)
	if rewriting() {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+instead+end+after), 0o600))
	}
	return have
}
