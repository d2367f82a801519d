package checkpointtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// fencesFirst refuses an epoch that has passed before it looks whether the records are there.
func fencesFirst(ctx context.Context, m *memory, b batch) error {
	if h, _ := m.Head(context.Background(), b.Key); b.Epoch < h.Epoch {
		return &checkpoint.Error{Kind: checkpoint.ErrFenced, Key: b.Key, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", h.Epoch, b.Epoch)}
	}
	return m.Append(ctx, b)
}

// looksAtEpochs looks at the epoch, and appends later.
func looksAtEpochs(ctx context.Context, m *memory, b batch) error {
	if err := fencesFirst(ctx, m, b); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	h, _ := m.Head(context.Background(), b.Key)
	b.Epoch = max(b.Epoch, h.Epoch)
	return m.Append(ctx, b)
}

// skipsOld leaves out the records of a batch that are there.
func skipsOld(ctx context.Context, m *memory, b batch) error {
	time.Sleep(time.Millisecond)
	h, _ := m.Head(ctx, b.Key)
	if n := len(b.Records); n > 0 && b.Records[0].Seq >= 1 && b.Records[n-1].Seq > h.Last {
		b.Records = slices.DeleteFunc(slices.Clone(b.Records), func(r record) bool { return r.Seq <= h.Last })
	}
	return m.Append(ctx, b)
}

// stopsHalfway appends a batch in two goes, between which it can be cancelled.
func stopsHalfway(ctx context.Context, m *memory, b batch) error {
	if len(b.Records) < 2 {
		return m.Append(ctx, b)
	}
	first, second := b, b
	first.Records, second.Records = b.Records[:1], b.Records[1:]
	if err := m.Append(ctx, first); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return m.Append(ctx, second)
}

// headLast appends the records, and what stands in the head a little later, unless it is cancelled.
func headLast(ctx context.Context, m *memory, b batch) error {
	first := b
	first.Header, first.Taken = &checkpoint.Header{}, nil
	err := m.Append(ctx, first)
	time.Sleep(time.Millisecond)
	if err != nil {
		return err
	}
	b.Records = nil
	return m.Append(ctx, b)
}

func brokenWriters() map[string]brokenStore {
	var appends atomic.Int64
	return map[string]brokenStore{
		"forgets writers": {changes(func(b *batch, _ checkpoint.Head) { b.Writer = fmt.Sprint(appends.Add(1)) }), []string{"retry", "cancelled", "retry after a lease", "many records"}},
		"knows no writers": {changes(func(b *batch, _ checkpoint.Head) { b.Writer = "anybody" }), []string{
			"another writer", "conflict", "one of many wins",
		}},
		"fences first": {flaws{append: fencesFirst}, []string{"retry after a lease"}},
		"fences none": {changes(func(b *batch, h checkpoint.Head) { b.Epoch = max(b.Epoch, h.Epoch) }), []string{
			"an epoch fences", "the epoch rises", "a lease fences", "taken over", "taken",
		}},
		"fences records": {changes(func(b *batch, h checkpoint.Head) {
			if len(b.Records) == 0 {
				b.Epoch = max(b.Epoch, h.Epoch)
			}
		}), []string{"an epoch fences", "a lease fences"}},
		"lets epochs lie": {changes(func(b *batch, h checkpoint.Head) {
			if len(b.Records) == 0 && b.Epoch > h.Epoch {
				b.Epoch = h.Epoch
			}
		}), []string{"the epoch rises"}},
		"small epochs":    {changes(func(b *batch, _ checkpoint.Head) { b.Epoch = int64(int32(b.Epoch)) }), []string{"the epoch rises"}},
		"looks at epochs": {flaws{append: looksAtEpochs}, []string{"taken over"}},
		"skips the old":   {flaws{append: skipsOld}, []string{"stale prefix"}},
		"stops halfway":   {flaws{append: stopsHalfway}, []string{"cancelled", "seen whole"}},
		"head last":       {flaws{append: headLast}, []string{"cancelled", "seen whole"}},
	}
}
