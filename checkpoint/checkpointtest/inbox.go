package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// posted is the test of the inbox of some runs.
type posted struct {
	in checkpoint.Inbox
	s  checkpoint.Store
}

// newPosted begins runs of a store that has an inbox.
func newPosted(ctx context.Context, s checkpoint.Store, keys ...checkpoint.Key) (*posted, error) {
	in, err := able[checkpoint.Inbox](s)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := fill(ctx, s, key, numbered(1, 1)); err != nil {
			return nil, err
		}
	}
	return &posted{in, s}, nil
}

func note(key checkpoint.Key, id string) checkpoint.Message {
	return checkpoint.Message{ID: id, Key: key, Data: []byte(fmt.Sprintf(`{"to":%q,"id":%q}`, key.Run, id))}
}

func (p *posted) post(ctx context.Context, key checkpoint.Key, ids ...string) error {
	for _, id := range ids {
		if err := p.in.Post(ctx, note(key, id)); err != nil {
			return fmt.Errorf("run %.64q: post of %q: %w", key, id, err)
		}
	}
	return nil
}

// expect reads the messages to one run, and compares.
func (p *posted) expect(ctx context.Context, key checkpoint.Key, ids ...string) error {
	got, err := p.in.Posted(ctx, key)
	if err != nil {
		return fmt.Errorf("run %.64q: posted: %w", key, err)
	}
	var have []string
	for _, m := range got {
		have = append(have, m.ID)
		if m.Key != key || !bytes.Equal(m.Data, note(key, m.ID).Data) || m.At.IsZero() {
			return fmt.Errorf("run %.64q: posted gave message %q to %q, %.80q, posted at %s", key, m.ID, m.Key, m.Data, m.At)
		}
	}
	if !slices.Equal(have, ids) {
		return fmt.Errorf("run %.64q: the messages are %q, want %q", key, have, ids)
	}
	return nil
}

// inboxOrder posts to several runs in turn.
func inboxOrder(ctx context.Context, s checkpoint.Store) error {
	keys := []checkpoint.Key{run, named("another"), {Namespace: "a", Run: run.Run}}
	p, err := newPosted(ctx, s, keys...)
	if err != nil {
		return err
	}
	ids := map[checkpoint.Key][]string{}
	for i := range 20 { // the order is none of ids
		for n, key := range keys {
			id := fmt.Sprintf("%c-%d-%d", 'z'-i, n, i)
			ids[key] = append(ids[key], id)
			if err := p.post(ctx, key, id); err != nil {
				return err
			}
		}
	}
	for _, key := range keys {
		if err := p.expect(ctx, key, ids[key]...); err != nil {
			return err
		}
	}
	got, err := p.in.Posted(ctx, named("missing"), keys[1], named(""), keys[2])
	if err != nil {
		return err
	}
	have := map[checkpoint.Key][]string{}
	for _, m := range got {
		have[m.Key] = append(have[m.Key], m.ID)
	}
	if len(have) != 2 || !slices.Equal(have[keys[1]], ids[keys[1]]) || !slices.Equal(have[keys[2]], ids[keys[2]]) {
		return fmt.Errorf("the messages to two runs are %q, want %q and %q", have, ids[keys[1]], ids[keys[2]])
	}
	if got, err = p.in.Posted(ctx); err != nil || len(got) > 0 {
		return fmt.Errorf("the messages to no runs are %d, error %w", len(got), err)
	}
	return nil
}

// inboxKeeps posts twice, any bytes, and writes over what it handed over and got.
func inboxKeeps(ctx context.Context, s checkpoint.Store) error {
	p, err := newPosted(ctx, s, run)
	if err != nil {
		return err
	}
	if err := p.post(ctx, run, "one", "two", "one", "two", "three"); err != nil {
		return err
	}
	changed := note(run, "two")
	changed.Data = []byte("another text")
	if err := p.in.Post(ctx, changed); err != nil {
		return fmt.Errorf("post of an ID that is there: %w", err)
	}
	four := note(run, "four")
	if err := p.in.Post(ctx, four); err != nil {
		return err
	}
	clear(four.Data)
	got, err := p.in.Posted(ctx, run)
	if err != nil {
		return err
	}
	for _, m := range got {
		clear(m.Data)
	}
	if err := p.expect(ctx, run, "one", "two", "three", "four"); err != nil {
		return err
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, data := range [][]byte{all, {}, nil, bytes.Repeat([]byte("x"), 1<<20)} {
		m := checkpoint.Message{ID: fmt.Sprint("bytes ", i), Key: run, Data: data}
		if err := p.in.Post(ctx, m); err != nil {
			return err
		}
		got, err := p.in.Posted(ctx, run)
		if err != nil || len(got) != 5+i || !bytes.Equal(got[4+i].Data, data) {
			return fmt.Errorf("a message of %d bytes is not among %d that are posted, as it was (error %w)", len(data), len(got), err)
		}
	}
	return nil
}

// inboxOfNone posts to runs that there are not.
func inboxOfNone(ctx context.Context, s checkpoint.Store) error {
	p, err := newPosted(ctx, s, named("another"))
	if err != nil {
		return err
	}
	if err := wraps(p.in.Post(ctx, note(run, "one")), checkpoint.ErrNotFound, "post to a run that there is not"); err != nil {
		return err
	}
	if err := p.expect(ctx, run); err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, 1)); err != nil {
		return err
	}
	if err := p.expect(ctx, run); err != nil {
		return fmt.Errorf("after a post to it before it began: %w", err)
	}
	return expectNone(ctx, s, named("missing"), 1)
}

// takes removes messages by appends.
func takes(ctx context.Context, s checkpoint.Store) error {
	another := named("another")
	p, err := newPosted(ctx, s, run, another)
	if err != nil {
		return err
	}
	if err := errors.Join(p.post(ctx, run, "1", "2", "3", "4", "5"), p.post(ctx, another, "6", "7")); err != nil {
		return err
	}
	steps := []struct {
		what    string
		records []checkpoint.Record
		taken   []string
		refused error
		left    []string
	}{
		{"a record", numbered(2, 1), []string{"3", "missing", "6"}, nil, []string{"1", "2", "4", "5"}},
		{"the very same again", numbered(2, 1), []string{"3", "missing", "6"}, nil, []string{"1", "2", "4", "5"}},
		{"a conflict", numbered(9, 1), []string{"1", "2"}, checkpoint.ErrConflict, []string{"1", "2", "4", "5"}},
		{"no records", nil, []string{"5", "1"}, nil, []string{"2", "4"}},
		{"no records, nothing", nil, []string{}, nil, []string{"2", "4"}},
		{"the rest", numbered(3, 3), []string{"2", "2", "4"}, nil, nil},
	}
	for _, step := range steps {
		b := batch(run, step.records...)
		b.Taken = step.taken
		if err := s.Append(ctx, b); !errors.Is(err, step.refused) {
			return fmt.Errorf("%s: append that takes %q: %w", step.what, step.taken, err)
		}
		if err := errors.Join(p.expect(ctx, run, step.left...), p.expect(ctx, another, "6", "7")); err != nil {
			return fmt.Errorf("%s: append that takes %q: %w", step.what, step.taken, err)
		}
	}
	fenced := by(batch(another, numbered(2, 1)...), other, 0)
	fenced.Taken = []string{"6"}
	if err := wraps(s.Append(ctx, fenced), checkpoint.ErrFenced, "append in an epoch that has passed"); err != nil {
		return err
	}
	return p.expect(ctx, another, "6", "7")
}

// takesAtOnce looks on while messages are taken: one is there, or the record that deals with it.
func takesAtOnce(ctx context.Context, s checkpoint.Store) error {
	const messages = 25
	p, err := newPosted(ctx, s, run)
	if err != nil {
		return err
	}
	ids := make([]string, messages)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	if err := p.post(ctx, run, ids...); err != nil {
		return err
	}
	var written, seen error
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() {
		defer close(over)
		for i := 0; i < messages && written == nil; i++ {
			b := batch(run, numbered(2+i, 1)...)
			b.Taken = ids[i : i+1]
			written = put(ctx, s, b)
		}
	})
	all.Go(func() {
		for seen == nil {
			select {
			case <-over:
				return
			default:
				seen = p.look(ctx, messages)
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	all.Wait()
	if err := errors.Join(written, seen); err != nil {
		return err
	}
	return p.expect(ctx, run)
}

// look compares records with messages, in either order.
func (p *posted) look(ctx context.Context, messages int) error {
	before, err := p.s.Head(ctx, run)
	if err != nil {
		return err
	}
	left, err := p.in.Posted(ctx, run)
	if err != nil {
		return err
	}
	after, err := p.s.Head(ctx, run)
	if err != nil {
		return err
	}
	if taken := messages - len(left); taken < before.Last-1 || taken > after.Last-1 {
		return fmt.Errorf("%d messages are taken, where between %d and %d of the records that take them are there", taken, before.Last-1, after.Last-1)
	}
	return nil
}
