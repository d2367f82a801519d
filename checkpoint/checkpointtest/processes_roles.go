package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// content is the data of a record: it shows whether the record is whole, and where it belongs.
func content(run string, seq int) string {
	return strings.Repeat(fmt.Sprintf("%s:%d ", run, seq), 1+seq*37%400)
}

// contentBatch appends one record with its content.
func contentBatch(run string, seq int, writer string, epoch int64) checkpoint.Batch {
	b := by(batch(named(run), journal(seq, content(run, seq))...), writer, epoch)
	if seq > 1 {
		b.Header = nil
	}
	return b
}

// runsOfProcess is how many runs a process writes at the same time.
const runsOfProcess = 8

// appendUntilKilled appends to several runs at the same time, and prints the run and the place of
// each record that was acknowledged.
func appendUntilKilled(ctx context.Context, s checkpoint.Store, writer string) error {
	failed := make(chan error)
	for i := range runsOfProcess {
		go func() { failed <- appendOn(ctx, s, fmt.Sprint("run-", i), writer) }()
	}
	return <-failed
}

// appendOn appends to a run, from where the run stands, until an Append fails.
func appendOn(ctx context.Context, s checkpoint.Store, run, writer string) error {
	head, err := s.Head(ctx, named(run))
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	first := head.Last + 1
	for seq := first; ; seq++ {
		if err := putBefore(ctx, s, run, seq); err != nil {
			return err
		}
		err := s.Append(ctx, contentBatch(run, seq, writer, head.Epoch+1))
		if seq == first && errors.Is(err, checkpoint.ErrConflict) {
			// The Append that the killed process sent last may have been carried out after Head.
			if head, err = s.Head(ctx, named(run)); err == nil && head.Last != seq {
				err = fmt.Errorf("run %s: record %d was refused as a conflict, but the last record is %d", run, seq, head.Last)
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, run, seq); err != nil {
			return err
		}
	}
}

// valued says which records have a value, which is put before them.
func valued(seq int) bool { return seq%8 == 0 }

// putBefore puts the value of a record, if it has one.
func putBefore(ctx context.Context, s checkpoint.Store, run string, seq int) error {
	v, ok := checkpoint.As[checkpoint.ValueStore](s)
	if !ok || !valued(seq) {
		return nil
	}
	id := fmt.Sprint("of-", seq)
	return v.PutValue(ctx, named(run), id, valueOf(run+id, 100_000))
}

// expectPut reads the values of a run: those of its records are there, and
// whoever was killed while it put one has left all of it or nothing.
func expectPut(ctx context.Context, s checkpoint.Store, run string) error {
	v, ok := checkpoint.As[checkpoint.ValueStore](s)
	if !ok {
		return nil
	}
	head, err := s.Head(ctx, named(run))
	if err != nil {
		return err
	}
	list, err := v.Values(ctx, named(run))
	if err != nil {
		return err
	}
	records, whole := head.Last, 0
	for _, value := range list {
		if err := expectValue(ctx, v, named(run), value.ID, valueOf(run+value.ID, 100_000), 0, 1<<20); err != nil {
			return err
		}
		if seq, err := strconv.Atoi(strings.TrimPrefix(value.ID, "of-")); err == nil && seq <= records {
			whole++
		}
	}
	if whole != records/8 {
		return fmt.Errorf("run %s: %d records have %d values, want %d", run, records, whole, records/8)
	}
	return nil
}

// killed kills processes, one after the other, while they write. At the end it reads what is
// stored.
func killed(ctx context.Context, p *sharedPlace, kills int) error {
	acknowledged := map[string]int{}
	for i := range kills {
		started, err := p.start(ctx, "append until killed", fmt.Sprint("writer-", i))
		if err != nil {
			return err
		}
		if err := started.killAfter(rand.N(60*time.Millisecond), func(line string) {
			run, number, _ := strings.Cut(line, " ")
			if seq, err := strconv.Atoi(number); err == nil {
				acknowledged[run] = max(acknowledged[run], seq)
			}
		}); err != nil {
			return err
		}
	}
	if len(acknowledged) == 0 {
		return errors.New("no process wrote anything: the calling test must call Processes first")
	}
	return p.use(func(s checkpoint.Store) error {
		var errs []error
		for run, last := range acknowledged {
			errs = append(errs, expectContent(ctx, s, run, last, kills), expectPut(ctx, s, run))
		}
		return errors.Join(errs...)
	})
}

// expectContent reads a run whose records were acknowledged up to a place. Each kill may have left
// one more record, which was stored and not acknowledged.
func expectContent(ctx context.Context, s checkpoint.Store, run string, acknowledged, kills int) error {
	records, err := read(ctx, s, named(run), 1)
	if err != nil {
		return fmt.Errorf("run %s: %d records were acknowledged; read: after %d records: %w", run, acknowledged, len(records), err)
	}
	for i, r := range records {
		if r.Seq != i+1 || string(r.Data) != content(run, i+1) {
			return fmt.Errorf("run %s: at %d: got record %d, %.80q; want %.80q", run, i+1, r.Seq, r.Data, content(run, i+1))
		}
	}
	if n := len(records); n < acknowledged || n > acknowledged+kills {
		return fmt.Errorf("run %s: %d records were acknowledged and %d processes killed, but %d records are stored", run, acknowledged, kills, n)
	}
	return nil
}

const (
	processesThatContend = 4
	recordsOfProcess     = 60 // that a process appends to each of its runs
	ownRuns              = 4  // of a process that contends
	contestedRun         = "contested"
)

// contendAsProcess appends to runs of its own, and to one that other processes append to as well.
func contendAsProcess(ctx context.Context, s checkpoint.Store, writer string) error {
	var all sync.WaitGroup
	errs := make([]error, ownRuns+1)
	for i := range ownRuns {
		all.Go(func() {
			for seq := 1; seq <= recordsOfProcess && errs[i] == nil; seq++ {
				errs[i] = s.Append(ctx, contentBatch(fmt.Sprint(writer, "-", i), seq, writer, 1))
			}
		})
	}
	all.Go(func() { errs[ownRuns] = winPlaces(ctx, s, writer) })
	all.Wait()
	return errors.Join(errs...)
}

// winPlaces appends to the contested run until it has won as many places as it should.
func winPlaces(ctx context.Context, s checkpoint.Store, writer string) error {
	for won := 0; won < recordsOfProcess; {
		head, err := s.Head(ctx, named(contestedRun))
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		switch err := s.Append(ctx, by(batch(named(contestedRun), journal(head.Last+1, writer)...), writer, head.Epoch)); {
		case err == nil:
			won++
		case !errors.Is(err, checkpoint.ErrConflict):
			return err
		}
	}
	return nil
}

// contending starts processes that open the place at the same time, and reads what they have
// stored.
func contending(ctx context.Context, p *sharedPlace) error {
	var started []*process
	var errs []error
	for i := range processesThatContend {
		one, err := p.start(ctx, "contend", fmt.Sprint("p", i))
		if err != nil {
			errs = append(errs, err)
			break
		}
		started = append(started, one)
	}
	for _, one := range started {
		errs = append(errs, one.end())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.use(func(s checkpoint.Store) error {
		for i := range processesThatContend {
			for j := range ownRuns {
				if err := expectContent(ctx, s, fmt.Sprintf("p%d-%d", i, j), recordsOfProcess, 0); err != nil {
					return err
				}
			}
		}
		return expectWinners(ctx, s)
	})
}

// expectWinners reads the contested run: each process has won as many places as it was told.
func expectWinners(ctx context.Context, s checkpoint.Store) error {
	records, err := read(ctx, s, named(contestedRun), 1)
	if err != nil {
		return fmt.Errorf("run %s: read: after %d records: %w", contestedRun, len(records), err)
	}
	won := map[string]int{}
	for i, r := range records {
		if r.Seq != i+1 {
			return fmt.Errorf("run %s: at %d: got record %d", contestedRun, i+1, r.Seq)
		}
		won[string(r.Data)]++
	}
	for i := range processesThatContend {
		if name := fmt.Sprint("p", i); won[name] != recordsOfProcess {
			return fmt.Errorf("run %s: process %s was told that it appended %d records, but %d are stored", contestedRun, name, recordsOfProcess, won[name])
		}
	}
	if want := processesThatContend * recordsOfProcess; len(records) != want {
		return fmt.Errorf("run %s: %d records are stored, want %d", contestedRun, len(records), want)
	}
	return nil
}
