//go:build unix

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/internal/waittest"
)

// TestExitStatuses has a command return each exit code of the table.
func TestExitStatuses(t *testing.T) {
	const (
		whole  = `{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`
		cutOff = `{"choices":[{"index":0,"message":{"role":"assistant","content":"It was a"},"finish_reason":"length"}]}`
		empty  = `{"choices":[{"index":0,"message":{"role":"assistant","content":" \n"},"finish_reason":"stop"}]}`
	)
	returned := map[int]bool{}
	for _, tt := range []struct {
		code   int
		args   []string
		reply  string
		signal os.Signal
	}{
		{code: cli.ExitDone, reply: whole},
		{code: cli.ExitFailed, reply: cutOff},
		{code: cli.ExitUsage, args: []string{"--nosuch"}},
		{code: cli.ExitLimit, args: []string{"--max-steps", "1"}, reply: wantsToKnowHere},
		{code: cli.ExitWaiting, args: []string{"--ask"}, reply: wantsToKnowHere},
		{code: cli.ExitProvider, args: []string{"--base-url", "http://127.0.0.1:1/v1", "--config", "CONFIG", "--agent", "once"}},
		{code: cli.ExitNoAnswer, reply: empty},
		{code: cli.ExitHungUp, signal: syscall.SIGHUP},
		{code: cli.ExitInterrupted, signal: syscall.SIGINT},
		{code: cli.ExitTerminated, signal: syscall.SIGTERM},
	} {
		returned[tt.code] = true
		t.Run(named(tt.code), func(t *testing.T) {
			t.Parallel()
			model := newSlowModel(t)
			config := filepath.Join(t.TempDir(), "segue.yaml")
			require.NoError(t, os.WriteFile(config, []byte("models: {m: {model: m, limits: {retries: 0}}}\nagents: {once: {}}\n"), 0o600))
			for i, arg := range tt.args {
				tt.args[i] = strings.ReplaceAll(arg, "CONFIG", config)
			}
			cmd, _, stderr := interruptible(t, append([]string{"run", "--base-url", model.URL, "task"}, tt.args...)...)
			if tt.reply != "" || tt.signal != nil {
				waittest.Receive(t, model.asked)
			}
			if tt.reply != "" {
				model.replies <- tt.reply
			}
			if tt.signal != nil {
				require.NoError(t, cmd.Process.Signal(tt.signal))
			}
			rest, err := io.ReadAll(stderr)
			require.NoError(t, err)
			require.Equal(t, tt.code, codeOf(t, waittest.Exit(t, cmd)), string(rest))
		})
	}
	for _, s := range cli.ExitStatuses {
		require.True(t, returned[s.Code], s.Name)
	}
}

const wantsToKnowHere = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ask_user","arguments":"{\"question\":\"Well?\"}"}}]},"finish_reason":"tool_calls"}]}`

func named(code int) string {
	for _, s := range cli.ExitStatuses {
		if s.Code == code {
			return s.Name
		}
	}
	return "not in the table"
}

// TestExitStatuses_complete finds no exit code in the code that is not in the table.
func TestExitStatuses_complete(t *testing.T) {
	known := map[string]bool{}
	for _, file := range goFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, name := range n.Names {
					if strings.HasPrefix(name.Name, "Exit") && len(n.Values) == 1 {
						if v, ok := n.Values[0].(*ast.BasicLit); ok && v.Kind == token.INT {
							known[name.Name] = true
						}
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
					_, number := n.Value.(*ast.BasicLit)
					require.False(t, number, "an exit code is one of the constants")
				}
			}
			return true
		})
	}
	require.Len(t, cli.ExitStatuses, len(known))
	for i, s := range cli.ExitStatuses {
		require.NotEmpty(t, s.Name)
		require.True(t, i == 0 || cli.ExitStatuses[i-1].Code < s.Code, "in order")
	}
}

func goFiles(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("internal/cmd/*/*.go")
	require.NoError(t, err)
	own, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range append(names, own...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}

// brokenWriter breaks down when something is written.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("a mistake") }

// TestRun_defect has the command break down while it shows a run: the run is kept, and the last
// line says how it goes on.
func TestRun_defect(t *testing.T) {
	model := newSlowModel(t)
	var stderr bytes.Buffer
	home := homeIn(t.TempDir())
	code := execute([]string{"run", "--base-url", model.URL, "--output", "jsonl", "task"}, strings.NewReader(""), brokenWriter{}, &stderr, func(name string) string { return home[name] })
	require.Equal(t, cli.ExitFailed, code, stderr.String())
	require.Regexp(t, `(?m)^segue: this is a defect of segue: a mistake; with --verbose it says where; go on with: segue resume [0-9a-f-]+$`, stderr.String())
}
