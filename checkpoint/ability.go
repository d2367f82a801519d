package checkpoint

import (
	"context"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// As returns the ability T of a store, an interface such as [Lister]: s itself, if it implements T,
// or else what s says. A store that wraps another one says it by one of two methods. Unwrap() Store
// returns the other store, which is asked in turn. As(target any) bool decides for itself: it
// stores the ability in target, a *T, or returns false if there is none.
func As[T any](s Store) (able T, ok bool) {
	for s != nil {
		if able, ok = s.(T); ok {
			return able, true
		}
		switch w := s.(type) {
		case interface{ As(target any) bool }:
			ok = w.As(&able)
			return able, ok
		case interface{ Unwrap() Store }:
			s = w.Unwrap()
		default:
			return able, false
		}
	}
	return able, false
}

// Lister lists runs.
type Lister interface {
	// List returns the heads of the runs that match a query, sorted by the time of their creation,
	// the newest first; runs of the same time are sorted by namespace and id. It reads no records.
	//
	// Heads that are damaged keep back no others: List returns the page without them, though they
	// count for its Limit, and with it an error that joins one error for each, which names the run
	// and wraps ErrCorrupt. After any other error the Page is zero. See [Heads].
	List(ctx context.Context, q Query) (Page, error)
}

// Heads yields the heads of all runs that match a query, page by page, of q.Limit runs each. The
// error comes last, without a head. If it wraps ErrCorrupt it joins those of all pages: damaged
// heads keep back no others. Any other error comes alone, and there may be more heads.
func Heads(ctx context.Context, l Lister, q Query) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		var problems []error
		for {
			page, err := l.List(ctx, q)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				problems = nil
			}
			problems = append(problems, err)
			for _, h := range page.Heads {
				if !yield(h, nil) {
					return
				}
			}
			if q.After = page.Next; q.After.IsZero() {
				break
			}
		}
		if err := errors.Join(problems...); err != nil {
			yield(Head{}, err)
		}
	}
}

// Query selects runs: those that match all its fields. Zero fields match every run, except that a
// query without All selects one namespace.
type Query struct {
	Namespace string            // the runs of this one, unless All
	All       bool              // of every namespace
	Status    []Status          // any of these
	Strategy  string            // of the root
	Labels    map[string]string // each of these
	Wait      string            // has a wait of this kind, perhaps among others
	Origin    string            // made from this run
	Due       time.Time         // due at this time or before
	Updated   time.Time         // last appended to before this time
	Unleased  bool              // has no lease that is still valid
	Posted    bool              // the inbox holds messages

	After Cursor // only runs after this place; zero: all
	Limit int    // how many at most; 0: 100. No more than 1,000 are returned
}

// Most returns how many runs a query returns at most.
func (q *Query) Most() int {
	const usual, most = 100, 1000
	if q.Limit <= 0 {
		return usual
	}
	return min(q.Limit, most)
}

// Page is a part of a list.
type Page struct {
	Heads []Head
	Next  Cursor // for [Query].After; zero: there are no more
}

// Cursor is a place in a list: after the run with this key, created at this time. Runs that are
// created or deleted meanwhile do not move it. It has a text form, for example for web pages.
type Cursor struct {
	Created time.Time
	Key     Key
}

var (
	_ encoding.TextMarshaler   = Cursor{}
	_ encoding.TextUnmarshaler = (*Cursor)(nil)
)

type cursorForm struct {
	Created   int64  `json:"c"` // nanoseconds since 1970
	Namespace string `json:"n,omitempty"`
	Run       string `json:"r"`
}

// IsZero reports whether the place is before the first run.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// MarshalText returns a text that may be used in a URL; an empty one for the zero Cursor.
func (c Cursor) MarshalText() ([]byte, error) {
	if c.IsZero() {
		return nil, nil
	}
	text, err := json.Marshal(cursorForm{c.Created.UnixNano(), c.Key.Namespace, c.Key.Run})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: the cursor: %w", err)
	}
	return []byte(base64.RawURLEncoding.EncodeToString(text)), nil
}

// UnmarshalText reads such a text.
func (c *Cursor) UnmarshalText(text []byte) error {
	*c = Cursor{}
	if len(text) == 0 {
		return nil
	}
	var form cursorForm
	data, err := base64.RawURLEncoding.DecodeString(string(text))
	if err == nil {
		err = json.Unmarshal(data, &form)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %.64q is no cursor: take it as the list before has given it", text)
	}
	*c = Cursor{Created: time.Unix(0, form.Created), Key: Key{form.Namespace, form.Run}}
	return nil
}

// Message is a message to a run, such as a reply, a note or a stop. A Store does not interpret it.
type Message struct {
	ID   string    // unique; made by the sender; at most 64 bytes of ASCII
	Key  Key       // the run
	Data []byte    // any bytes
	At   time.Time // when it was posted, by the clock of the store; set by the store
}

// Inbox keeps messages to runs until the process that works on the run takes them. A journal has
// one writer, so all other processes post messages instead of writing.
type Inbox interface {
	// Post stores a message. If a message with the same ID is in the inbox already, nothing
	// changes, so a message may be posted again if the outcome is unclear. The error wraps
	// ErrNotFound if there is no such run. Post does not retain the slice.
	Post(ctx context.Context, m Message) error

	// Posted returns the messages to these runs that have not been taken, for each run in the order
	// in which they were posted. [Batch].Taken takes them. Runs that do not exist have none.
	// Messages that come with an error are valid; the error is about others. If it wraps
	// ErrCorrupt, the others can never be read, and a run is resumed without them. After any other
	// error the run is not resumed, since they may be read later.
	Posted(ctx context.Context, keys ...Key) ([]Message, error)
}

// Leaser records which process works on a run. A lease saves work: it keeps processes from working
// on the same run, and shows runs whose process has died. Safety does not depend on it: the places
// of records and the epoch ensure that only one process writes.
type Leaser interface {
	// Lease gives a writer the lease of a run for the time d from now on, and returns the head as
	// it is then. If the writer already has the lease, its time starts again, and nothing else
	// changes. If no writer has it, or the lease of another has run out, the epoch of the run
	// increases by 1, so earlier writers are refused; if a lease had run out, the count of
	// recoveries increases by 1, too. If another writer has the lease, the error wraps ErrLeased;
	// if there is no such run, ErrNotFound.
	//
	// A time of 0 or less ends the lease of the writer, and does nothing if the writer has none.
	Lease(ctx context.Context, key Key, writer string, d time.Duration) (Head, error)
}

// Pruner deletes runs.
type Pruner interface {
	// Delete deletes runs with their records, heads, messages, snapshots and values. Keys without
	// a run are ignored. A run with the same key may begin anew.
	Delete(ctx context.Context, keys ...Key) error

	// Vacuum removes what the store itself still has of deleted runs, such as free pages and logs,
	// as far as it can reach. It may take long, and delay other calls.
	Vacuum(ctx context.Context) error
}

// Snapshot is the state of a run after some of its records. A Store does not interpret it.
type Snapshot struct {
	Records int    // the number of records that Data stands for, from 1
	Data    []byte // any bytes
}

// SnapshotStore keeps the last snapshot of a run, for programs that can no longer apply its
// records: a run that waits is carried over a change of code by its snapshot. The records hold
// everything that a snapshot does. A store cannot tell whether a snapshot was taken of a run that
// was deleted and begun anew since: the Data must identify the run.
type SnapshotStore interface {
	// SaveSnapshot stores a snapshot, and changes nothing else of the run. A run has one snapshot,
	// that with the most records; of two with as many records, the later one. So a snapshot of
	// fewer records than the kept one is dropped without an error.
	//
	// The error wraps ErrNotFound if there is no such run, and ErrConflict if the snapshot is of
	// less than one record, or of more than the run has. SaveSnapshot does not
	// retain the slice.
	SaveSnapshot(ctx context.Context, key Key, s Snapshot) error

	// Snapshot returns the snapshot of a run. The error wraps ErrNotFound if there is none. The
	// data belong to the caller.
	Snapshot(ctx context.Context, key Key) (Snapshot, error)
}
