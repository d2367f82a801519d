package checkpointtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

// disk is what a store leaves when its process ends.
type disk struct {
	memory
	wear
	damage   func(records) records
	interval chan struct{}
	broken   []key  // runs whose heads are damaged
	spoiled  string // the value that is damaged
	garbled  string // the message that is damaged
	smudged  bool   // the snapshot of the run that is not called another is damaged
	fallen   bool   // where runs stand is damaged, but for the one that is called another
}

// wear is how a disk does what it is for.
type wear struct {
	forgets bool // the process' own memory is all there is
	writers bool // who has appended stands nowhere
	tears   bool // an interruption leaves half a batch
	blind   bool // damage is not seen
	vague   bool // damage is an error like any other
	drops   bool // snapshots are in the process' own memory
	loses   bool // values are in the process' own memory
	halts   bool // a damaged head keeps back its page
	silent  bool // runs with damaged heads are not listed, and not named
	holds   bool // a damaged message keeps back the others
	lasts   bool // a damaged snapshot is not replaced
}

// stands is an error of a run where it stands is damaged.
func (d *disk) stands(k key) error {
	if (d.fallen && k.Run != "another" || slices.Contains(d.broken, k)) && !d.blind {
		return fmt.Errorf("run %q: %w", k.Run, checkpoint.ErrCorrupt)
	}
	return nil
}

func (d *disk) open() *store {
	own, shelf := (&drawer{takes: newest}).flaws(), (&shelf{}).flaws()
	return &store{flaws: flaws{
		append: func(ctx context.Context, _ *memory, b batch) error {
			if err := d.stands(b.Key); err != nil {
				return err
			}
			return d.append(ctx, b)
		},
		read: func(ctx context.Context, _ *memory, k key, from int) records {
			all := d.Read(ctx, k, from)
			if err := d.stands(k); err != nil {
				return func(yield func(record, error) bool) { yield(record{}, err) }
			}
			if d.damage != nil && k.Run != "another" {
				return d.damage(all)
			}
			return all
		},
		head: func(ctx context.Context, _ *memory, k key) (checkpoint.Head, error) {
			if err := d.stands(k); err != nil {
				return checkpoint.Head{}, err
			}
			return d.Head(ctx, k)
		},
		lease: func(ctx context.Context, _ *memory, k key, writer string, until time.Duration) (checkpoint.Head, error) {
			if err := d.stands(k); err != nil {
				return checkpoint.Head{}, err
			}
			return d.Lease(ctx, k, writer, until)
		},
		list: func(ctx context.Context, _ *memory, q checkpoint.Query) (checkpoint.Page, error) {
			return d.list(ctx, q)
		},
		post: func(ctx context.Context, _ *memory, m checkpoint.Message) error { return d.Post(ctx, m) },
		posted: func(ctx context.Context, _ *memory, keys []key) ([]checkpoint.Message, error) {
			posted, err := d.Posted(ctx, keys...)
			if d.garbled == "" || d.blind {
				return posted, err
			}
			if d.holds {
				posted = nil
			}
			posted = slices.DeleteFunc(posted, func(m checkpoint.Message) bool { return m.ID == d.garbled })
			return posted, fmt.Errorf("run %q: message: %w", keys[0].Run, checkpoint.ErrCorrupt)
		},
		delete: func(ctx context.Context, _ *memory, keys []key) error {
			d.fallen = false
			d.broken = slices.DeleteFunc(d.broken, func(k key) bool { return slices.Contains(keys, k) })
			return d.Delete(ctx, keys...)
		},
		save: func(ctx context.Context, _ *memory, k key, s checkpoint.Snapshot) error {
			if err := d.stands(k); err != nil {
				return err
			}
			d.smudged = d.smudged && d.lasts
			return own.save(ctx, &d.memory, k, s)
		},
		snapshot: func(ctx context.Context, _ *memory, k key) (checkpoint.Snapshot, error) {
			if d.smudged && k.Run != "another" && !d.blind {
				return checkpoint.Snapshot{}, fmt.Errorf("run %q: snapshot: %w", k.Run, checkpoint.ErrCorrupt)
			}
			if d.drops {
				return own.snapshot(ctx, &d.memory, k)
			}
			return d.Snapshot(ctx, k)
		},
		put: func(ctx context.Context, _ *memory, k key, id string, data []byte) error {
			return shelf.put(ctx, &d.memory, k, id, data)
		},
		part: func(ctx context.Context, _ *memory, k key, id string, offset int64, length int) ([]byte, int64, error) {
			if d.spoiled == id && !d.blind {
				return nil, 0, fmt.Errorf("run %q: value %q: %w", k, id, checkpoint.ErrCorrupt)
			}
			if d.loses {
				return shelf.part(ctx, &d.memory, k, id, offset, length)
			}
			return d.ReadValue(ctx, k, id, offset, length)
		},
		values: func(ctx context.Context, _ *memory, k key) ([]checkpoint.Value, error) { return d.Values(ctx, k) },
	}}
}

func (d *disk) list(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := d.List(ctx, q)
	problems := []error{err}
	page.Heads = slices.DeleteFunc(page.Heads, func(h checkpoint.Head) bool {
		broken := d.stands(h.Key) != nil
		if broken {
			problems = append(problems, fmt.Errorf("the head of run %q: %w", h.Key.Run, checkpoint.ErrCorrupt))
		}
		return broken
	})
	switch err := errors.Join(problems...); {
	case d.silent:
		return page, nil
	case err != nil && d.halts:
		return checkpoint.Page{}, err
	default:
		return page, err
	}
}

func (d *disk) append(ctx context.Context, b batch) error {
	if d.writers {
		b.Writer = fmt.Sprintf("%p", &b)
	}
	if !d.tears || len(b.Records) < 4 {
		return d.Append(ctx, b)
	}
	first := b
	first.Records, b.Records = b.Records[:1], b.Records[1:]
	if err := d.Append(ctx, first); err != nil {
		return err
	}
	select {
	case <-d.interval:
		return errors.New("the connection is lost")
	case <-time.After(time.Millisecond):
		return d.Append(ctx, b)
	}
}

func (d *disk) faulty() checkpointtest.Faulty {
	d.interval = make(chan struct{})
	return checkpointtest.Faulty{
		Store: d.open(),
		Reopen: func() checkpoint.Store {
			if d.forgets {
				return new(memory)
			}
			return d.open()
		},
		Interrupt: func() {
			select {
			case d.interval <- struct{}{}:
			case <-time.After(time.Millisecond):
			}
		},
		DamageHead: func(k key) error {
			d.broken = append(d.broken, k)
			return nil
		},
		DamageValue: func(_ key, id string) error {
			d.spoiled = id
			return nil
		},
		DamageMessage: func(_ key, id string) error {
			d.garbled = id
			return nil
		},
		DamageSnapshots: map[string]func(key) error{"smudged": func(key) error {
			d.smudged = true
			return nil
		}},
		DamageStands: map[string]func(key) error{"fallen": func(key) error {
			d.fallen = true
			return nil
		}},
		Damages: map[string]func(key, int) error{"another text": func(k key, seq int) error {
			d.damage = func(all records) records {
				return func(yield func(record, error) bool) {
					for r, err := range all {
						if r.Seq == seq && !d.blind {
							r, err = record{}, fmt.Errorf("run %q: record %d: %w", k, seq, checkpoint.ErrCorrupt)
							if d.vague {
								err = fmt.Errorf("run %q: record %d cannot be read", k, seq)
							}
						} else if r.Seq == seq {
							r.Data = []byte(strings.ToUpper(string(r.Data)))
						}
						if !yield(r, err) || err != nil {
							return
						}
					}
				}
			}
			return nil
		}},
	}
}

// A store that has lost something, or does not see that it has, is found out.
func TestFaults(t *testing.T) {
	for name, x := range map[string]struct {
		wear wear
		want []string
	}{
		"none":            {wear{}, nil},
		"forgets":         {wear{forgets: true}, []string{"damage", "reopen", "retry after reopen"}},
		"forgets writers": {wear{writers: true}, []string{"interrupt", "reopen", "retry after reopen"}},
		"tears":           {wear{tears: true}, []string{"interrupt"}},
		"drops snapshots": {wear{drops: true}, []string{"reopen"}},
		"loses values":    {wear{loses: true}, []string{"reopen"}},
		"names no damage": {wear{vague: true}, []string{"damage"}},
		"sees no damage":  {wear{blind: true}, []string{"damage", "damaged heads", "damaged message", "damaged snapshot", "damaged stand", "damaged value"}},
		"holds messages":  {wear{holds: true}, []string{"damaged message"}},
		"keeps smudges":   {wear{lasts: true}, []string{"damaged snapshot"}},
		"lists nothing":   {wear{halts: true}, []string{"damaged heads"}},
		"lists the rest":  {wear{silent: true}, []string{"damaged heads", "damaged stand"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found := checkpointtest.FoundFaults(t.Context(), func() checkpointtest.Faulty {
					return (&disk{wear: x.wear}).faulty()
				})
				t.Log(found)
				var names []string
				for name := range found {
					names = append(names, name)
				}
				slices.Sort(names)
				require.Equal(t, x.want, names)
			})
		})
	}
	checkpointtest.Faults(t, func(*testing.T) checkpointtest.Faulty { return new(disk).faulty() })
}
