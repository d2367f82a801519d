package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/waittest"
)

// TestResume_cost shows in the last line what the whole run has cost, with what it had cost before
// it was resumed, at two widths.
func TestResume_cost(t *testing.T) {
	t.Parallel()
	const priced = `"model":"gpt-5-mini","usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500},`
	for _, columns := range []int{80, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			m, dir, runs := newSlowModel(t), t.TempDir(), filepath.Join(t.TempDir(), "runs.db")
			begun := func(args ...string) *process {
				p := &process{Terminal: terminaltest.New(t), model: m, dir: dir, read: make(chan struct{}), width: columns}
				p.start(append(args, "--store", runs, "--json")...)
				return p
			}
			p := begun("run", "--base-url", m.URL, "--model", "gpt-5-mini", "--dir", dir, "task")
			waittest.Receive(t, m.asked)
			m.replies <- "{" + priced + wants(t, workfolder.WriteFile, map[string]string{"path": "a", "content": "1"})[1:]
			p.Await("a always below ./ > ")
			p.Types("\x04") // the user answers later
			p.end(cli.ExitWaiting, "waiting")

			p = begun("resume")
			p.Await("a always below ./ > ")
			p.Types("y\n")
			waittest.Receive(t, m.asked)
			p.Await("$0.00125 [0 #2] awaiting model")
			m.replies <- "{" + priced + isDone[1:]
			p.end(cli.ExitDone, "done")
			require.Regexp(t, `complete-task done: 2000\s+tokens in, 1000\s+out, \$0\.0025`, terminaltest.Played(p.Shown, columns))
		})
	}
}
