package pgstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// again starts this program in a role.
func again(t *testing.T, as string, c pgstore.Config, name string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, c.URL, c.Schema, name)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

// must ends a program that was started for a test.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(role), err)
		os.Exit(1)
	}
}

// content is what record seq of a run holds: anybody can tell whether it is whole.
func content(run string, seq int) string {
	return strings.Repeat(fmt.Sprintf("%s:%d ", run, seq), 1+seq*37%400)
}

const runsOfWriter = 8

// writeForever appends to several runs at once, and says of each record that was acknowledged so.
func writeForever(c pgstore.Config, seed string) {
	s, err := pgstore.Open(context.Background(), c)
	must(err)
	for i := range runsOfWriter {
		go func() {
			run := fmt.Sprint("run-", i)
			h, err := s.Head(context.Background(), key(run))
			if !errors.Is(err, checkpoint.ErrNotFound) {
				must(err)
			}
			for at := h.Last + 1; ; at++ {
				b := next(run, at, content(run, at))
				b.Epoch, b.Writer = h.Epoch+1, seed
				if at == 1 {
					b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning}
				}
				err := s.Append(context.Background(), b)
				if errors.Is(err, checkpoint.ErrConflict) {
					// What the program before had sent when it was killed came later than Head.
					if h, err = s.Head(context.Background(), key(run)); err == nil {
						at = h.Last
					}
					must(err)
					continue
				}
				must(err)
				fmt.Printf("%s %d\n", run, at)
			}
		}()
	}
	select {}
}

// Processes are killed at random instants while they write. Every record that was acknowledged is
// there, whole, and the journals have no gaps.
func TestKill9(t *testing.T) {
	c := fresh(t)
	acknowledged := map[string]int{}
	kills := 20
	if testing.Short() {
		kills = 5
	}
	for i := range kills {
		cmd, out := again(t, "write", c, strconv.Itoa(i))
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan(), "nothing was written")
		timer := time.AfterFunc(rand.N(60*time.Millisecond), func() { _ = cmd.Process.Kill() })
		for ok := true; ok; ok = lines.Scan() {
			run, number, _ := strings.Cut(lines.Text(), " ")
			seq, err := strconv.Atoi(number)
			if err == nil {
				acknowledged[run] = max(acknowledged[run], seq)
			}
		}
		timer.Stop()
		require.Error(t, cmd.Wait(), "it was killed")
	}
	s := open(t, c)
	total := 0
	for run, last := range acknowledged {
		data, err := journal(t.Context(), s, run)
		require.NoError(t, err)
		for i, text := range data {
			require.Equal(t, content(run, i+1), text)
		}
		require.GreaterOrEqual(t, len(data), last, run)
		require.LessOrEqual(t, len(data), last+kills, "one a kill may have been kept without being acknowledged")
		total += len(data)
	}
	t.Logf("%d kills, %d records", kills, total)
}

const recordsOfWorker = 60

// work appends to runs of its own, and to one that others append to as well.
func work(c pgstore.Config, name string) {
	s, err := pgstore.Open(context.Background(), c)
	must(err)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			run := fmt.Sprintf("%s-%d", name, i)
			for at := 1; at <= recordsOfWorker; at++ {
				b := next(run, at, content(run, at))
				if at == 1 {
					b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning}
				}
				must(s.Append(context.Background(), b))
			}
		})
	}
	all.Go(func() {
		for won := 0; won < recordsOfWorker; {
			h, err := s.Head(context.Background(), key("contested"))
			must(err)
			b := next("contested", h.Last+1, name)
			b.Writer, b.Epoch = name, h.Epoch
			switch err := s.Append(context.Background(), b); {
			case err == nil:
				won++
			case !errors.Is(err, checkpoint.ErrConflict):
				must(err)
			}
		}
	})
	all.Wait()
	must(s.Close())
}

// Four processes write at once, and contest one of the runs: each place of it has one winner, who
// knows it.
func TestProcesses(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("contested", "start")))
	var started []*exec.Cmd
	for i := range 4 {
		cmd, _ := again(t, "work", c, fmt.Sprint("p", i))
		started = append(started, cmd)
	}
	for _, cmd := range started {
		require.NoError(t, cmd.Wait())
	}
	for p := range 4 {
		for i := range 4 {
			data, err := journal(t.Context(), s, fmt.Sprintf("p%d-%d", p, i))
			require.NoError(t, err)
			require.Len(t, data, recordsOfWorker)
		}
	}
	data, err := journal(t.Context(), s, "contested")
	require.NoError(t, err)
	won := map[string]int{}
	for _, name := range data[1:] {
		won[name]++
	}
	require.Equal(t, map[string]int{"p0": recordsOfWorker, "p1": recordsOfWorker, "p2": recordsOfWorker, "p3": recordsOfWorker}, won)
}
