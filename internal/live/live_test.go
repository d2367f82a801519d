package live

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/markdownpolicy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = flag.Bool("rewrite", false, "write the tables of recordings anew")

const (
	recordings = "testdata"
	page       = "../../docs/local-models.md"
)

// TestLive asks a real model, records its replies, and writes the tables.
func TestLive(t *testing.T) {
	if os.Getenv("SEGUE_LIVE") == "" {
		t.Skip("make live asks a real model")
	}
	m, missing, err := fromEnvironment(os.Getenv)
	require.NoError(t, err)
	require.Empty(t, missing, "set these variables in the environment to ask a real model")
	require.NoError(t, os.MkdirAll(recordings, 0o755))
	rec := &recording{file: fileOf(recordings, m.name), key: m.key}
	all := record(t, m, rec, rows(markdownpolicy.Names()), os.Getenv("SEGUE_LIVE_KEEP") != "")
	t.Logf("\n%s", tables(all))
	*rewrite = true
	replayed := replay(t, rec.file)
	require.Equal(t, tables(all), tables(replayed), "a replay has other figures: were requests repeated?")
}

// record has all rows done by a real model, and records its replies. With keep it asks only what
// the recording does not answer.
func record(t *testing.T, m model, rec *recording, all []row, keep bool) []outcome {
	if !keep {
		require.NoError(t, os.RemoveAll(rec.file))
	}
	_, err := rec.read()
	require.NoError(t, err)
	for key := range rec.replies {
		if strings.Contains(key, " ") { // the time was over: it may not be today
			delete(rec.replies, key)
		}
	}
	require.NoError(t, rec.write(m.name, false))
	s := newServer(m.name, &m, rec)
	defer s.Close()
	done := runAll(t.Context(), all, s, func(o outcome) { t.Log(o.String()) })
	require.NoError(t, rec.write(m.name, true))
	return done
}

// replay has all rows done by a recording, and holds the outcomes against the golden file.
func replay(t *testing.T, file string) []outcome {
	rec := &recording{file: file}
	name, err := rec.read()
	require.NoError(t, err)
	s := newServer(name, nil, rec)
	defer s.Close()
	var missing []string
	done := runAll(t.Context(), rows(markdownpolicy.Names()), s, func(o outcome) {
		if o.missing > 0 {
			missing = append(missing, fmt.Sprint(o.row, " ", o.task.name))
		}
	})
	require.Empty(t, missing, "tasks with requests that the recording of %s does not answer: record anew with make live KEEP=1", name)
	require.Zero(t, rec.unused(), "replies of %s that no request asks for: record anew with make live KEEP=1", file)
	goldenIs(t, strings.TrimSuffix(file, ".jsonl")+".txt", golden(done))
	sectionIs(t, name, tables(done))
	return done
}

// golden is the tables, and a line for each outcome.
func golden(done []outcome) string {
	var b strings.Builder
	b.WriteString(tables(done) + "\n")
	for _, o := range done {
		b.WriteString(o.String() + "\n")
	}
	return b.String()
}

const anew = "run: go test ./internal/live -run '^TestRecordings$' -rewrite"

// goldenIs holds a file against a text.
func goldenIs(t *testing.T, file, want string) {
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err, anew)
	was, is := strings.Split(string(have), "\n"), strings.Split(want, "\n")
	var other []string
	for i := range max(len(was), len(is)) {
		if a, b := at(was, i), at(is, i); a != b {
			other = append(other, "- "+a, "+ "+b)
		}
	}
	require.Empty(t, strings.Join(other, "\n"), "%s is not up to date; %s", file, anew)
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// sectionIs holds the section of a model against its tables, if the page has one.
func sectionIs(t *testing.T, model, want string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	begin, end := "<!-- "+model+": make live -->\n", "<!-- end of "+model+" -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	if !ok {
		return
	}
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no %q", page, end)
	goldenIs(t, page, before+begin+want+end+after)
}

// TestRecordings replays recordings of real models.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { replay(t, file) })
	}
}
