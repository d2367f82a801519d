package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Appends that come while a group is on its way wait, and are the next one: one statement, in one
// transaction, with one flush. Who comes alone waits for nobody. The server has all of a statement
// before it locks any run, so a process that is frozen keeps no run locked.

const (
	mostJobs   = 32      // in one group
	mostShared = 4 << 20 // bytes in one group, unless a single job has more
)

// job is an addition that somebody waits for.
type job struct {
	*addition
	ctx   context.Context
	group *group     // nil: it stands in the queue
	done  chan error // what became of it
}

// group is what one statement adds.
type group struct {
	jobs []*job
	left int // how many of the jobs nobody waits for any more

	ctx    context.Context // ends with the last who waits
	cancel context.CancelFunc
}

type queue struct {
	mu      sync.Mutex
	waiting []*job
	sent    bool // by a goroutine that goes on until nobody waits
}

// write adds a batch. If ctx ends while it stands in the queue nothing is added.
func (s *Store) write(ctx context.Context, a *addition) error {
	a.own()
	j := &job{addition: a, ctx: ctx, done: make(chan error, 1)}
	if s.queue.join(j) {
		go s.send()
	}
	err := s.queue.wait(ctx, j)
	if p, ok := errors.AsType[*panicked](err); ok {
		panic(p.Error())
	}
	return err
}

// own copies what belongs to the caller, who may be gone while the group is on its way. What has
// more bytes than can be shared is a group of its own, which is waited for.
func (a *addition) own() {
	a.Records, a.Taken = slices.Clone(a.Records), slices.Clone(a.Taken)
	if a.bytes > mostShared {
		return
	}
	for i, data := range a.data {
		a.data[i] = bytes.Clone(data)
	}
}

// wait returns what became of a job, or the error of ctx if it was given up.
func (q *queue) wait(ctx context.Context, j *job) error {
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	}
	if q.leave(j) {
		return <-j.done
	}
	return ctx.Err()
}

// join reports whether there is nobody who sends.
func (q *queue) join(j *job) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	first, q.sent = !q.sent, true
	return first
}

// leave gives up a job. It reports whether that has ended its group, which is to be waited for.
func (q *queue) leave(j *job) (last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.group == nil {
		i := slices.Index(q.waiting, j)
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return false
	}
	j.group.left++
	if j.group.left < len(j.group.jobs) {
		return false
	}
	j.group.cancel()
	return true
}

// take takes the next group from the queue; nil: nobody waits.
func (q *queue) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for _, j := range q.waiting[:min(len(q.waiting), mostJobs)] {
		if size += j.bytes; n > 0 && size > mostShared {
			break
		}
		n++
	}
	if q.sent = n > 0; !q.sent {
		return nil
	}
	g := &group{jobs: slices.Clone(q.waiting[:n])}
	q.waiting = slices.Delete(q.waiting, 0, n)
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(g.jobs[0].ctx))
	for _, j := range g.jobs {
		j.group = g
	}
	// Groups of several processes lock runs in the same order, and do not wait for each other.
	slices.SortStableFunc(g.jobs, func(a, b *job) int {
		return cmp.Or(strings.Compare(a.Key.Namespace, b.Key.Namespace), strings.Compare(a.Key.Run, b.Key.Run))
	})
	return g
}

// send adds groups until nobody waits.
func (s *Store) send() {
	for g := s.queue.take(); g != nil; g = s.queue.take() {
		s.add(g)
		g.cancel()
	}
}

// add adds a group. If the server refuses it, nothing of it is done, and each job has a statement
// of its own: none fails, or waits, for what another does.
func (s *Store) add(g *group) {
	answers := make([]error, len(g.jobs))
	err := s.guarded(g.ctx, func(conn *pgx.Conn) error { return together(g.ctx, conn, g.jobs, answers) })
	for i, j := range g.jobs {
		switch {
		case err == nil:
			j.done <- answers[i]
		case undone(err):
			go func() { j.done <- s.guarded(j.ctx, j.alone) }()
		default:
			j.done <- err
		}
	}
}

// panicked is a panic of a function that Config.Configure has set, for those who wait.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

func (s *Store) guarded(ctx context.Context, what func(*pgx.Conn) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return s.on(ctx, what)
}

// undone reports whether an error is that of a statement, of which nothing is left.
func undone(err error) bool {
	said, ok := errors.AsType[*pgconn.PgError](err)
	return ok && said.SeverityUnlocalized == "ERROR"
}

// together adds jobs in one statement, and fills in the answer to each.
func together(ctx context.Context, conn *pgx.Conn, jobs []*job, answers []error) error {
	args, refused := make([]any, 0, len(jobs)*argsOfAppend), make([]*string, len(jobs))
	into := []any{nil}
	for i, j := range jobs {
		args, into = append(args, j.args()...), append(into, &refused[i])
	}
	if err := conn.QueryRow(ctx, appendGroup[len(jobs)], args...).Scan(into...); err != nil {
		return err
	}
	for i, text := range refused {
		answers[i] = jobs[i].answer(text)
	}
	return nil
}

// alone adds the job, however long it has to wait for others who change the run.
func (j *job) alone(conn *pgx.Conn) error {
	var refused *string
	if err := conn.QueryRow(j.ctx, appendOne, j.args()...).Scan(&refused); err != nil {
		return err
	}
	return j.answer(refused)
}

const argsOfAppend = 19

var (
	appendOne = `SELECT ` + callsOfAppend(1)

	// appendGroup are the statements that add so many batches. They give up soon where somebody
	// else keeps a run locked, so that the other runs go on.
	appendGroup = func() (texts [mostJobs + 1]string) {
		for n := range texts {
			texts[n] = `SELECT set_config('lock_timeout', '100ms', true), ` + callsOfAppend(n)
		}
		return texts
	}()
)

func callsOfAppend(n int) string {
	calls := make([]string, n)
	for i := range calls {
		args := make([]string, argsOfAppend)
		for k := range args {
			args[k] = "$" + strconv.Itoa(i*argsOfAppend+k+1)
		}
		calls[i] = "append_4(" + strings.Join(args, ", ") + ")"
	}
	return strings.Join(calls, ", ")
}
