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

// The kinds of failure that only this store has. A [checkpoint.Error] of this package wraps
// one of them, or a kind of package checkpoint, such as [checkpoint.ErrFull].
var (
	// ErrUnreachable means that no connection to the server could be made. Nothing was done.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrLost means that the connection was lost during the call. The server has done all that the
	// call asked for, or nothing.
	ErrLost = errors.New("the connection was lost")
	// ErrDenied means that the server does not know the user, or does not let the user do this.
	ErrDenied = errors.New("the server denies access")
	// ErrText means that a writer, the type of a record or the id of a message is a text that
	// PostgreSQL cannot hold. They must be ASCII without NUL.
	ErrText = errors.New("PostgreSQL cannot hold the text")
	// ErrUnfit means that no store can be in this database: the server is too old, or the encoding
	// of the database is not UTF8.
	ErrUnfit = errors.New("the database cannot hold a store")
	// ErrServer means that the server failed in another way. The error of the server is wrapped,
	// too.
	ErrServer = errors.New("the server failed")
)

// packageName is the Store of the errors of this package.
const packageName = "pgstore"

// advice says what to do about a kind of failure, where package checkpoint does not say it, or this
// package can say more.
var advice = map[error]string{
	ErrUnreachable:         "start the server, check its address, and try again",
	ErrLost:                "make the very same call again; what the server has done, it does not do twice",
	ErrDenied:              "check the user, the password, and the user's rights on the database and the schema",
	ErrText:                "use ASCII without NUL",
	ErrServer:              "read the server's log",
	checkpoint.ErrBusy:     "try again, use fewer connections, or let the server take more",
	checkpoint.ErrReadOnly: "connect to the primary server",
	checkpoint.ErrCorrupt:  "copy the database, then restore a backup",
	checkpoint.ErrForeign:  "name another schema; nothing was changed in this one",
}

// failure completes an error of this store. Its Place names the server, the database and the
// schema.
func failure(e *checkpoint.Error) error {
	e.Store, e.Advice = packageName, advice[e.Kind]
	return e
}

// corrupt returns the error of a run of which something is damaged.
func (s *Store) corrupt(key checkpoint.Key, problem string) error {
	return failure(&checkpoint.Error{Place: s.place, Key: key, Kind: checkpoint.ErrCorrupt, Problem: problem})
}

// newer returns the error of a store that a newer program has changed.
func newer(place string, version, known int) error {
	return failure(&checkpoint.Error{
		Place: place, Kind: checkpoint.ErrNewer,
		Problem: fmt.Sprintf("its schema has version %d, and this program knows versions up to %d", version, known),
	})
}

// fault converts an error of a call to an error that names the place and the run. An error that is
// one already stays as it is.
func fault(ctx context.Context, place string, key checkpoint.Key, err error) error {
	var own *checkpoint.Error
	switch {
	case errors.As(err, &own):
		return err
	case ctx.Err() != nil && key == (checkpoint.Key{}):
		return fmt.Errorf("pgstore: %s: %w", place, ctx.Err())
	case ctx.Err() != nil:
		return fmt.Errorf("pgstore: run %.64q: %w", key.String(), ctx.Err())
	}
	kind := kindOf(err)
	if connecting, ok := errors.AsType[*pgconn.ConnectError](err); ok { // its text holds the password
		err = connecting.Unwrap()
	}
	return failure(&checkpoint.Error{Place: place, Key: key, Kind: kind, Err: err})
}

// kinds maps codes of the server's errors to kinds of failure.
var kinds = map[string]error{
	"25006": checkpoint.ErrReadOnly,
	"42501": ErrDenied,
	"53100": checkpoint.ErrFull,
	"53300": checkpoint.ErrBusy,
	"40001": checkpoint.ErrBusy,
	"40P01": checkpoint.ErrBusy,
	"55P03": checkpoint.ErrBusy,
	"57014": checkpoint.ErrBusy,
	"54000": checkpoint.ErrTooLarge,
	"22021": ErrText,
	"23502": checkpoint.ErrCorrupt,
	"23505": checkpoint.ErrCorrupt,
	"XX001": checkpoint.ErrCorrupt,
	"XX002": checkpoint.ErrCorrupt,
}

// kindOf returns the kind of failure that an error of pgx or of the server is.
func kindOf(err error) error {
	var said *pgconn.PgError
	var connecting *pgconn.ConnectError
	told := errors.As(err, &said)
	switch {
	case told && kinds[said.Code] != nil:
		return kinds[said.Code]
	case told && strings.HasPrefix(said.Code, "28"):
		return ErrDenied
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

// undefined reports whether a function, table or column that this program uses is not in the
// schema.
func undefined(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "42883" || said.Code == "42P01" || said.Code == "42703")
}
