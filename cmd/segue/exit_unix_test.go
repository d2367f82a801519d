//go:build unix

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
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
		{code: exitDone, reply: whole},
		{code: exitFailed, reply: cutOff},
		{code: exitUsage, args: []string{"--nosuch"}},
		{code: exitLimit, args: []string{"--max-steps", "1"}, reply: wantsToKnowHere},
		{code: exitWaiting, args: []string{"--ask"}, reply: wantsToKnowHere},
		{code: exitProvider, args: []string{"--base-url", "http://127.0.0.1:1/v1", "--config", "CONFIG", "--agent", "once"}},
		{code: exitNoAnswer, reply: empty},
		{code: exitHungUp, signal: syscall.SIGHUP},
		{code: exitInterrupted, signal: syscall.SIGINT},
		{code: exitTerminated, signal: syscall.SIGTERM},
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
				<-model.asked
			}
			if tt.reply != "" {
				model.replies <- tt.reply
			}
			if tt.signal != nil {
				require.NoError(t, cmd.Process.Signal(tt.signal))
			}
			rest, err := io.ReadAll(stderr)
			require.NoError(t, err)
			require.Equal(t, tt.code, codeOf(t, cmd.Wait()), string(rest))
		})
	}
	for _, s := range exitStatuses {
		require.True(t, returned[s.code], s.name)
	}
}

const wantsToKnowHere = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ask_user","arguments":"{\"question\":\"Well?\"}"}}]},"finish_reason":"tool_calls"}]}`

func named(code int) string {
	for _, s := range exitStatuses {
		if s.code == code {
			return s.name
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
					if strings.HasPrefix(name.Name, "exit") && len(n.Values) == 1 {
						if v, ok := n.Values[0].(*ast.BasicLit); ok && v.Kind == token.INT {
							known[name.Name] = true
						}
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "code" {
					_, number := n.Value.(*ast.BasicLit)
					require.False(t, number, "an exit code is one of the constants")
				}
			}
			return true
		})
	}
	require.Len(t, exitStatuses, len(known))
	for i, s := range exitStatuses {
		require.NotEmpty(t, s.name)
		require.True(t, i == 0 || exitStatuses[i-1].code < s.code, "in order")
	}
}

func goFiles(t *testing.T) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
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
	code := run([]string{"run", "--base-url", model.URL, "--output", "jsonl", "task"}, strings.NewReader(""), brokenWriter{}, &stderr, func(name string) string { return home[name] })
	require.Equal(t, exitFailed, code, stderr.String())
	require.Regexp(t, `(?m)^segue: this is a defect of segue: a mistake; with --verbose it says where; go on with: segue resume [0-9a-f-]+$`, stderr.String())
}
