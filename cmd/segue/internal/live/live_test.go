package live

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	evaluation "github.com/segue-go/segue/cmd/segue/internal/cmd/eval"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/mcp"
	"github.com/segue-go/segue/eval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = flag.Bool("rewrite", false, "write the tables of recordings anew")

const (
	suites     = "../../../../testdata/eval/"
	recordings = "testdata"
	page       = "../../../../docs/models.md"
)

// suite is a file of cases.
type suite struct{ name, title string }

// both are the suites of the recordings.
var both = []suite{{"twelve", "Twelve tasks of a step or two"}, {"several", "Six tasks of several steps"}}

// TestLive asks a real model, records its replies, and writes the tables.
func TestLive(t *testing.T) {
	if os.Getenv("SEGUE_LIVE") == "" {
		t.Skip("make live asks a real model")
	}
	m, missing := fromEnvironment(os.Getenv)
	require.Empty(t, missing, "set these variables in the environment to ask a real model")
	rec := &recording{file: fileOf(recordings, m.name), key: m.key}
	done := record(t, m, rec, os.Getenv("SEGUE_LIVE_KEEP") != "", both, os.Getenv("SEGUE_LIVE_VARIANT"))
	t.Logf("\n%s", done.tables)
	*rewrite = true
	require.Equal(t, done.tables, replay(t, rec.file).tables, "a replay has other figures: were requests repeated?")
}

// record has a real model do the suites, and records its replies. With keep it asks only what the
// recording does not answer.
func record(t *testing.T, m model, rec *recording, keep bool, all []suite, variant string, flags ...string) outcomes {
	if !keep {
		require.NoError(t, os.RemoveAll(rec.file))
	}
	_, err := rec.read()
	require.NoError(t, err)
	rec.variant = variant
	require.NoError(t, rec.write(m.name, false))
	s := newServer(m.name, &m, rec)
	defer s.Close()
	done := evaluate(t, s, t.Output(), all, flags...)
	require.NoError(t, rec.write(m.name, true))
	return done
}

// replay has a recording do the suites, and holds the outcomes against the golden file.
func replay(t *testing.T, file string) outcomes {
	rec := &recording{file: file}
	name, err := rec.read()
	require.NoError(t, err)
	s := newServer(name, nil, rec)
	defer s.Close()
	done := evaluate(t, s, io.Discard, both)
	goldenIs(t, strings.TrimSuffix(file, ".jsonl")+".txt", done.tables+"\n"+strings.Join(done.lines, ""))
	require.Zero(t, s.missing, "requests that the recording of %s does not answer: record anew with make live KEEP=1", name)
	require.Zero(t, rec.unused(), "replies of %s that no request asks for: record anew with make live KEEP=1", file)
	sectionIs(t, name, done.tables)
	return done
}

// outcomes are what segue eval has found.
type outcomes struct {
	tables string
	lines  []string // one for each trial, sorted
}

// evaluate has segue eval try suites with the model of a server.
func evaluate(t *testing.T, s *server, progress io.Writer, all []suite, flags ...string) (done outcomes) {
	home := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", home, "./tasktools")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("PATH", home+string(os.PathListSeparator)+os.Getenv("PATH"))
	env := map[string]string{"OPENAI_BASE_URL": s.URL + "/v1", "OPENAI_API_KEY": "-", "SEGUE_MODEL": s.model, "SEGUE_IDLE_TIMEOUT": "1h", "HOME": home, "XDG_STATE_HOME": home}
	require.NoError(t, segue(env, progress, "tools", "--config", suites+"agents.yaml", "--accept", "tasks"))
	for i, suite := range all {
		results, table := filepath.Join(home, suite.name+".jsonl"), filepath.Join(home, suite.name+".md")
		args := []string{"eval", suites + suite.name + ".yaml", "--out", results, "--markdown", table, "--variant", s.rec.variant}
		require.NoError(t, segue(env, progress, append(args, flags...)...))
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		done.tables += strings.Repeat("\n", min(i, 1)) + suite.title + ":\n\n" + lasting(string(text))
		done.lines = append(done.lines, linesOf(t, suite.name, results)...)
	}
	return done
}

// segue executes a command line.
func segue(env map[string]string, progress io.Writer, args ...string) error {
	c := &cli.CLI{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: progress, MCP: &cli.MCPServers{},
		Getenv: func(name string) string { return env[name] },
	}
	defer c.MCP.Close()
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(slices.Concat(evaluation.Commands(c), mcp.Commands(c))...)
	root.SetArgs(args)
	return root.Execute()
}

// lasting returns a table without the columns that are others each time, or say nothing.
func lasting(table string) string {
	var b strings.Builder
	var left []bool
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if left == nil {
			for _, title := range cells {
				left = append(left, slices.Contains([]string{"cost", "seconds"}, strings.TrimSpace(title)))
			}
		}
		for i, cell := range cells {
			if !left[i] {
				b.WriteString("|" + cell)
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// linesOf returns a line for each trial of a file of results.
func linesOf(t *testing.T, suite, results string) (all []string) {
	file, err := os.Open(results)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan() // the header
	for lines.Scan() {
		var one eval.Trial
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		all = append(all, suite+" "+lineOf(&one)+"\n")
	}
	slices.Sort(all)
	return all
}

func lineOf(t *eval.Trial) string {
	var is, made []string
	for _, s := range t.Scores {
		if s.Value == 1 {
			is = append(is, s.Name)
		}
	}
	if t.Passed {
		is = append(is, "PASSED")
	}
	for _, c := range t.Calls {
		var arguments bytes.Buffer
		if json.Compact(&arguments, []byte(c.Arguments)) != nil {
			arguments.WriteString(c.Arguments)
		}
		made = append(made, c.Name+arguments.String())
	}
	said := fmt.Sprintf("%.160q", t.Answer)
	if t.Error != "" {
		said = fmt.Sprintf("failed: %.160q", strings.ReplaceAll(t.Error, t.Run, "RUN"))
	}
	return fmt.Sprintf("%s, %s: %s; %d requests, %d tokens; %q; %s",
		t.Variant, t.Case, cmp.Or(strings.Join(is, " "), "nothing"), t.ModelCalls, t.Tokens, made, said)
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
