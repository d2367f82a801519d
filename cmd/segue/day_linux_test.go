package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/waittest"
)

// TestDay is a day's work: a task on a folder with two edits approved and one refused, interrupted,
// resumed in another process, continued as a chat, and exported.
func TestDay(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(k.dir, name), []byte("one\ntwo\n"), 0o600))
	}
	p := &process{Terminal: terminaltest.New(t), model: k.model, dir: k.dir, read: make(chan struct{}), env: []string{"XDG_STATE_HOME=" + k.home, "OPENAI_API_KEY=" + canary}, width: 80}
	p.start("run", "--session", "day", "--base-url", k.model.URL, "--dir", k.dir, "--json", "Say zwei instead of two")
	for _, file := range []string{"a", "b", "c"} {
		waittest.Receive(t, k.model.asked)
		k.model.replies <- wants(t, workfolder.EditFile, map[string]string{"path": file, "old": "two", "new": "zwei"})
		page := p.Await("edit_file " + file + ": y yes, n no, e edit, a always below ./ > ")
		require.Contains(t, page, "-two\r\n  +zwei\r\n", "the difference is shown")
		if file == "c" {
			p.Types("n\n")
			p.Await("Enter) > ")
			p.Types("c is not mine\n")
		} else {
			p.Types("y\n")
		}
	}
	waittest.Receive(t, k.model.asked)
	p.Types("\x03")
	p.Await("segue: interrupted; go on with: segue resume ")
	p.end(cli.ExitInterrupted, "interrupted")
	run := k.listed().Run

	cmd, stdout, stderr := k.command("resume", run)
	require.Contains(t, waittest.Receive(t, k.model.asked), "c is not mine", "the reason of the refusal comes to the model")
	k.model.replies <- answersAll
	said := k.ends(cmd, stderr, cli.ExitDone)
	require.Equal(t, "All done.\n", stdout.String())
	require.NotContains(t, said, "edit_file", "no edit is made again")
	for name, want := range map[string]string{"a": "one\nzwei\n", "b": "one\nzwei\n", "c": "one\ntwo\n"} {
		got, err := os.ReadFile(filepath.Join(k.dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}

	asked := k.says("day", "What did you change?")
	for _, told := range []string{"Say zwei instead of two", "All done.", "What did you change?"} {
		require.Contains(t, asked, told)
	}

	cmd, stdout, stderr = k.command("export", run)
	k.ends(cmd, stderr, cli.ExitDone)
	var exported struct{ Records []json.RawMessage }
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &exported))
	require.NotEmpty(t, exported.Records)
	require.Contains(t, stdout.String(), "c is not mine")
	require.NotContains(t, stdout.String(), canary)
	cmd, stdout, stderr = k.command("sessions", "show", "day")
	k.ends(cmd, stderr, cli.ExitDone)
	require.Equal(t, 2, strings.Count(stdout.String(), ", run "), stdout.String())
}
