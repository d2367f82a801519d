package checkpoint_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

func ExampleError() {
	// as any store returns it
	err := error(&checkpoint.Error{Store: "sqlitestore", Place: "runs.db", Key: checkpoint.Key{Run: "r"}, Kind: checkpoint.ErrFull})

	if errors.Is(err, checkpoint.ErrFull) {
		failure, _ := errors.AsType[*checkpoint.Error](err)
		fmt.Println("make room for", failure.Place)
	}
	// Output: make room for runs.db
}

// An error of any store is recognized by its kind, and says who failed where, about what, why, and
// what to do.
func TestError(t *testing.T) {
	inner := errors.New("SQLSTATE 53100")
	err := error(&checkpoint.Error{
		Store: "pgstore", Place: `db:5432, database "runs"`, Key: checkpoint.Key{Namespace: "n", Run: "r"}, Record: 7,
		Kind: checkpoint.ErrFull, Problem: "no room for the record", Err: inner,
	})
	require.EqualError(t, err, `pgstore: db:5432, database "runs": run "n/r": record 7: the disk is full: no room for the record: SQLSTATE 53100 `+
		`(make room; nothing that was acknowledged is lost, and the call that failed may be made again)`)
	require.ErrorIs(t, err, checkpoint.ErrFull)
	require.ErrorIs(t, err, inner)
	require.NotErrorIs(t, err, checkpoint.ErrBusy)
	failure, ok := errors.AsType[*checkpoint.Error](fmt.Errorf("journal: %w", err))
	require.True(t, ok)
	require.Equal(t, 7, failure.Record)
}

// The advice of the store comes before the advice of its kind. A kind of the store alone has the
// text that the store gave it.
func TestError_ofOneStore(t *testing.T) {
	moved := errors.New("the file was moved")
	err := &checkpoint.Error{Store: "sqlitestore", Place: "p", Kind: moved, Advice: "put it back"}
	require.EqualError(t, err, "sqlitestore: p: the file was moved (put it back)")
	require.ErrorIs(t, err, moved)
	err = &checkpoint.Error{Store: "sqlitestore", Place: "p", Kind: checkpoint.ErrBusy, Advice: "allow more time"}
	require.EqualError(t, err, "sqlitestore: p: the store is busy (allow more time)")
	require.EqualError(t, &checkpoint.Error{Store: "mine", Place: "p", Kind: checkpoint.ErrClosed}, "mine: p: the store is closed")
	require.EqualError(t, &checkpoint.Error{Store: "mine", Place: "p"}, "mine: p: the store failed")
	require.Empty(t, (&checkpoint.Error{}).Unwrap())
}

// The id of a run may be long; the text of the error stays short.
func TestError_longID(t *testing.T) {
	err := &checkpoint.Error{Store: "mine", Place: "p", Key: checkpoint.Key{Run: strings.Repeat("x", 500)}, Kind: checkpoint.ErrClosed}
	require.Less(t, len(err.Error()), 200)
}
