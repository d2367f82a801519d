package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// exitLeak is the exit code of a segue under test that leaves goroutines behind.
const exitLeak = 99

// blockedRead is left where somebody was asked and the run ended without an answer, and where
// nothing came from standard input: nothing but the end of the process ends such a read.
var blockedRead = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/segue-go/segue/cmd/segue/internal/terminal.(*Keyboard).read"),
	goleak.IgnoreAnyFunction("github.com/segue-go/segue/cmd/segue/internal/cmd/run.readStdin"),
}

// TestMain makes this binary do as "segue" in the processes that tests start, and looks for
// goroutines left behind in those and in the tests.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"segue": func() {
			code := execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
			if err := goleak.Find(blockedRead...); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = exitLeak
			}
			os.Exit(code)
		},
		"mcp-test-server": mcpTestServer,
		"panics-at-tab": func() {
			complete := func(string) []lineedit.Word { panic("at a prompt") }
			_, _, _ = terminal.Edit(context.Background(), lineedit.New(lineedit.Config{Prompt: "> ", Complete: complete}), nil)
		},
	})
}

// buildFast builds a segue without the race detector, under which a process takes several times as
// long to begin, for all tests that start one. make prove, which sets SEGUE_PROVE, starts those
// with the race detector, as does Windows, where not everybody may make a symbolic link.
func buildFast(home string) error {
	if !raced || runtime.GOOS == "windows" || os.Getenv("SEGUE_PROVE") != "" {
		return nil
	}
	fast := filepath.Join(home, "fast")
	build := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", filepath.Join(fast, "segue"), ".") // -s -w: twice as fast
	build.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := os.Symlink("segue", filepath.Join(fast, "mcp-test-server")); err != nil {
		return err
	}
	return os.Setenv("PATH", fast+string(os.PathListSeparator)+os.Getenv("PATH"))
}

type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	home, err := os.MkdirTemp("", "segue-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cli.ExitFailed
	}
	defer os.RemoveAll(home)
	if err := buildFast(home); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cli.ExitFailed
	}
	for name, folder := range homeIn(home) { // nothing of who runs the tests is read or written
		_ = os.Setenv(name, folder)
	}
	if signal.Ignored(syscall.SIGHUP) { // under nohup: the processes that tests start would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return exitLeak
	}
	return code
}

// homeIn is an environment whose home is in a folder.
func homeIn(folder string) map[string]string {
	home := filepath.Join(folder, "home")
	env := map[string]string{
		"HOME": home, "USERPROFILE": home,
		"XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state"),
	}
	for _, flag := range run.SettingFlags {
		env[run.VariableOf(flag)] = ""
	}
	return env
}
