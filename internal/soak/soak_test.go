package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lastRun is what the last make soak has found, by store. It is committed, and the document tells
// it.
const lastRun = "testdata/soak.json"

const document = "../../docs/internal/durability-tests.md"

// soaked is what a make soak has found with one store.
type soaked struct {
	Seed uint64 `json:"seed"`
	Took string `json:"took"`
	figures
}

// TestSoak does for as long as SOAK says what TestKill9 does, with each store, and writes what it
// has found into the document.
func TestSoak(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("SOAK says for how long: make soak SOAK=1h")
	}
	duration, err := time.ParseDuration(os.Getenv("SOAK"))
	require.NoError(t, err)
	for _, kind := range soakStores() {
		t.Run(kind, func(t *testing.T) {
			seed := seedOf(t)
			began := time.Now()
			c := newCampaign(t, newStore(t, kind), seed, 200*time.Millisecond)
			told := began
			for time.Since(began) < duration && !t.Failed() {
				c.round(time.Second)
				if time.Since(told) > time.Minute {
					told = time.Now()
					fmt.Printf("%s, after %v: %+v\n", kind, time.Since(began).Round(time.Second), c.figures)
				}
			}
			c.finish()
			found := soaked{Seed: seed, Took: time.Since(began).Round(time.Second).String(), figures: c.figures}
			t.Logf("%+v", found)
			publish(t, kind, &found)
		})
	}
}

// soakStores returns the kinds of stores of TestSoak: those that SOAK_STORES names, or all.
func soakStores() []string {
	if names := os.Getenv("SOAK_STORES"); names != "" {
		return strings.Split(names, ",")
	}
	return []string{"sqlite", "postgres"}
}

// publish keeps what was found with a store, and writes the document anew.
func publish(t *testing.T, kind string, found *soaked) {
	t.Helper()
	all := published(t)
	all[kind] = *found
	data, err := json.MarshalIndent(all, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(lastRun, append(data, '\n'), 0o644)) //nolint:gosec // it is committed
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, after, err := around(string(text))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(document, []byte(before+table(all)+after), 0o644)) //nolint:gosec // it is committed
}

// published returns what the last runs have found.
func published(t *testing.T) map[string]soaked {
	t.Helper()
	all := map[string]soaked{}
	data, err := os.ReadFile(lastRun)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

const (
	tableBegins = "<!-- make soak writes this table -->\n"
	tableEnds   = "<!-- until here -->\n"
)

// around returns what stands before the table of a document, and behind it.
func around(text string) (before, after string, err error) {
	before, rest, ok := strings.Cut(text, tableBegins)
	_, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		return "", "", fmt.Errorf("%s has no place for the table", document)
	}
	return before, after, nil
}

// table tells in Markdown what was found.
func table(all map[string]soaked) string {
	if len(all) == 0 {
		return tableBegins + tableEnds
	}
	kinds := slices.Sorted(maps.Keys(all))
	rows := []struct {
		title string
		value func(s *soaked) any
	}{
		{"seed", func(s *soaked) any { return s.Seed }},
		{"duration", func(s *soaked) any { return s.Took }},
		{"kills of the process that works on eight runs", func(s *soaked) any { return s.Kills }},
		{"… while it recovered a run", func(s *soaked) any { return s.Recovering }},
		{"kills of the process that answers", func(s *soaked) any { return s.People }},
		{"runs that ended, each as it ends uncut", func(s *soaked) any { return s.Runs }},
		{"… parked after three recoveries that were killed, and resumed by hand", func(s *soaked) any { return s.Parked }},
		{"records", func(s *soaked) any { return s.Records }},
		{"… that were acknowledged", func(s *soaked) any { return s.Acked }},
		{"**acknowledged records lost, changed, or behind a gap**", func(s *soaked) any { return s.Lost }},
		{"**places that two processes were told are theirs**", func(s *soaked) any { return s.Twice }},
		{"effects of calls that are neither read-only nor idempotent", func(s *soaked) any { return s.Effects }},
		{"replies of people about such calls that may have had their effect", func(s *soaked) any { return s.Asked }},
		{"… that said to make the call again", func(s *soaked) any { return s.Again }},
		{"**effects missing, twice in silence, or not approved**", func(s *soaked) any { return s.Wrong }},
	}
	var b strings.Builder
	b.WriteString(tableBegins)
	fmt.Fprintf(&b, "| | %s |\n|---|%s\n", strings.Join(kinds, " | "), strings.Repeat("--:|", len(kinds)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |", row.title)
		for _, kind := range kinds {
			s := all[kind]
			fmt.Fprintf(&b, " %v |", row.value(&s))
		}
		b.WriteString("\n")
	}
	b.WriteString(tableEnds)
	return b.String()
}

// The document tells what the last make soak has found, and no less went well than it says.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	_, _, err = around(string(text))
	require.NoError(t, err)
	all := published(t)
	require.True(t, strings.Contains(string(text), table(all)), "docs/internal/durability-tests.md and %s disagree: make soak writes both", lastRun) //nolint:testifylint // the document is long
	for kind, s := range all {
		require.GreaterOrEqual(t, s.Kills, 300, kind)
		require.Zero(t, s.Lost+s.Twice+s.Wrong, kind)
	}
}
