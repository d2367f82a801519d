package checkpointtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// Operation is what a client asked of a run of a store, and was told.
type Operation struct {
	Client       int
	Began, Ended time.Duration // since the first one began; it took effect between the two, or never
	asked        string        // a method
	batch        checkpoint.Batch
	writer       string
	lease        time.Duration
	told         error // one of those of package checkpoint, nil, or errUnclear
	head         checkpoint.Head
	chain        string
}

// errUnclear is told where all may have been done, or nothing.
var errUnclear = errors.New("unclear")

// String says what was asked and told.
func (o Operation) String() string {
	what := o.asked
	switch o.asked {
	case "Append":
		what += fmt.Sprintf(" of records %s by %q in epoch %d, lease %s", places(o.batch.Records), o.batch.Writer, o.batch.Epoch, o.batch.Lease)
	case "Lease":
		what += fmt.Sprintf(" of %q for %s", o.writer, o.lease)
	}
	return fmt.Sprintf("client %d, %s to %s: %s: %s; last %d, epoch %d, lease of %q, records %q",
		o.Client, o.Began, o.Ended, what, kind(o.told), o.head.Last, o.head.Epoch, o.head.Lease.Writer, o.chain)
}

// Contend has clients contend for a run, which there must not be yet: each opens it again and again
// to go on where it stands, with Append, Read, Head and Lease, and some of its Appends are
// cancelled. It returns all that they asked and were told, for a checker of linearizability such as
// porcupine: the history is right if its operations have an order in which each took effect between
// its beginning and its end, as [Standing.After] says.
//
// The seed makes what clients ask, but not when. An error is one that the contract does not know.
func Contend(ctx context.Context, s checkpoint.Store, key checkpoint.Key, clients, steps int, seed uint64) ([]Operation, error) {
	var mu sync.Mutex
	var history []Operation
	errs := make([]error, clients)
	began := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := &client{s: s, key: key, id: i, began: began, random: rand.New(rand.NewPCG(seed, uint64(i)))}
			c.leaser, _ = checkpoint.As[checkpoint.Leaser](s)
			errs[i] = c.run(ctx, steps)
			mu.Lock()
			defer mu.Unlock()
			history = append(history, c.history...)
		})
	}
	all.Wait()
	end := time.Since(began)
	for i := range history {
		if history[i].told == errUnclear { //nolint:errorlint // it is never wrapped
			history[i].Ended = end + 1 // it may take effect at any time
		}
	}
	slices.SortFunc(history, func(a, b Operation) int { return cmp.Compare(a.Began, b.Began) })
	return history, errors.Join(errs...)
}

// client is one of those who contend for a run.
type client struct {
	s       checkpoint.Store
	leaser  checkpoint.Leaser // nil: there is none
	key     checkpoint.Key
	id      int
	opened  int
	began   time.Time
	random  *rand.Rand
	history []Operation
}

// add has an operation done, and keeps it.
func (c *client) add(op Operation, do func(*Operation) error) (*Operation, error) {
	time.Sleep(time.Duration(c.random.IntN(100)) * time.Microsecond) // the others have their turns
	op.Client, op.Began = c.id, time.Since(c.began)
	err := do(&op)
	op.Ended = time.Since(c.began)
	var unknown error
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) && op.asked == "Append":
		op.told = errUnclear
	default:
		for _, known := range []error{checkpoint.ErrFenced, checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrLeased} {
			if op.told == nil && errors.Is(err, known) {
				op.told = known
			}
		}
		if op.told == nil {
			unknown = fmt.Errorf("%s: %w", op.asked, err)
		}
	}
	if unknown == nil {
		c.history = append(c.history, op)
	}
	return &op, unknown
}

// run opens the run and goes on, again and again.
func (c *client) run(ctx context.Context, steps int) error {
	for len(c.history) < steps {
		c.opened++
		writer := fmt.Sprintf("%c%d", 'a'+c.id, c.opened)
		head, err := c.open(ctx, writer)
		if err == nil {
			err = c.goOn(ctx, writer, head)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open finds out how the run stands: it takes the lease, or looks.
func (c *client) open(ctx context.Context, writer string) (checkpoint.Head, error) {
	if c.leaser != nil && c.random.IntN(2) == 0 {
		op, err := c.lease(ctx, writer, time.Hour)
		if err != nil || op.told == nil {
			return op.head, err
		}
	}
	if c.random.IntN(3) == 0 {
		if _, err := c.add(Operation{asked: "Read"}, func(op *Operation) (err error) {
			op.chain, err = c.read(ctx)
			return err
		}); err != nil {
			return checkpoint.Head{}, err
		}
	}
	op, err := c.add(Operation{asked: "Head"}, func(op *Operation) (err error) {
		op.head, err = c.s.Head(ctx, c.key)
		return err
	})
	op.head.Epoch++
	return op.head, err
}

func (c *client) lease(ctx context.Context, writer string, d time.Duration) (*Operation, error) {
	return c.add(Operation{asked: "Lease", writer: writer, lease: d}, func(op *Operation) (err error) {
		op.head, err = c.leaser.Lease(ctx, c.key, writer, d)
		return err
	})
}

// read returns who has written each record.
func (c *client) read(ctx context.Context) (string, error) {
	records, err := read(ctx, c.s, c.key, 1)
	var chain strings.Builder
	for _, r := range records {
		chain.WriteString(r.Type + " ")
	}
	return chain.String(), err
}

// goOn appends to the run until it is refused, or has had enough.
func (c *client) goOn(ctx context.Context, writer string, head checkpoint.Head) error {
	for range 1 + c.random.IntN(4) {
		b := by(batch(c.key, numbered(head.Last+1, c.random.IntN(3))...), writer, head.Epoch)
		for i := range b.Records {
			b.Records[i].Type = writer
		}
		if c.leaser != nil {
			b.Lease = []time.Duration{0, time.Hour, -1, -1}[c.random.IntN(4)]
		}
		told, err := c.append(ctx, b)
		if err != nil || told != nil {
			return err
		}
		head.Last += len(b.Records)
		if c.leaser == nil || c.random.IntN(3) > 0 {
			continue
		}
		op, err := c.lease(ctx, writer, time.Hour) // the heartbeat, if it has the lease
		if err != nil || op.told != nil {
			return err
		}
		head.Epoch = op.head.Epoch
	}
	if c.leaser != nil && c.random.IntN(4) > 0 {
		_, err := c.lease(ctx, writer, 0)
		return err
	}
	return nil
}

// append appends a batch; where the outcome is unclear, again, and sometimes where it is not, as if
// the answer had been lost.
func (c *client) append(ctx context.Context, b checkpoint.Batch) (told, err error) {
	for try := 0; ; try++ {
		op, err := c.add(Operation{asked: "Append", batch: b}, func(*Operation) error {
			if try > 0 || c.random.IntN(8) > 0 {
				return c.s.Append(ctx, b)
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			timer := time.AfterFunc(time.Duration(c.random.IntN(200))*time.Microsecond, cancel)
			defer timer.Stop()
			return c.s.Append(ctx, b)
		})
		lost := op.told == nil && c.random.IntN(4) == 0
		if err != nil || op.told != errUnclear && !lost { //nolint:errorlint // it is never wrapped
			return op.told, err
		}
	}
}
