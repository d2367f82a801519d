package checkpointtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

type leases = func(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error)

// over reports whether another has had a lease that is over, or if live is true, has one.
func over(m *memory, k key, writer string, live bool) (string, bool) {
	h, _ := m.Head(context.Background(), k)
	return h.Lease.Writer, h.Lease.Writer != "" && h.Lease.Writer != writer && h.Lease.Until.After(time.Now()) == live
}

// ends ends the lease of another before one is taken.
func ends(live bool) leases {
	return func(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error) {
		if holder, is := over(m, k, writer, live); is && d > 0 {
			if _, err := m.Lease(ctx, k, holder, 0); err != nil {
				return checkpoint.Head{}, err
			}
		}
		return m.Lease(ctx, k, writer, d)
	}
}

// leasesQuietly gives a lease that is free without a new epoch.
func leasesQuietly(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error) {
	h, err := m.Head(ctx, k)
	if err == nil && d > 0 && !h.Lease.Until.After(time.Now()) {
		if err := m.Append(ctx, batch{Key: k, Writer: writer, Epoch: h.Epoch, Lease: d}); err != nil {
			return h, err
		}
		return m.Head(ctx, k)
	}
	return m.Lease(ctx, k, writer, d)
}

// looksAtLeases gives a lease to everybody who saw that it was free.
func looksAtLeases(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error) {
	_, taken := over(m, k, writer, true)
	time.Sleep(time.Millisecond)
	h, err := m.Lease(ctx, k, writer, d)
	if !taken && errors.Is(err, checkpoint.ErrLeased) {
		return m.Head(ctx, k)
	}
	return h, err
}

func leasesAnything(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error) {
	h, err := m.Lease(ctx, k, writer, d)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = nil
	}
	return h, err
}

// countsHeartbeats has a new epoch for each lease.
func countsHeartbeats(ctx context.Context, m *memory, k key, writer string, d time.Duration) (checkpoint.Head, error) {
	if h, err := m.Head(ctx, k); err == nil && h.Lease.Writer == writer && d > 0 {
		if _, err := m.Lease(ctx, k, writer, 0); err != nil {
			return h, err
		}
	}
	return m.Lease(ctx, k, writer, d)
}

// keepsLeases has a lease outlast its epoch.
func keepsLeases(ctx context.Context, m *memory, b batch) error {
	h, _ := m.Head(context.Background(), b.Key)
	if err := m.Append(ctx, b); err != nil || b.Lease > 0 || b.Epoch <= h.Epoch || h.Lease.Writer == "" {
		return err
	}
	return m.Append(ctx, batch{Key: b.Key, Writer: h.Lease.Writer, Epoch: b.Epoch, Lease: time.Until(h.Lease.Until)})
}

// endsLeases ends the lease of whoever had it by any batch of another.
func endsLeases(ctx context.Context, m *memory, b batch) error {
	h, _ := m.Head(context.Background(), b.Key)
	if err := m.Append(ctx, b); err != nil || h.Lease.Writer == b.Writer {
		return err
	}
	_, err := m.Lease(ctx, b.Key, h.Lease.Writer, 0)
	return err
}

func brokenLeases() map[string]brokenStore {
	return map[string]brokenStore{
		"leases all":        {flaws{lease: ends(true)}, []string{"a lease is held", "lease by append", "one of many leases"}},
		"no recoveries":     {flaws{lease: ends(false)}, []string{"a lease ends", "progress"}},
		"leases quietly":    {flaws{lease: leasesQuietly}, []string{"a lease is held", "a lease fences", "retry after a lease"}},
		"looks at leases":   {flaws{lease: looksAtLeases}, []string{"one of many leases"}},
		"leases anything":   {flaws{lease: leasesAnything}, []string{"lease of no run"}},
		"counts heartbeats": {flaws{lease: countsHeartbeats}, []string{"a lease is held", "a lease ends"}},
		"leases an hour": {flaws{lease: func(ctx context.Context, m *memory, k key, w string, d time.Duration) (checkpoint.Head, error) {
			return m.Lease(ctx, k, w, min(d, time.Hour))
		}}, []string{"a lease lasts"}},
		"appends alone":   {changes(func(b *batch, _ checkpoint.Head) { b.Lease = 0 }), []string{"lease by append"}},
		"keeps leases":    {flaws{append: keepsLeases}, []string{"a higher epoch ends a lease"}},
		"ends leases":     {flaws{append: endsLeases}, []string{"a higher epoch ends a lease", "lease by append"}},
		"no progress":     {changes(func(b *batch, _ checkpoint.Head) { b.Progress = false }), []string{"progress"}},
		"all is progress": {changes(func(b *batch, _ checkpoint.Head) { b.Progress = true }), []string{"progress"}},
	}
}

func brokenInboxes() map[string]brokenStore {
	return map[string]brokenStore{
		"sorts messages": {flaws{posted: func(ctx context.Context, m *memory, keys []key) ([]checkpoint.Message, error) {
			all, err := m.Posted(ctx, keys...)
			slices.SortFunc(all, func(a, b checkpoint.Message) int { return strings.Compare(a.ID, b.ID) })
			return all, err
		}}, []string{"inbox"}},
		"one inbox": {flaws{posted: func(ctx context.Context, m *memory, keys []key) ([]checkpoint.Message, error) {
			return m.Posted(ctx, keys[:min(1, len(keys))]...)
		}}, []string{"inboxes"}},
		"posts twice": {flaws{post: func(ctx context.Context, m *memory, msg checkpoint.Message) error {
			all, err := m.Posted(ctx, msg.Key)
			if slices.ContainsFunc(all, func(old checkpoint.Message) bool { return old.ID == msg.ID }) {
				msg.ID += " again"
			}
			return errors.Join(err, m.Post(ctx, msg))
		}}, []string{"data are kept"}},
		"posts to anybody": {flaws{post: func(ctx context.Context, m *memory, msg checkpoint.Message) error {
			if err := m.Post(ctx, msg); !errors.Is(err, checkpoint.ErrNotFound) {
				return err
			}
			return nil
		}}, []string{"inbox of no run"}},
		"takes in vain": {flaws{append: func(ctx context.Context, m *memory, b batch) error {
			err := m.Append(ctx, b)
			if errors.Is(err, checkpoint.ErrConflict) {
				h, _ := m.Head(ctx, b.Key)
				_ = m.Append(ctx, batch{Key: b.Key, Taken: b.Taken, Epoch: h.Epoch})
			}
			return err
		}}, []string{"taken"}},
		"takes none": {changes(func(b *batch, _ checkpoint.Head) { b.Taken = nil }), []string{"taken", "seen whole", "cancelled"}},
		"takes later": {flaws{append: func(ctx context.Context, m *memory, b batch) error {
			records := b
			records.Taken = nil
			err := m.Append(ctx, records)
			time.Sleep(time.Millisecond)
			if err == nil {
				b.Records = nil
				err = m.Append(ctx, b)
			}
			return err
		}}, []string{"seen whole"}},
	}
}

// asks is a list of something else than is asked for.
func asks(change func(*checkpoint.Query)) flaws {
	return flaws{list: func(ctx context.Context, m *memory, q checkpoint.Query) (checkpoint.Page, error) {
		change(&q)
		return m.List(ctx, q)
	}}
}

// counts is a list whose cursors say how many runs were listed.
func counts(ctx context.Context, m *memory, q checkpoint.Query) (checkpoint.Page, error) {
	offset, _ := strconv.Atoi(q.After.Key.Run)
	limit := q.Most()
	q.After, q.Limit = checkpoint.Cursor{}, 1000
	page, err := m.List(ctx, q)
	page.Heads = page.Heads[min(offset, len(page.Heads)):]
	page.Next = checkpoint.Cursor{}
	if len(page.Heads) > limit {
		page.Heads = page.Heads[:limit]
		page.Next.Key.Run = fmt.Sprint(offset + limit)
	}
	return page, err
}

// listsFirst lists runs as they were when they began.
func listsFirst() flaws {
	index := map[*memory]*memory{} // for checks of one goroutine
	return flaws{
		append: func(ctx context.Context, m *memory, b batch) error {
			if index[m] == nil {
				index[m] = new(memory)
			}
			if len(b.Records) > 0 && b.Records[0].Seq == 1 {
				_ = index[m].Append(ctx, b)
			}
			return m.Append(ctx, b)
		},
		list: func(ctx context.Context, m *memory, q checkpoint.Query) (checkpoint.Page, error) {
			if index[m] == nil {
				return checkpoint.Page{}, nil
			}
			return index[m].List(ctx, q)
		},
	}
}

func brokenLists() map[string]brokenStore {
	type query = *checkpoint.Query
	list := []string{"list"}
	return map[string]brokenStore{
		"all namespaces": {asks(func(q query) { q.All = true }), list},
		"one namespace":  {asks(func(q query) { q.All = false }), list},
		"first status":   {asks(func(q query) { q.Status = q.Status[:min(1, len(q.Status))] }), list},
		"any strategy":   {asks(func(q query) { q.Strategy = "" }), list},
		"any wait":       {asks(func(q query) { q.Wait = "" }), list},
		"any origin":     {asks(func(q query) { q.Origin = "" }), list},
		"due before":     {asks(func(q query) { q.Due = q.Due.Add(-1) }), list},
		"any label":      {asks(func(q query) { q.Labels = nil }), list},
		"updated by then": {asks(func(q query) {
			if !q.Updated.IsZero() {
				q.Updated = q.Updated.Add(1)
			}
		}), []string{"list by time"}},
		"leased, too": {asks(func(q query) { q.Unleased = false }), []string{"list by lease"}},
		"empty, too":  {asks(func(q query) { q.Posted = false }), []string{"list by inbox"}},
		"pages by time": {asks(func(q query) {
			if !q.After.IsZero() {
				q.After.Key = key{Namespace: "\U0010ffff"}
			}
		}), []string{"pages amid changes"}},
		"counts":      {flaws{list: counts}, []string{"pages amid changes"}},
		"lists first": {listsFirst(), []string{"list follows"}},
		"no limits": {flaws{list: func(ctx context.Context, m *memory, q checkpoint.Query) (page checkpoint.Page, err error) {
			q.Limit = 1000
			page, err = m.List(ctx, q)
			for more := page; err == nil && !more.Next.IsZero(); page.Heads = append(page.Heads, more.Heads...) {
				q.After = more.Next
				more, err = m.List(ctx, q)
			}
			page.Next = checkpoint.Cursor{}
			return page, err
		}}, []string{"limits of a list"}},
		"lists backwards": {flaws{list: func(ctx context.Context, m *memory, q checkpoint.Query) (checkpoint.Page, error) {
			page, err := m.List(ctx, q)
			slices.Reverse(page.Heads)
			return page, err
		}}, []string{"list", "pages amid changes"}},
	}
}

// remembers is a store whose deleted runs have their epochs still.
func remembers() flaws {
	epochs := map[key]int64{}
	return flaws{
		append: func(ctx context.Context, m *memory, b batch) error {
			if now := epochs[b.Key]; b.Epoch < now {
				return &checkpoint.Error{Kind: checkpoint.ErrFenced, Key: b.Key, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", now, b.Epoch)}
			}
			return m.Append(ctx, b)
		},
		delete: func(ctx context.Context, m *memory, keys []key) error {
			for _, k := range keys {
				if h, err := m.Head(ctx, k); err == nil {
					epochs[k] = h.Epoch
				}
			}
			return m.Delete(ctx, keys...)
		},
	}
}

func brokenPruners() map[string]brokenStore {
	return map[string]brokenStore{
		"deletes one": {flaws{delete: func(ctx context.Context, m *memory, keys []key) error {
			return m.Delete(ctx, keys[:min(1, len(keys))]...)
		}}, []string{"delete many"}},
		"deletes everywhere": {flaws{delete: func(ctx context.Context, m *memory, keys []key) error {
			for _, k := range keys {
				for _, namespace := range []string{"", "n"} {
					if err := m.Delete(ctx, key{Namespace: namespace, Run: k.Run}); err != nil {
						return err
					}
				}
			}
			return nil
		}}, []string{"delete many"}},
		"remembers":        {remembers(), []string{"begin anew"}},
		"cannot vacuum":    {flaws{vacuum: func(context.Context, *memory) error { return errors.ErrUnsupported }}, []string{"vacuum"}},
		"vacuums all away": {flaws{vacuum: func(ctx context.Context, m *memory) error { return forgetsAll(ctx, m, nil) }}, []string{"vacuum"}},
	}
}
