package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/prove"
)

func init() { roles["append"] = appendForever }

// appendForever is the process that appends steps to eight runs until the power goes.
func appendForever(ctx context.Context, p *plan) error {
	store, _, err := openStore(ctx, p.Store)
	if err != nil {
		return err
	}
	acks, err := openWitness(p.Dir, ofAcks, p.Process)
	if err != nil {
		return err
	}
	noted := &acknowledged{Store: store, acks: acks}
	errs := make(chan error)
	for i := range slots {
		go func() { errs <- appendSteps(ctx, noted, fmt.Sprint("r", i)) }()
	}
	<-errs // the disk does not answer any more
	select {}
}

func appendSteps(ctx context.Context, store checkpoint.Store, run string) error {
	head, err := store.Head(ctx, checkpoint.Key{Run: run})
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	for seq := head.Last + 1; ; seq++ {
		b := checkpoint.Batch{
			Key: checkpoint.Key{Run: run}, Writer: fmt.Sprint("writer-", seq), Epoch: head.Epoch + 1,
			Records: []checkpoint.Record{{Seq: seq, Type: "step", Data: []byte(strings.Repeat(fmt.Sprint(run, seq), 1+seq%100))}},
		}
		if seq == 1 {
			b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning}
		}
		if err := store.Append(ctx, b); err != nil {
			return err
		}
	}
}

// powerCuts has processes append to a store on a lossy disk while the power goes that many times.
// It returns how many steps were acknowledged, and how many of them were lost. What is there has to
// be whole and without gaps in any case.
func powerCuts(t *testing.T, kind string, cuts int, random *rand.Rand) (steps, lost int) {
	t.Helper()
	disk := &lossyDisk{kept: map[string][]byte{}}
	dir, mounted := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(mounted, 0o700))
	l := newLedger(dir)
	for cut := range cuts {
		end := disk.mount(t, mounted)
		t.Cleanup(end)
		p := plan{Role: "append", Store: kind + ":" + filepath.Join(mounted, "runs.db"), Dir: dir, Process: cut + 1}
		writer := start(t, p)
		require.Eventually(t, func() bool {
			info, err := os.Stat(witnessPath(dir, ofAcks, p.Process))
			return err == nil && info.Size() > 0
		}, time.Minute, time.Millisecond, "nothing was written")
		time.Sleep(time.Duration(random.Int64N(int64(60 * time.Millisecond))))
		kept := disk.cut()
		writer.kill()
		end()
		l.add(t, p.Process)

		left := filepath.Join(t.TempDir(), "runs.db") // what another computer finds on the disk
		for name, data := range kept {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(left), name), data, 0o600))
		}
		store, closer, err := openStore(t.Context(), "sqlite:"+left)
		require.NoError(t, err)
		for run, places := range l.acks {
			n := 0
			for r, err := range store.Read(t.Context(), checkpoint.Key{Run: run}, 1) {
				if errors.Is(err, checkpoint.ErrNotFound) {
					break
				}
				require.NoError(t, err)
				n++
				require.Equal(t, n, r.Seq)
				if sum, ok := places[n]; ok {
					require.Equal(t, sum, sumOf(&r))
				}
			}
			for seq := range places {
				if seq > n {
					delete(places, seq)
					lost++
				}
			}
		}
		require.NoError(t, closer.Close())
	}
	for _, places := range l.acks {
		steps += len(places)
	}
	return steps + lost, lost
}

// A disk loses at each loss of power what was not flushed. With Full no acknowledged step is lost
// in fifteen of them. With Normal some are, or the disk of this test loses nothing, and proves
// nothing.
func TestLossyDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it needs root and /dev/fuse")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("it needs root and /dev/fuse")
	}
	random := rand.New(rand.NewPCG(seedOf(t), 0)) //nolint:gosec // a seed is what is wanted
	began, cuts := time.Now(), prove.DepthOr(8, 15)
	steps, lost := powerCuts(t, "sqlite", cuts, random)
	t.Logf("Full, %v: %d cuts, %d acknowledged steps, %d lost", time.Since(began).Round(time.Second), cuts, steps, lost)
	require.Zero(t, lost)
	steps, lost = powerCuts(t, "sqlite-normal", 5, random)
	t.Logf("Normal: 5 cuts, %d acknowledged steps, %d lost", steps, lost)
	require.Positive(t, lost, "the disk lost nothing: then it proves nothing for Full either")
}
