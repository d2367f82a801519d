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
// [Test] is the contract, promise by promise; what is asked of the store is asked of a
// checkpoint.Memory too, and what a caller hands over or gets is written over. [Model] does so by
// random operations. [Faults] opens it anew, interrupts it and damages it, by means that a test
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
// to be empty. Promises of an ability that the store lacks are skipped by name. A store may refuse
// by [checkpoint.ErrTooLarge] a batch of a mebibyte, or of 10,000 records.
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
	{"runs are apart", beside(apart)},
	{"no run id", beside(noRunID)},
	{"data are kept", beside(dataKept)},
	{"types are kept", beside(typesKept)},
	{"headers", beside(headers)},
	{"many records", beside(manyRecords)},
	{"from", beside(from)},
	{"inboxes", beside(inboxes)},
	{"ranges of values", beside(valueRanges)},
	{"ids of values", beside(valueIDs)},
	{"delete many", beside(deletesMany)},
	{"vacuum", beside(vacuum)},
	{"list", beside(list)},
	{"list by time", listUpdated},
	{"pages amid changes", pagingAmidChanges},
	{"limits of a list", limits},

	{"done context", doneContext},
	{"done while reading", doneWhileReading},
	{"break", breakOff},
	{"append while reading", appendWhileReading},
	{"deleted while reading", deletedWhileReading},

	{"one of many wins", oneWins},
	{"taken over", takenOver},
	{"one of many leases", oneLeases},
	{"seen whole", seenWhole},
	{"cancelled", cancelled},
	{"a lease lasts", leaseLasts},
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
