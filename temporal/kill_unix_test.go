//go:build unix

package temporal

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/pgtest"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
)

// workerVariable has a process of the tests be a worker: of a server, on a queue, with a store and
// a witness.
const workerVariable = "SEGUE_TEST_TEMPORAL_WORKER"

const payRounds = 4

// TestWorkerProcess is the worker that TestKill kills.
func TestWorkerProcess(t *testing.T) {
	words := strings.Split(os.Getenv(workerVariable), "|")
	if len(words) < 4 {
		t.Skip("it is no worker of TestKill")
	}
	c := clientOf(t, words[0])
	s := &scene{store: reach(t, words[2], c, words[1]), witness: words[3], slow: 30 * time.Millisecond}
	e := killed(s.engine(t, c))
	e.Queue = words[1]
	w := worker.New(e.Client, e.Queue, worker.Options{MaxHeartbeatThrottleInterval: 200 * time.Millisecond})
	e.Register(w)
	require.NoError(t, w.Run(nil))
}

// killed has an engine notice within two seconds that a worker is gone.
func killed(e *Engine) *Engine {
	o := workflow.ActivityOptions{HeartbeatTimeout: 2 * time.Second}
	e.Activities = map[machine.EffectKind]workflow.ActivityOptions{machine.EffectModel: o, machine.EffectTool: o}
	return e
}

// reach opens the store at a place: a file of SQLite, a server of PostgreSQL, or "" for Temporal
// itself.
func reach(t *testing.T, place string, c client.Client, queue string) checkpoint.Store {
	t.Helper()
	if place == "" {
		return &Store{Client: c, Queue: queue}
	}
	var store interface {
		checkpoint.Store
		Close() error
	}
	var err error
	if strings.HasPrefix(place, "host=") {
		store, err = pgstore.Open(t.Context(), pgstore.Config{URL: place})
	} else {
		store, err = open(place)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// Workers are killed, and frozen beyond their heartbeat and woken, and the server and the database
// are killed and started again: no call of a tool that must not be repeated is made twice, no run
// is lost, and of each call that may have been made somebody is told. KILLS=n says how often, and
// KILLS=1h how long.
func TestKill(t *testing.T) {
	t.Parallel() // most of it is waiting
	for name, store := range map[string]func(*testing.T) (place string, restart func()){
		"within": func(*testing.T) (string, func()) { return "", nil },
		"sqlite": func(t *testing.T) (string, func()) { return filepath.Join(t.TempDir(), "runs.db"), nil },
		"postgres": func(t *testing.T) (string, func()) {
			db := pgtest.Start(t)
			return db.URL(), func() {
				require.NoError(t, db.Kill())
				time.Sleep(rand.N(time.Second))
				require.NoError(t, db.Start())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, restart := store(t)
			kill(t, place, restart)
		})
	}
}

// kill is TestKill for a store, whose server restart kills and starts again, unless it is nil.
func kill(t *testing.T, place string, restart func()) {
	var long time.Duration
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("KILLS"), "6"))
	if err != nil {
		long, err = time.ParseDuration(os.Getenv("KILLS"))
		require.NoError(t, err, "KILLS")
	}
	srv := newServer(t)
	c := clientOf(t, srv.address)
	s := &scene{store: reach(t, place, c, t.Name()), witness: filepath.Join(t.TempDir(), "witness")}
	k := &killing{t: t, e: killed(s.engine(t, c)), open: map[checkpoint.Key]bool{}}
	begin := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWorkerProcess$", "-test.timeout", "3h")
		cmd.Env = append(os.Environ(), workerVariable+"="+strings.Join([]string{srv.address, k.e.Queue, place, s.witness}, "|"))
		require.NoError(t, cmd.Start())
		return cmd
	}
	workers := []*exec.Cmd{begin(), begin()}
	defer func() {
		for _, w := range workers {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer waittest.All(t, &all)
	defer cancel()
	for range 4 {
		all.Go(func() { k.runs(ctx) })
	}
	all.Go(func() { k.answers(ctx) })
	var how [4]int // workers killed and frozen, servers and databases killed
	for n, began := 0, time.Now(); n < kills || time.Since(began) < long; n++ {
		time.Sleep(500*time.Millisecond + rand.N(time.Second))
		w := &workers[n%len(workers)]
		switch {
		case n%6 == 2: // frozen beyond its heartbeat, and woken
			how[1]++
			require.NoError(t, (*w).Process.Signal(syscall.SIGSTOP))
			time.Sleep(3 * time.Second)
			require.NoError(t, (*w).Process.Signal(syscall.SIGCONT))
		case n%6 == 4:
			how[2]++
			srv.kill()
			srv.start(t)
		case n%6 == 5 && restart != nil:
			how[3]++
			restart()
		default:
			how[0]++
			require.NoError(t, (*w).Process.Kill())
			_ = waittest.Exit(t, *w)
			*w = begin()
		}
	}
	t.Logf("%d kills and %d freezes of workers, %d kills of the server, %d of the database", how[0], how[1], how[2], how[3])
	k.mu.Lock()
	k.enough = true
	k.mu.Unlock()
	k.settle()
	k.check(s.witness)
}

// killing is what TestKill knows of its runs.
type killing struct {
	t *testing.T
	e *Engine

	mu      sync.Mutex
	enough  bool // no more runs begin
	open    map[checkpoint.Key]bool
	all     []checkpoint.Key
	unknown map[string]bool // "run/seq" of calls of which nobody knows
}

// runs makes one run after the other.
func (k *killing) runs(ctx context.Context) {
	for ctx.Err() == nil {
		task := task(payRounds, "look", "put", "pay")
		k.mu.Lock()
		task.Run = fmt.Sprintf("kill-%d-%d", len(k.all), time.Now().UnixNano())
		key, over := checkpoint.Key{Run: task.Run}, k.enough
		if !over {
			k.all, k.open[key] = append(k.all, key), true
		}
		k.mu.Unlock()
		if over {
			return
		}
		for _, err := k.e.Start(ctx, task); err != nil && ctx.Err() == nil; _, err = k.e.Start(ctx, task) {
			if strings.Contains(err.Error(), "exists") {
				break // the first Start had an unclear end
			}
			time.Sleep(100 * time.Millisecond)
		}
		for ctx.Err() == nil {
			head, err := k.e.Orchestrator.Head(ctx, key)
			if err == nil && head.Header.Status.Ended() {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		k.mu.Lock()
		delete(k.open, key)
		k.mu.Unlock()
	}
}

// answers says of calls of which nobody knows that they are not to be made again.
func (k *killing) answers(ctx context.Context) {
	k.unknown = map[string]bool{}
	for ctx.Err() == nil {
		k.mu.Lock()
		var keys []checkpoint.Key
		for key := range k.open {
			keys = append(keys, key)
		}
		k.mu.Unlock()
		for _, key := range keys {
			head, err := k.e.Orchestrator.Head(ctx, key)
			if err != nil || len(head.Header.Waits) == 0 {
				continue
			}
			s, err := k.e.Orchestrator.Standing(ctx, key)
			if err != nil {
				continue
			}
			for _, w := range s.Waits {
				k.mu.Lock()
				k.unknown[fmt.Sprintf("%s/%d", key.Run, w.Seq)] = w.Kind == machine.WaitUnknown
				k.mu.Unlock()
				_ = k.e.Answer(ctx, key, machine.Reply{WaitID: w.ID, Reason: "it is not made again"})
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// settle waits until all runs have ended.
func (k *killing) settle() {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		k.mu.Lock()
		left := len(k.open)
		k.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Since(began) > 5*time.Minute {
			k.mu.Lock()
			defer k.mu.Unlock()
			for key := range k.open {
				s, err := k.e.Orchestrator.Standing(context.Background(), key)
				state, problem := k.e.Query(context.Background(), key)
				k.t.Errorf("run %s is lost: %+v %v; its workflow: %+v %v", key.Run, s, err, state, problem)
				for events := k.e.Client.GetWorkflowHistory(context.Background(), workflowID(key), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
					event, err := events.Next()
					require.NoError(k.t, err)
					if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
						k.t.Logf("event %d: %v %v", event.GetEventId(), failed.GetCause(), failed.GetFailure().GetMessage())
					}
				}
			}
			k.t.FailNow()
		}
	}
}

// check counts what the tools did.
func (k *killing) check(witness string) {
	text, err := os.ReadFile(witness)
	require.NoError(k.t, err)
	paid := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "pay" {
			paid[words[2][:strings.LastIndex(words[2], "/")]]++
		}
	}
	total := 0
	for call, times := range paid {
		total += times
		require.Equal(k.t, 1, times, call)
	}
	unknown := 0
	for call, is := range k.unknown {
		keep(k.t, k.e.Client, workflowID(checkpoint.Key{Run: call[:strings.LastIndex(call, "/")]}), "unknown")
		require.True(k.t, is, call)
		if unknown++; paid[call] == 0 {
			total++
		}
	}
	require.Equal(k.t, payRounds*len(k.all), total, "calls that were made, or of which somebody was told that nobody knows")
	k.t.Logf("%d runs, %d payments, 0 of them twice, 0 runs lost, %d calls reported as unknown", len(k.all), len(paid), unknown)
}
