package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] for one process, with every ability: what it holds is gone when the process
// ends. It keeps every run until it is deleted. The zero value is ready, and safe for concurrent
// use. It must not be copied once it is used.
//
// Its errors are those of this package, and those of a context.
type Memory struct {
	mu   sync.RWMutex
	runs map[Key]*kept
}

// kept is a run.
type kept struct {
	head    Head
	records []entry // that of place i+1 at i. Only appended to
	writer  string  // of the last records
	inbox   []Message
	saved   Snapshot // zero: none
	values  map[string]string
}

type entry struct{ kind, data string }

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, b Batch) error {
	if err := ready(ctx, b.Key); err != nil {
		return err
	}
	entries := make([]entry, len(b.Records))
	for i, r := range b.Records {
		entries[i] = entry{r.Type, string(r.Data)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run, now := m.runs[b.Key], time.Now()
	switch {
	case run == nil && len(entries) == 0:
		return &Error{Kind: ErrNotFound, Key: b.Key}
	case run == nil:
		run = &kept{head: Head{Key: b.Key, Created: now}}
	case run.repeats(&b):
		return nil
	case b.Epoch < run.head.Epoch:
		return &Error{Kind: ErrFenced, Key: b.Key, Problem: fmt.Sprintf("its epoch is %d now, and was %d here", run.head.Epoch, b.Epoch)}
	}
	for i, r := range b.Records {
		if want := len(run.records) + i + 1; r.Seq != want {
			return &Error{Kind: ErrConflict, Key: b.Key, Record: r.Seq, Problem: fmt.Sprintf("the next record is %d", want)}
		}
	}
	run.records = append(run.records, entries...)
	run.append(&b, now)
	if m.runs == nil {
		m.runs = map[Key]*kept{}
	}
	m.runs[b.Key] = run
	return nil
}

// repeats reports whether a batch is the one that was appended last, by the same writer.
func (k *kept) repeats(b *Batch) bool {
	n := len(b.Records)
	return n > 0 && b.Writer != "" && b.Writer == k.writer && b.Records[n-1].Seq == len(k.records)
}

// append changes the head by a batch.
func (k *kept) append(b *Batch, now time.Time) {
	h := &k.head
	if b.Epoch > h.Epoch {
		h.Lease = Lease{}
	}
	h.Last, h.Epoch, h.Updated = len(k.records), b.Epoch, now
	if b.Header != nil {
		h.Header = b.Header.clone()
	}
	if len(b.Records) > 0 {
		k.writer = b.Writer
	}
	switch {
	case b.Lease > 0:
		h.Lease = Lease{Writer: b.Writer, Until: now.Add(b.Lease)}
	case b.Lease < 0 && h.Lease.Writer == b.Writer:
		h.Lease = Lease{}
	}
	if b.Progress {
		h.Recoveries = 0
	}
	if len(b.Taken) > 0 {
		k.inbox = slices.DeleteFunc(slices.Clone(k.inbox), func(m Message) bool { return slices.Contains(b.Taken, m.ID) })
	}
}

// clone copies a header.
func (h Header) clone() Header {
	h.Waits, h.Labels = slices.Clone(h.Waits), maps.Clone(h.Labels)
	return h
}

// Read implements [Store]. It yields the run as it was when ranging began, whatever happens to it
// meanwhile.
func (m *Memory) Read(ctx context.Context, key Key, from int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := ended(ctx, key); err != nil {
			yield(Record{}, err)
			return
		}
		m.mu.RLock()
		var records []entry
		if run := m.runs[key]; run != nil {
			records = run.records
		}
		m.mu.RUnlock()
		if len(records) == 0 {
			yield(Record{}, &Error{Kind: ErrNotFound, Key: key})
			return
		}
		for i := max(from, 1) - 1; i < len(records); i++ {
			if err := ended(ctx, key); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(Record{Seq: i + 1, Type: records[i].kind, Data: []byte(records[i].data)}, nil) {
				return
			}
		}
	}
}

// Head implements [Store].
func (m *Memory) Head(ctx context.Context, key Key) (Head, error) {
	if err := ended(ctx, key); err != nil {
		return Head{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	run := m.runs[key]
	if run == nil {
		return Head{}, &Error{Kind: ErrNotFound, Key: key}
	}
	return run.head.clone(), nil
}

func (h Head) clone() Head {
	h.Header = h.Header.clone()
	return h
}

// List implements [Lister].
func (m *Memory) List(ctx context.Context, q Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, fmt.Errorf("checkpoint: list: %w", err)
	}
	now := time.Now()
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Head
	for _, run := range m.runs {
		if run.matches(&q, now) && (q.After.IsZero() || behind(run.head.cursor(), q.After) > 0) {
			found = append(found, run.head)
		}
	}
	slices.SortFunc(found, func(a, b Head) int { return behind(a.cursor(), b.cursor()) })
	var page Page
	if most := q.Most(); len(found) > most {
		found = found[:most]
		page.Next = found[most-1].cursor()
	}
	for _, h := range found {
		page.Heads = append(page.Heads, h.clone())
	}
	return page, nil
}

func (h *Head) cursor() Cursor { return Cursor{Created: h.Created, Key: h.Key} }

// behind compares two places of a list.
func behind(a, b Cursor) int {
	if c := b.Created.Compare(a.Created); c != 0 { // the newest is the first
		return c
	}
	if c := strings.Compare(a.Key.Namespace, b.Key.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Key.Run, b.Key.Run)
}

// matches reports whether a run is one that is asked for.
func (k *kept) matches(q *Query, now time.Time) bool {
	h := &k.head
	for name, value := range q.Labels {
		if has, ok := h.Header.Labels[name]; !ok || has != value {
			return false
		}
	}
	return (q.All || h.Key.Namespace == q.Namespace) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, h.Header.Status)) &&
		(q.Strategy == "" || h.Header.Strategy == q.Strategy) &&
		(q.Origin == "" || h.Header.Origin.Run == q.Origin) &&
		(q.Wait == "" || slices.ContainsFunc(h.Header.Waits, func(w Wait) bool { return w.Kind == q.Wait })) &&
		(q.Due.IsZero() || !h.Header.Due.IsZero() && !h.Header.Due.After(q.Due)) &&
		(q.Updated.IsZero() || h.Updated.Before(q.Updated)) &&
		(!q.Unleased || !h.Lease.Until.After(now)) &&
		(!q.Posted || len(k.inbox) > 0)
}

// Post implements [Inbox].
func (m *Memory) Post(ctx context.Context, msg Message) error {
	if err := ready(ctx, msg.Key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[msg.Key]
	if run == nil {
		return &Error{Kind: ErrNotFound, Key: msg.Key}
	}
	if slices.ContainsFunc(run.inbox, func(kept Message) bool { return kept.ID == msg.ID }) {
		return nil
	}
	msg.Data, msg.At = slices.Clone(msg.Data), time.Now()
	run.inbox = append(run.inbox, msg)
	return nil
}

// Posted implements [Inbox].
func (m *Memory) Posted(ctx context.Context, keys ...Key) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("checkpoint: inbox: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var posted []Message
	for _, key := range keys {
		if run := m.runs[key]; run != nil {
			posted = append(posted, run.inbox...)
		}
	}
	for i := range posted {
		posted[i].Data = slices.Clone(posted[i].Data)
	}
	return posted, nil
}

// Lease implements [Leaser].
func (m *Memory) Lease(ctx context.Context, key Key, writer string, d time.Duration) (Head, error) {
	if err := ready(ctx, key); err != nil {
		return Head{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[key]
	if run == nil {
		return Head{}, &Error{Kind: ErrNotFound, Key: key}
	}
	h, now := &run.head, time.Now()
	switch mine := h.Lease.Writer == writer; {
	case d <= 0 && mine:
		h.Lease = Lease{}
	case d <= 0:
	case mine:
		h.Lease.Until = now.Add(d)
	case h.Lease.Until.After(now):
		return Head{}, &Error{Kind: ErrLeased, Key: key, Until: h.Lease.Until}
	default:
		if h.Lease.Writer != "" {
			h.Recoveries++
		}
		h.Epoch++
		h.Lease = Lease{Writer: writer, Until: now.Add(d)}
	}
	return h.clone(), nil
}

// Delete implements [Pruner].
func (m *Memory) Delete(ctx context.Context, keys ...Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: delete: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.runs, key)
	}
	return nil
}

// Vacuum implements [Pruner]. It does nothing.
func (m *Memory) Vacuum(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: vacuum: %w", err)
	}
	return nil
}

// SaveSnapshot implements [SnapshotStore].
func (m *Memory) SaveSnapshot(ctx context.Context, key Key, s Snapshot) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.runs[key]
	switch {
	case run == nil:
		return &Error{Kind: ErrNotFound, Key: key}
	case s.Records < 1 || s.Records > len(run.records):
		return &Error{Kind: ErrConflict, Key: key, Problem: fmt.Sprintf("a snapshot of %d records, and the run has %d", s.Records, len(run.records))}
	case s.Records >= run.saved.Records:
		run.saved = Snapshot{Records: s.Records, Data: slices.Clone(s.Data)}
	}
	return nil
}

// Snapshot implements [SnapshotStore].
func (m *Memory) Snapshot(ctx context.Context, key Key) (Snapshot, error) {
	if err := ended(ctx, key); err != nil {
		return Snapshot{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	run := m.runs[key]
	if run == nil || run.saved.Records == 0 {
		return Snapshot{}, &Error{Kind: ErrNotFound, Key: key}
	}
	return Snapshot{Records: run.saved.Records, Data: slices.Clone(run.saved.Data)}, nil
}

// ready returns an error if ctx is done, or the key cannot be one.
func ready(ctx context.Context, key Key) error {
	if err := ended(ctx, key); err != nil {
		return err
	}
	return key.Check()
}

// ended returns an error if ctx is done.
func ended(ctx context.Context, key Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint: run %.64q: %w", key.String(), err)
	}
	return nil
}
