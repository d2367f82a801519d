package sqlitestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// What is written stands in a queue. Whoever comes first leads: begins a transaction, does in it
// all that stands in the queue by then, commits, and leaves the lead to the next one. So those who
// come while a transaction is on its way share the next, and one who comes alone waits for nobody.

const (
	mostJobs  = 256     // in one transaction
	mostBytes = 4 << 20 // in one transaction, unless a single job has more
)

// job is something to write.
type job struct {
	key   checkpoint.Key
	bytes int                 // about so many
	do    func(*writer) error // may be called again if a transaction failed. An error that is refused stands alone
	alone bool                // do begins and commits by itself

	since time.Time
	turn  chan bool // true: it is done; false: it leads
	err   error     // once it is done
}

type queue struct {
	mu      sync.Mutex
	waiting []*job
	led     bool // by the first of those who wait, or by one whose transaction is on its way
}

// write does a job, and returns when it is done, or when ctx is before it is begun.
func (s *Store) write(ctx context.Context, j *job) error {
	j.since, j.turn = time.Now(), make(chan bool, 1)
	if s.queue.join(j) {
		if done, err := s.queue.wait(ctx, j); err != nil {
			return s.fault(j.key, err)
		} else if done {
			return j.err
		}
	}
	s.lead(ctx, j)
	return j.err
}

// join reports whether there is somebody who leads already.
func (q *queue) join(j *job) (led bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	led, q.led = q.led, true
	return led
}

// wait returns when a job is done, or has to lead, or with the error of ctx if it was given up.
func (q *queue) wait(ctx context.Context, j *job) (done bool, err error) {
	select {
	case done = <-j.turn:
		return done, nil
	case <-ctx.Done():
	}
	if q.leave(j) {
		return false, ctx.Err()
	}
	return <-j.turn, nil // it is in a transaction by now
}

// leave takes a job out of the queue, unless it was begun, and gives the lead away if it has it.
func (q *queue) leave(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, j)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	select {
	case <-j.turn:
		q.pass()
	default:
	}
	return true
}

// pass leaves the lead to the first who waits. The mutex is held.
func (q *queue) pass() {
	q.led = len(q.waiting) > 0
	if q.led {
		q.waiting[0].turn <- false
	}
}

// take takes what is to be done in one transaction from the queue.
func (q *queue) take() (group []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for _, j := range q.waiting {
		bytes += j.bytes
		if n > 0 && (n == mostJobs || bytes > mostBytes || j.alone) {
			break
		}
		n++
		if j.alone {
			break
		}
	}
	group = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// lead does what stands in the queue, j first.
func (s *Store) lead(ctx context.Context, j *job) {
	var group []*job
	if err := s.mayBegin(ctx, j); err != nil {
		j.err = s.fault(j.key, err)
		group = s.queue.only(j)
	} else {
		group = s.queue.take()
		s.perform(group)
	}
	s.queue.mu.Lock()
	s.queue.pass()
	s.queue.mu.Unlock()
	for _, other := range group {
		if other != j {
			other.turn <- true
		}
	}
}

// only takes one job from the queue.
func (q *queue) only(j *job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, j); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return []*job{j}
}

// mayBegin begins a transaction, unless the job does so by itself.
func (s *Store) mayBegin(ctx context.Context, j *job) error {
	if j.alone {
		return nil
	}
	return s.begin(ctx, j.since.Add(s.patience))
}

// begin begins a transaction. While somebody else writes it tries again.
func (s *Store) begin(ctx context.Context, until time.Time) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 5*time.Millisecond) {
		err := s.writer.exec("BEGIN IMMEDIATE")
		if !busy(err) || time.Now().After(until) {
			return err
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
	}
}

// perform does the jobs of a group. If their transaction fails each has one of its own.
func (s *Store) perform(group []*job) {
	if j := group[0]; j.alone {
		if j.err = j.do(s.writer); j.err != nil {
			j.err = s.fault(j.key, j.err)
		}
		return
	}
	err := s.transact(group)
	if err == nil {
		return
	}
	for _, j := range group {
		if len(group) > 1 {
			if err = s.begin(context.Background(), time.Now().Add(s.patience)); err == nil {
				err = s.transact([]*job{j})
			}
		}
		if err != nil {
			j.err = s.fault(j.key, err)
		}
	}
}

// transact does jobs in the transaction that was begun, and commits it. An error is that of the
// transaction: nothing of it was done then, unless the commit itself failed.
func (s *Store) transact(group []*job) (err error) {
	defer func() {
		if err != nil {
			_ = s.writer.exec("ROLLBACK") // SQLite may have done so already
		}
	}()
	if err := s.mind(); err != nil {
		return err
	}
	bytes := 0
	for _, j := range group {
		var answer refused
		err := j.do(s.writer)
		switch {
		case errors.As(err, &answer):
			j.err = answer.error
		case err != nil:
			return err
		default:
			j.err = nil
			bytes += j.bytes
		}
	}
	if err := s.writer.exec("COMMIT"); err != nil {
		return err
	}
	s.commits.Add(1)
	s.drainer.grown(bytes + pagesOfJob*len(group))
	return nil
}
