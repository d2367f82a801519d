package checkpointtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// changes is a store that appends something else than it is given.
func changes(change func(*batch, checkpoint.Head)) flaws {
	return flaws{append: func(ctx context.Context, m *memory, b batch) error {
		h, _ := m.Head(context.Background(), b.Key)
		change(&b, h)
		return m.Append(ctx, b)
	}}
}

// rekeys takes several keys for one.
func rekeys(rekey func(key) key) flaws {
	return flaws{
		append: func(ctx context.Context, m *memory, b batch) error {
			b.Key = rekey(b.Key)
			return m.Append(ctx, b)
		},
		read: func(ctx context.Context, m *memory, k key, from int) records { return m.Read(ctx, rekey(k), from) },
	}
}

// sharesHeaders is a store that holds the header that it was handed, and hands it out.
func sharesHeaders() flaws {
	kept := map[*memory]*checkpoint.Header{} // for checks of one run and one goroutine
	return flaws{
		append: func(ctx context.Context, m *memory, b batch) error {
			if b.Header != nil {
				kept[m] = b.Header
			}
			return m.Append(ctx, b)
		},
		head: func(ctx context.Context, m *memory, k key) (checkpoint.Head, error) {
			h, err := m.Head(ctx, k)
			if kept[m] != nil {
				h.Header = *kept[m]
			}
			return h, err
		},
	}
}

func brokenHeads() map[string]brokenStore {
	return map[string]brokenStore{
		"joins keys": {rekeys(func(k key) key {
			return key{Run: strings.TrimPrefix(k.Namespace+"/"+k.Run, "/")}
		}), []string{"runs are apart"}},
		"ignores namespaces": {rekeys(func(k key) key { return key{Run: k.Run} }), []string{"runs are apart"}},
		"drops types": {changes(func(b *batch, _ checkpoint.Head) {
			b.Records = slices.Clone(b.Records)
			for i := range b.Records {
				b.Records[i].Type = strings.ToLower(b.Records[i].Type)
			}
		}), []string{"types are kept"}},
		"takes few": {flaws{append: func(ctx context.Context, m *memory, b batch) error {
			if len(b.Records) > 1<<13 {
				return errors.New("too many variables")
			}
			return m.Append(ctx, b)
		}}, []string{"many records"}},
		"clears headers": {changes(func(b *batch, h checkpoint.Head) {
			if b.Header == nil {
				b.Header = &checkpoint.Header{Status: h.Header.Status}
			}
		}), []string{"headers"}},
		"trims labels": {changes(func(b *batch, _ checkpoint.Head) {
			if b.Header != nil && b.Header.Labels["a.b"] != "" {
				header := *b.Header
				header.Labels = map[string]string{"a": "b"}
				b.Header = &header
			}
		}), []string{"headers"}},
		"dates of seconds": {changes(func(b *batch, _ checkpoint.Head) {
			if b.Header != nil {
				header := *b.Header
				header.Due = header.Due.Truncate(time.Second)
				b.Header = &header
			}
		}), []string{"headers"}},
		"needs records": {flaws{append: func(ctx context.Context, m *memory, b batch) error {
			if _, err := m.Head(ctx, b.Key); err == nil && len(b.Records) == 0 {
				return nil
			}
			return m.Append(ctx, b)
		}}, []string{"head alone", "the epoch rises"}},
		"finds heads": {flaws{head: func(ctx context.Context, m *memory, k key) (checkpoint.Head, error) {
			h, err := m.Head(ctx, k)
			if errors.Is(err, checkpoint.ErrNotFound) {
				return checkpoint.Head{Key: k}, nil
			}
			return h, err
		}}, []string{"heads are apart"}},
		"shares headers": {sharesHeaders(), []string{"headers"}},
		"heads whenever": {flaws{head: func(_ context.Context, m *memory, k key) (checkpoint.Head, error) {
			return m.Head(context.Background(), k)
		}}, []string{"done context"}},
		"leases whenever": {flaws{lease: func(_ context.Context, m *memory, k key, w string, d time.Duration) (checkpoint.Head, error) {
			return m.Lease(context.Background(), k, w, d)
		}}, []string{"done context"}},
	}
}
