package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

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
	another := checkpoint.Key{Namespace: "a", Run: run.Run}
	if err := errors.Join(fill(ctx, s, another, numbered(1, 1)), p.post(ctx, another, "of another")); err != nil {
		return err
	}
	if got, err = p.in.Posted(ctx, named("missing"), another, named(""), run); err != nil || len(got) != 5 {
		return fmt.Errorf("the messages to two runs, asked for at once, are %d, want 5 (error %w)", len(got), err)
	}
	if got, err = p.in.Posted(ctx); err != nil || len(got) > 0 {
		return fmt.Errorf("the messages to no runs are %d (error %w)", len(got), err)
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
	if err := meanwhile(func() error { return p.look(ctx, messages) }, 1, func(int) error {
		for i := range messages {
			b := batch(run, numbered(2+i, 1)...)
			b.Taken = ids[i : i+1]
			if err := put(ctx, s, b); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
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
