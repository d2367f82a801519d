package checkpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
)

// A journal is appended to, read from the start, and refuses a second writer.
func ExampleMemory() {
	ctx := context.Background()
	var store checkpoint.Memory
	_ = store.Append(ctx, "run-1", checkpoint.Record{Seq: 1, Data: []byte(`{"type":"start"}`)})
	_ = store.Append(ctx, "run-1", checkpoint.Record{Seq: 2, Data: []byte(`{"type":"answer"}`)})

	err := store.Append(ctx, "run-1", checkpoint.Record{Seq: 2, Data: []byte(`{"type":"stop"}`)})
	fmt.Println(errors.Is(err, checkpoint.ErrConflict))

	for record, err := range store.Read(ctx, "run-1", 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(record.Seq, string(record.Data))
	}
	// Output:
	// true
	// 1 {"type":"start"}
	// 2 {"type":"answer"}
}
