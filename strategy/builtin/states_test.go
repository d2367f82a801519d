package builtin_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/workflow"
)

const statePages = "../../docs/states"

// tables are the state machines of the built-in strategies.
var tables = []*strategy.Table{
	completetask.Table,
	planreviseexecute.Table,
	react.Table,
	reasonactobserve.Table,
	reflection.Table,
	retry.Table,
	stepagent.Table,
	workflow.SequenceTable,
	workflow.ParallelTable,
	workflow.LoopTable,
	workflow.ChooseTable,
}

// TestStatePages compares docs/states with the tables: there is one page for each, and no other.
// With -rewrite it writes the pages.
func TestStatePages(t *testing.T) {
	for _, name := range builtin.Names() {
		require.Contains(t, tables, builtin.Table(name), name)
	}
	want := map[string]bool{}
	for _, table := range tables {
		require.NoError(t, table.Validate())
		file := filepath.Join(statePages, table.Name+".md")
		if rewriting() {
			require.NoError(t, os.WriteFile(file, []byte(statePage(table)), 0o644)) //nolint:gosec // a document
		}
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, statePage(table), string(have), "%s is stale: run make generate", file)
		want[file] = true
	}
	found, err := filepath.Glob(filepath.Join(statePages, "*.md"))
	require.NoError(t, err)
	require.Len(t, found, len(want), "a page without a table is in %s", statePages)
}

// TestStates_areCovered finds, for each table, the test that its stories take every transition.
// `make coverage` prints what they take.
func TestStates_areCovered(t *testing.T) {
	all := regexp.MustCompile(`(?m)^\tstrategytest\.RequireCoverage\(t, strategytest\.Stories\(t, .+, set\), 1, \w+\.\w*Table\b.*\)$`)
	for _, table := range tables {
		folder := strings.ReplaceAll(table.Name, "-", "")
		if strings.Contains("sequence parallel loop choose", table.Name) {
			folder = "workflow"
		}
		file := filepath.Join("..", folder, "stories_test.go")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Regexp(t, all, string(text), file)
	}
}

// rewriting reports whether the test was called with -rewrite, the flag of the stories. Package
// datadriven defines it.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// statePage returns a table as a diagram and in words.
func statePage(t *strategy.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Written by TestStatePages from the table; do not edit. -->\n\n# %s\n\n", t.Name)
	fmt.Fprintf(&b, "```mermaid\n%s```\n\n", t.Mermaid())
	b.WriteString("A state says what the strategy waits for. A cap in brackets limits how often its rules may be used in one frame, all together.\n\n")
	b.WriteString("| state | phase | awaits |\n|---|---|---|\n")
	for _, s := range t.States {
		awaits := "-"
		if s.Awaits != 0 {
			awaits = "`" + s.Awaits.String() + "`"
		}
		phase := s.Phase
		if phase == "" {
			phase = "-"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, phase, awaits)
	}
	b.WriteString("\n| in | when | then | cap |\n|---|---|---|---|\n")
	for _, r := range t.Rules {
		limit := "-"
		if r.Cap != "" {
			limit = "`" + r.Cap + "`"
		}
		for _, from := range r.From {
			fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", from, r.On, r.To, limit)
		}
	}
	return b.String()
}
