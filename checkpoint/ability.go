package checkpoint

import (
	"context"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// As returns the ability T of a store: the store itself, or the first of those that it wraps that
// has it. A store that wraps another says so by a method Unwrap() Store. T is an interface, such as
// [Lister].
func As[T any](s Store) (T, bool) {
	for s != nil {
		if able, ok := s.(T); ok {
			return able, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = w.Unwrap()
	}
	var none T
	return none, false
}

// Lister lists runs.
type Lister interface {
	// List returns the heads of the runs that a query asks for, the newest first: by the time at
	// which they were created, and those of one time by namespace and id. It reads no records.
	List(ctx context.Context, q Query) (Page, error)
}

// Query says which runs are listed: those that all of its fields ask for. Zero fields ask for
// nothing.
type Query struct {
	Namespace string            // the runs of this one, unless All
	All       bool              // of every namespace
	Status    []Status          // any of these
	Strategy  string            // the one that the run began with
	Labels    map[string]string // each of these
	Wait      string            // waits of this kind, beside others perhaps
	Origin    string            // made from this run
	Due       time.Time         // due at this time, or before
	Updated   time.Time         // last appended to before this time
	Unleased  bool              // nobody has a lease that still runs
	Posted    bool              // the inbox holds messages

	After Cursor // those behind it; zero: from the first
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

// Cursor is a place in a list: behind the run of this key, created at this time. Runs that are
// created or deleted meanwhile do not shift it. Its text form is for pages on the web and the like.
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

// MarshalText returns a text without spaces that may stand in a URL; none for the zero Cursor.
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

// Message is what somebody has to say to a run: a reply, a note, a stop. A Store does not know what
// stands in it.
type Message struct {
	ID   string    // made by who posts it, and nobody else's: at most 64 bytes of ASCII
	Key  Key       // the run
	Data []byte    // any bytes
	At   time.Time // when it was posted, by the clock of the store; set by the store
}

// Inbox keeps messages to runs until their owner takes them: a journal has one writer, so whoever
// has something to say to a run that another process works on posts it.
type Inbox interface {
	// Post keeps a message. One whose ID is there already changes nothing, so it may be posted again
	// after an unclear outcome. The error wraps ErrNotFound if there is no such run. It does not
	// keep the slice.
	Post(ctx context.Context, m Message) error

	// Posted returns the messages to runs that nobody has taken, each run's in the order in which
	// they were posted. They are taken by [Batch].Taken. Runs that do not exist have none. Messages
	// that come beside an error are as they should be; it is about others.
	Posted(ctx context.Context, keys ...Key) ([]Message, error)
}

// Leaser says who works on a run. A lease saves work: it keeps processes from working on one run
// side by side, and shows runs whose process has died. Only the places of records and the epoch
// make sure that one of them writes.
type Leaser interface {
	// Lease gives a writer the lease of a run from now on for a time, and returns the head as it is
	// then. If the writer has it already, the time is counted anew, and nothing else changes: this
	// is the heartbeat. If nobody has, or the time of the other is over, the epoch of the run is
	// counted up by 1, which fences off whoever wrote before; if the time of another was over, so are
	// the recoveries. If somebody else has it, the error wraps ErrLeased; if there is no such run,
	// ErrNotFound.
	//
	// A time of 0 or less ends the lease of the writer, and does nothing if it has none.
	Lease(ctx context.Context, key Key, writer string, d time.Duration) (Head, error)
}

// Pruner deletes runs.
type Pruner interface {
	// Delete forgets runs with their records, heads and messages. Those that do not exist are left
	// out. A run of the same key may begin anew.
	Delete(ctx context.Context, keys ...Key) error

	// Vacuum gives up what the store itself still has of deleted runs, such as free pages and logs,
	// as far as it can reach it. It may take long, and hold up others.
	Vacuum(ctx context.Context) error
}
