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

// All writes go through a queue of jobs. The call whose job comes first leads: it begins a
// transaction, does in it all jobs that are in the queue by then, commits, and passes the lead to
// the next call. So calls that come during a transaction share the next one, and a call that comes
// alone waits for nobody.

const (
	mostJobs  = 256     // in one transaction
	mostBytes = 4 << 20 // in one transaction, unless one job alone has more
)

// job is something to write.
type job struct {
	key   checkpoint.Key
	bytes int                 // that the job writes, about
	do    func(*writer) error // called again if its transaction failed; an error of type refused fails this job alone
	alone bool                // do begins and commits its own transaction

	since time.Time
	turn  chan bool // true: the job is done; false: its call leads
	err   error     // of the job, once it is done
}

type queue struct {
	mu      sync.Mutex
	waiting []*job
	led     bool // some call leads
}

// write returns when a job is done, or when ctx is done before the job has begun.
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

// join adds a job to the queue, and reports whether another call leads already.
func (q *queue) join(j *job) (led bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	led, q.led = q.led, true
	return led
}

// wait returns when a job is done, or when its call must lead; with the error of ctx if the job was
// given up.
func (q *queue) wait(ctx context.Context, j *job) (done bool, err error) {
	select {
	case done = <-j.turn:
		return done, nil
	case <-ctx.Done():
	}
	if q.leave(j) {
		return false, ctx.Err()
	}
	return <-j.turn, nil // the job is in a transaction by now
}

// leave removes a job from the queue, unless it has begun, and passes the lead on if the call has
// it.
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

// pass gives the lead to the first call that waits. The caller holds the mutex.
func (q *queue) pass() {
	q.led = len(q.waiting) > 0
	if q.led {
		q.waiting[0].turn <- false
	}
}

// take removes the jobs of one transaction from the queue.
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

// lead does the jobs in the queue, j first, and passes the lead on.
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

// only removes one job from the queue.
func (q *queue) only(j *job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, j); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return []*job{j}
}

// mayBegin begins a transaction, unless the job begins its own.
func (s *Store) mayBegin(ctx context.Context, j *job) error {
	if j.alone {
		return nil
	}
	return s.begin(ctx, j.since.Add(s.patience))
}

// begin begins a transaction. While another process writes, it tries again.
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

// perform does the jobs of a group in one transaction. If the transaction fails, each job gets a
// transaction of its own.
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

// transact does jobs in the transaction that was begun, and commits it. After an error nothing of
// the transaction is stored, unless the commit itself failed.
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
