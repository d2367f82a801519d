package checkpointtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

func brokenJournals() map[string]brokenStore {
	return map[string]brokenStore{
		"renumbers":       {flaws{append: renumbers}, []string{"conflict", "conflict within a batch", "delete"}},
		"appends in part": {flaws{append: appendsInPart}, []string{"conflict within a batch"}},
		"looks, leaps":    {flaws{append: looksThenLeaps}, []string{"one of many wins"}},
		"wraps nothing":   {flaws{append: wrapsNothing}, []string{"conflict", "done context", "no records", "no run id", "one of many wins"}},
		"compacts JSON": {edits(func(data string) string {
			var b bytes.Buffer
			if json.Compact(&b, []byte(data)) != nil {
				return data
			}
			return b.String()
		}), []string{"data are kept"}},
		"ends at NUL":     {edits(func(data string) string { before, _, _ := strings.Cut(data, "\x00"); return before }), []string{"data are kept"}},
		"keeps UTF-8":     {edits(func(data string) string { return strings.ToValidUTF8(data, "?") }), []string{"data are kept"}},
		"cuts data":       {edits(func(data string) string { return data[:min(len(data), 1<<16)] }), []string{"data are kept"}},
		"lower-case ids":  {renames(strings.ToLower), []string{"runs are apart", "no run id"}},
		"trims ids":       {renames(strings.TrimSpace), []string{"runs are apart"}},
		"cuts ids":        {renames(func(id string) string { return id[:min(len(id), 255)] }), []string{"runs are apart"}},
		"takes any id":    {renames(hashed), []string{"no run id"}},
		"repairs ids":     {renames(repaired), []string{"no run id"}},
		"shares a buffer": {flaws{read: sharesBuffer}, []string{"order", "from"}},
		"reads all": {flaws{read: func(ctx context.Context, m *memory, key checkpoint.Key, _ int) records {
			return m.Read(ctx, key, 1)
		}}, []string{"from"}},
		"reads backwards": {flaws{read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			n := last(m, key)
			return filtered(m.Read(ctx, key, from), func(r record) record { r.Seq = n + 1 - r.Seq; return r })
		}}, []string{"order", "from"}},
		"finds anything": {flaws{read: findsAnything}, []string{"no such run", "no records", "no run id"}},
		"reads anew":     {flaws{read: readsAnew}, []string{"deleted while reading"}},
		"reads once":     {flaws{read: readsOnce}, []string{"break"}},
		"waits for ever": {flaws{
			append: func(_ context.Context, m *memory, b checkpoint.Batch) error {
				return m.Append(context.Background(), b)
			},
			read: func(_ context.Context, m *memory, key checkpoint.Key, from int) records {
				return m.Read(context.Background(), key, from)
			},
		}, []string{"done context", "done while reading"}},
		"locks":          {locks(), []string{"append while reading"}},
		"forgets all":    {flaws{delete: forgetsAll}, []string{"delete"}},
		"forgets none":   {flaws{delete: func(context.Context, *memory, []checkpoint.Key) error { return nil }}, []string{"delete"}},
		"keeps slices":   {keepsSlices(false), []string{"data are kept"}},
		"shares slices":  {keepsSlices(true), []string{"data are kept"}},
		"none whatever":  {},
		"halves batches": {flaws{append: halves}, []string{"seen whole"}},
	}
}

func forgetsAll(ctx context.Context, m *memory, _ []checkpoint.Key) error {
	all, err := m.List(ctx, checkpoint.Query{All: true, Limit: 1000})
	for _, h := range all.Heads {
		err = errors.Join(err, m.Delete(ctx, h.Key))
	}
	return err
}
