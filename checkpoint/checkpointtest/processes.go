package checkpointtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// Processes checks, in subtests, a store whose processes share a place, such as a file or a
// database:
//
//   - killed: processes that write are killed at random instants. Each acknowledged record is stored,
//     whole, and no journal has a gap.
//   - contending: several processes open a place at the same time, and append to one run. Each place
//     of its journal has one winner, and the winner is told so.
//
// place returns the name of a place that does not exist yet, or is empty; each subtest uses a place
// of its own. open opens the store at a place, and creates it first if it does not exist; if the
// store is an io.Closer, Processes closes it.
//
// Processes starts the test program again, with the name of the calling test, for each process. In
// a process that was started in this way, Processes does not call place, uses the store, and ends
// the process. So the calling test calls Processes first, and nothing else; TestMain runs in each
// of the processes.
//
//	func TestProcesses(t *testing.T) {
//		checkpointtest.Processes(t, func(path string) (checkpoint.Store, error) {
//			return mine.Open(path)
//		}, func() string { return filepath.Join(t.TempDir(), "runs.db") })
//	}
//
// A process that is killed may have sent one Append for each run that the store carries out later.
// The next process may see this Append as a conflict, at its first Append of the run; Processes
// permits this.
func Processes(t *testing.T, open func(place string) (checkpoint.Store, error), place func() string) {
	t.Helper()
	playRole(open)
	kills := 20
	if testing.Short() {
		kills = 5
	}
	test := t.Name()
	for name, check := range processChecks(kills) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
			defer cancel()
			if err := check(ctx, &sharedPlace{test: test, open: open, name: place()}); err != nil {
				t.Error(err)
			}
		})
	}
}

// processChecks are the checks of Processes, by their names.
func processChecks(kills int) map[string]func(context.Context, *sharedPlace) error {
	return map[string]func(context.Context, *sharedPlace) error{
		"killed":     func(ctx context.Context, p *sharedPlace) error { return killed(ctx, p, kills) },
		"contending": contending,
	}
}

// The environment variables that tell a process what to do.
const (
	variableRole   = "SEGUE_CHECKPOINTTEST_ROLE"
	variablePlace  = "SEGUE_CHECKPOINTTEST_PLACE"
	variableWriter = "SEGUE_CHECKPOINTTEST_WRITER"
)

// exitFailed is the exit code of a process whose role failed. A process that was killed has
// another.
const exitFailed = 3

// roles are what a process can do with a store.
var roles = map[string]func(ctx context.Context, s checkpoint.Store, writer string) error{
	"append until killed": appendUntilKilled,
	"contend":             contendAsProcess,
}

// playRole returns at once, unless this process was started to play a role: then it plays the role
// and ends the process.
func playRole(open func(place string) (checkpoint.Store, error)) {
	role := os.Getenv(variableRole)
	if role == "" {
		return
	}
	s, err := open(os.Getenv(variablePlace))
	if err == nil {
		err = errors.Join(roles[role](context.Background(), s, os.Getenv(variableWriter)), closeStore(s))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	os.Exit(0)
}

func closeStore(s checkpoint.Store) error {
	if closer, ok := s.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// sharedPlace is a place that several processes open.
type sharedPlace struct {
	test string // the test that calls playRole
	open func(place string) (checkpoint.Store, error)
	name string
}

// use opens the store in this process, and closes it after do.
func (p *sharedPlace) use(do func(checkpoint.Store) error) error {
	s, err := p.open(p.name)
	if err != nil {
		return err
	}
	return errors.Join(do(s), closeStore(s))
}

// process is a process that plays a role.
type process struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner // of its standard output
	errors bytes.Buffer   // its standard error
}

// start starts a process that plays a role as a writer.
func (p *sharedPlace) start(ctx context.Context, role, writer string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(p.test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	started := &process{cmd: exec.CommandContext(ctx, program, "-test.run="+strings.Join(parts, "/"))}
	started.cmd.Env = append(os.Environ(), variableRole+"="+role, variablePlace+"="+p.name, variableWriter+"="+writer)
	started.cmd.Stderr = &started.errors
	out, err := started.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started.lines = bufio.NewScanner(out)
	return started, started.cmd.Start()
}

// killAfter reads the lines that a process prints, and kills the process some time after the first
// line.
func (p *process) killAfter(d time.Duration, read func(line string)) error {
	if p.lines.Scan() {
		timer := time.AfterFunc(d, func() { _ = p.cmd.Process.Kill() })
		defer timer.Stop()
		for ok := true; ok; ok = p.lines.Scan() {
			read(p.lines.Text())
		}
	}
	if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.ExitCode() == exitFailed {
		return fmt.Errorf("a process that writes ended before it was killed: %s", p.errors.String())
	}
	return nil
}

// end waits until a process has ended by itself.
func (p *process) end() error {
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("a process failed: %w: %s", err, p.errors.String())
	}
	return nil
}
