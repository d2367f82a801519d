package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/segue-go/segue/checkpoint"
)

// What an [*Error] wraps.
var (
	// ErrUnreachable: no connection could be made. Nothing was done.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrLost: the connection was lost. What was asked for may have been done, or not.
	ErrLost = errors.New("the connection was lost")
	// ErrDenied: the server does not know the user, or does not let it do this.
	ErrDenied = errors.New("the server does not allow it")
	// ErrBusy: the server has too many connections, or what was asked for waited too long for
	// others.
	ErrBusy = errors.New("the server is too busy")
	// ErrFull: there is no room on the server's disk.
	ErrFull = errors.New("the server's disk is full")
	// ErrReadOnly: the server takes no changes, as a standby does.
	ErrReadOnly = errors.New("the server takes no changes")
	// ErrCorrupt: what is in the database is not what was written to it.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrForeign: the schema holds something else than a store of runs.
	ErrForeign = errors.New("the schema is no store of runs")
	// ErrNewer: a newer program has changed the schema. See SchemaError.
	ErrNewer = errors.New("a newer program has changed the schema")
	// ErrTooLarge: a batch, message or snapshot has more bytes than one statement can take.
	ErrTooLarge = errors.New("a batch, message or snapshot is too large")
	// ErrText: a writer, the type of a record or the id of a message is no text that PostgreSQL can
	// hold. They are ASCII without NUL.
	ErrText = errors.New("a text cannot be stored")
	// ErrUnfit: the server or its database cannot be used: it is too old, or has another encoding.
	ErrUnfit = errors.New("the database cannot be used")
	// ErrClosed: the Store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrServer: the server failed in another way. Its error is wrapped, too.
	ErrServer = errors.New("the server failed")
)

// advice says what to do.
var advice = map[error]string{
	ErrUnreachable: "start it, look at its address, and try again",
	ErrLost:        "make the very same call again: what was done is not done twice",
	ErrDenied:      "look at user and password, and at the rights on database and schema",
	ErrBusy:        "try again, use fewer connections, or allow the server more",
	ErrFull:        "make room; nothing that was acknowledged is lost, and what failed may be tried again",
	ErrReadOnly:    "connect to the primary server",
	ErrCorrupt:     "copy the database, then restore a backup",
	ErrForeign:     "name another schema, it was not changed",
	ErrTooLarge:    "keep large values elsewhere, and store their names",
	ErrText:        "use ASCII without NUL",
	ErrServer:      "look at the server's log",
}

// Error is what went wrong with the database. It wraps Kind and Err.
type Error struct {
	Place   string         // server, database and schema
	Key     checkpoint.Key // the run; zero: it was not about one run
	Record  int            // the place of the record; 0: it was not about one
	Kind    error          // one of the Err variables
	Problem string         // more about it, perhaps
	Err     error          // what the server or the system says; may be nil
}

// Error names the database, the run and the record, and says what to do. It holds no password.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pgstore: %s: ", e.Place)
	if e.Key != (checkpoint.Key{}) {
		fmt.Fprintf(&b, "run %.64q: ", e.Key.String())
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, "record %d: ", e.Record)
	}
	b.WriteString(e.Kind.Error())
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if do := advice[e.Kind]; do != "" {
		b.WriteString(" (" + do + ")")
	}
	return b.String()
}

// Unwrap returns Kind and Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// SchemaError says that a newer program has changed the schema to a form that this one does not
// know. It wraps [ErrNewer].
type SchemaError struct {
	Place   string // server, database and schema
	Version int    // of the schema
	Known   int    // the newest that this program knows
}

// Error names the database and both versions.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("pgstore: %s: %v: it has version %d, and this program knows versions up to %d (run the newer program, or name another schema)", e.Place, ErrNewer, e.Version, e.Known)
}

// Unwrap returns [ErrNewer].
func (e *SchemaError) Unwrap() error { return ErrNewer }

// fault says in the words of this package what failed.
func fault(ctx context.Context, place string, key checkpoint.Key, err error) error {
	var own *Error
	var newer *SchemaError
	switch {
	case errors.As(err, &own), errors.As(err, &newer):
		return err
	case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, checkpoint.ErrConflict), errors.Is(err, checkpoint.ErrLeased):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("pgstore: run %.64q: %w", key.String(), ctx.Err())
	}
	kind := kindOf(err)
	if connecting, ok := errors.AsType[*pgconn.ConnectError](err); ok { // which holds the password
		err = connecting.Unwrap()
	}
	return &Error{Place: place, Key: key, Kind: kind, Err: err}
}

// codes are those of the server's errors that have a kind of their own.
var codes = map[string]error{
	"25006": ErrReadOnly,
	"42501": ErrDenied,
	"53100": ErrFull,
	"53300": ErrBusy,
	"40001": ErrBusy,
	"40P01": ErrBusy,
	"55P03": ErrBusy,
	"57014": ErrBusy,
	"54000": ErrTooLarge,
	"22021": ErrText,
	"23502": ErrCorrupt,
	"23505": ErrCorrupt,
}

func kindOf(err error) error {
	var said *pgconn.PgError
	var connecting *pgconn.ConnectError
	told := errors.As(err, &said)
	switch {
	case told && codes[said.Code] != nil:
		return codes[said.Code]
	case told && strings.HasPrefix(said.Code, "28"):
		return ErrDenied
	case told && strings.HasPrefix(said.Code, "XX"):
		return ErrCorrupt
	case errors.As(err, &connecting):
		return ErrUnreachable
	case told && (strings.HasPrefix(said.Code, "57P") || strings.HasPrefix(said.Code, "08")):
		return ErrLost
	case told:
		return ErrServer
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, end) {
			return ErrLost
		}
	}
	if _, broken := errors.AsType[net.Error](err); broken {
		return ErrLost
	}
	return ErrServer
}

// undefined reports whether something is missing in the database that this program calls.
func undefined(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "42883" || said.Code == "42P01" || said.Code == "42703")
}
