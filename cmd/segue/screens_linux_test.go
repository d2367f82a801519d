package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
)

var rewrite = flag.Bool("rewrite", false, "write the screens in docs/screens anew")

// requireScreen compares a screen with the one in docs/screens.
func requireScreen(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "screens", name)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -run %s -rewrite writes it anew", t.Name())
}

// TestScreens_plan shows the run of a long plan at several widths of a real terminal: no row is
// longer, and nothing of what was written anew is left.
func TestScreens_plan(t *testing.T) {
	for _, columns := range []int{200, 80, 60, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			user, tty := pseudoTerminal(t)
			setWidth(t, tty, columns)
			shown := make(chan string)
			go func() {
				all, _ := io.ReadAll(user) // it ends with an error: nobody has the terminal any more
				shown <- string(all)
			}()
			none := func(string) string { return "" }
			c := &cli.CLI{Stdin: strings.NewReader(""), Stdout: tty, Stderr: tty, Getenv: none}
			dir, err := run.DemoFolder()
			require.NoError(t, err)
			j, err := run.DemoJob(dir)
			require.NoError(t, err)
			defer j.Close()
			o, err := j.Orchestrator(nil)
			require.NoError(t, err)
			out := cli.Output{Form: cli.OneOf(cli.FormText)}
			require.NoError(t, run.Tell(c, timeless(o.Stream(context.Background(), j.Task)), j, nil, out, c.Screen(out)))
			require.NoError(t, tty.Close())
			all := waittest.Receive(t, shown)
			require.Contains(t, all, "\x1b[?7l\x1b[2m| ", "it was live")
			screen := terminaltest.Played(all, columns)
			for row := range strings.SplitSeq(screen, "\n") {
				require.LessOrEqual(t, plaintext.CellsOf(row), columns)
				require.NotContains(t, row, "\x1b")
			}
			requireScreen(t, fmt.Sprintf("plan-%d.txt", columns), screen)
		})
	}
}

// timeless returns the events of a run whose steps take no time, with what they would cost.
func timeless(events iter.Seq2[machine.Event, error]) iter.Seq2[machine.Event, error] {
	price, ok := llmclient.KnownPrices().Of("gpt-5-mini")
	return func(yield func(machine.Event, error) bool) {
		if !ok {
			yield(machine.Event{}, errors.New("no price"))
			return
		}
		for e, err := range events {
			switch d := e.Detail.(type) {
			case machine.StepTaken:
				d.Elapsed, d.Cost, d.Unpriced = 0, price.Cost(d.Usage), 0
				e.Detail = d
			case machine.FrameLeft:
				d.Elapsed, d.Cost, d.Unpriced = 0, price.Cost(d.Usage), 0
				e.Detail = d
			case machine.ToolFinished:
				d.Output.Elapsed = 0
				e.Detail = d
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
