package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// A journal is appended to, read from the start, and refuses a second writer.
func ExampleMemory() {
	ctx := context.Background()
	var store checkpoint.Memory
	key := checkpoint.Key{Run: "run-1"}
	record := func(seq int, kind string) []checkpoint.Record {
		return []checkpoint.Record{{Seq: seq, Type: kind, Data: []byte(`{}`)}}
	}
	running := &checkpoint.Header{Status: checkpoint.StatusRunning}
	_ = store.Append(ctx, checkpoint.Batch{Key: key, Writer: "one", Epoch: 1, Header: running, Records: record(1, "start")})
	_ = store.Append(ctx, checkpoint.Batch{Key: key, Writer: "one", Epoch: 1, Records: record(2, "answer")})

	err := store.Append(ctx, checkpoint.Batch{Key: key, Writer: "two", Epoch: 1, Records: record(2, "stop")})
	fmt.Println(errors.Is(err, checkpoint.ErrConflict))

	for record, err := range store.Read(ctx, key, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(record.Seq, record.Type)
	}
	// Output:
	// true
	// 1 start
	// 2 answer
}

// Runs that ended a month ago are deleted, those that wait after three, and of each user's runs
// that ended all but the newest thousand.
func ExamplePrune() {
	ctx, store := context.Background(), new(checkpoint.Memory)
	n, err := checkpoint.Prune(ctx, store, checkpoint.Retention{
		All: true, Ended: 30 * 24 * time.Hour, Waiting: 90 * 24 * time.Hour, Newest: 1000, By: "user",
	})
	fmt.Println(n, err)
	// Output: 0 <nil>
}
