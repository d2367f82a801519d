// Package checkpointtest checks that a store keeps the promises of checkpoint.Store.
//
//	func TestConformance(t *testing.T) {
//		checkpointtest.Test(t, func(t *testing.T) checkpoint.Store {
//			s, err := mine.Open(filepath.Join(t.TempDir(), "runs.db"))
//			require.NoError(t, err)
//			t.Cleanup(func() { s.Close() })
//			return s
//		})
//	}
//
// [Test] is the contract, promise by promise. [Model] drives the store beside a checkpoint.Memory,
// by random operations. [Faults] opens it anew, interrupts it and damages it, by means that a test
// of the store has.
//
// No check sees whether records outlive a crash of the machine; this is for the tests of the store.
package checkpointtest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// patience bounds each check, for stores that mind their context.
const patience = time.Minute

// Test checks a store in subtests, one for each promise. Each opens a store of its own, which has
// to be empty. Promises of an ability that the store lacks are skipped by name.
func Test(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { report(t, func(ctx context.Context) error { return c.run(ctx, open(t)) }) })
	}
}

// report makes a check, and says what it says.
func report(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := check(ctx)
	if without, ok := errors.AsType[lacking](err); ok {
		t.Skip(without)
	}
	if err != nil {
		t.Error(err)
	}
}

// A check returns an error that says which promise an empty store broke.
type check func(context.Context, checkpoint.Store) error

type namedCheck struct {
	name string
	run  check
}

var checks = append(scripts(), []namedCheck{
	{"from", from},
	{"no run id", noRunID},
	{"runs are apart", apart},
	{"bytes are kept", bytesKept},
	{"types are kept", types},
	{"large records", largeRecords},
	{"many records", manyRecords},
	{"slices are not kept", slicesNotKept},
	{"data are the caller's", dataOwned},
	{"headers", headers},
	{"headers are not kept", headersNotKept},

	{"one of many wins", oneWins},
	{"batches are whole", batchesWhole},
	{"taken over", takenOver},
	{"cancelled", cancelled},
	{"done context", doneContext},
	{"done while reading", doneWhileReading},
	{"break", breakOff},
	{"append while reading", appendWhileReading},
	{"deleted while reading", deletedWhileReading},

	{"a lease lasts", leaseLasts},
	{"one of many leases", oneLeases},
	{"inbox keeps", inboxKeeps},
	{"taken at once", takesAtOnce},

	{"list", list},
	{"lists of many fields", listFields},
	{"list by time", listUpdated},
	{"pages amid changes", pagingAmidChanges},
	{"limits of a list", limits},

	{"snapshot is kept", snapshotKept},
	{"snapshots at once", snapshotsAtOnce},
	{"ranges of values", valueRanges},
	{"value is kept", valueKept},
	{"ids of values", valueIDs},
	{"values at once", valuesAtOnce},

	{"delete many", deletesMany},
	{"vacuum", vacuum},
}...)

// lacking is the ability that a store has not, and that a check is about.
type lacking string

func (l lacking) Error() string { return "no " + string(l) }

// able returns an ability of a store.
func able[T any](s checkpoint.Store) (T, error) {
	a, ok := checkpoint.As[T](s)
	if !ok {
		return a, lacking(reflect.TypeFor[T]().Name())
	}
	return a, nil
}
