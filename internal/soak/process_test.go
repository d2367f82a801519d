package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/pgtest"
	"github.com/segue-go/segue/orchestrator"
)

// planEnv holds the plan of a process that a test has started.
const planEnv = "SEGUE_SOAK_PLAN"

// plan is all that a process is told.
type plan struct {
	Role    string
	Store   string // see openStore
	Dir     string // of the witnesses
	Process int    // its number; no other process of the test has it
	Lease   time.Duration

	Since int   // the processes before it have had no part in the runs that are open
	Turns []int // of the worker: the turn of each slot
	Drain bool  // of the worker: end when the runs that are open have ended

	Run     string // of the roles with a single run
	At      string // where it stands still
	Version string // of the program
	Many    int    // goroutines that resume it, each with an Orchestrator of its own
}

// roles are what a process may be.
//
// A system may have more, see init.
var roles = map[string]func(context.Context, *plan) error{
	"worker":  work,
	"person":  answerAll,
	"pay":     pay,
	"recover": recoverOne,
	"begin":   begin,
	"resume":  resumeAll,
	"serve":   serve,
}

func TestMain(m *testing.M) {
	text := os.Getenv(planEnv)
	if text == "" {
		code := m.Run()
		pgtest.Stop()
		if err := goleak.Find(); code == 0 && err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		if p.At == "" && p.Role != "resume" { // else it reads its input
			go endWithParent()
		}
		err = roles[p.Role](context.Background(), &p)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s %d: %v\n", p.Role, p.Process, err)
		os.Exit(1)
	}
}

// endWithParent ends this process when the one that has started it is gone.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(3)
}

// process is one that a test has started.
type process struct {
	plan
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader

	said *json.Decoder // of out
}

// start starts this program again. It is killed at the end of the test if it still runs then.
func start(t testing.TB, p plan) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	s := &process{plan: p, cmd: exec.CommandContext(t.Context(), self)}
	s.cmd.Env = append(os.Environ(), planEnv+"="+string(text))
	s.cmd.Stderr = os.Stderr
	s.in, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	s.out, err = s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(s.kill)
	return s
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (s *process) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// open opens what a process works with: its store, whose acknowledgements are noted, and an
// Orchestrator on it.
func open(ctx context.Context, p *plan, edit ...func(*orchestrator.Config)) (*orchestrator.Orchestrator, *filesWorld, checkpoint.Store, error) {
	store, _, err := openStore(ctx, p.Store)
	if err != nil {
		return nil, nil, nil, err
	}
	acks, err := openWitness(p.Dir, ofAcks, p.Process)
	if err != nil {
		return nil, nil, nil, err
	}
	mine, err := openWitness(p.Dir, ofEffects, p.Process)
	if err != nil {
		return nil, nil, nil, err
	}
	w := &filesWorld{plan: p, mine: mine}
	lease := func(c *orchestrator.Config) { c.Lease = p.Lease }
	noted := &acknowledged{Store: store, acks: acks, reads: func() {}}
	if p.Role == "worker" {
		noted.reads = sync.OnceFunc(func() { fmt.Println("taking up a run") })
	}
	o, err := build(noted, w, append([]func(*orchestrator.Config){lease}, edit...)...)
	return o, w, store, err
}
