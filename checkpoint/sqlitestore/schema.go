package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// application is the application_id of the files of this package: "Sgue".
const application = 0x53677565

//go:embed migrations/*.sql
var scripts embed.FS

// migrations returns the scripts that lead from each version of the schema to the next. The first
// leads to version 1. A script that was released is never changed; a new one is added.
func migrations() []string {
	names, err := fs.Glob(scripts, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	list := make([]string, len(names))
	for i, name := range names {
		text, err := scripts.ReadFile(name)
		if err != nil {
			panic(err) // the file is in the program
		}
		list[i] = string(text)
	}
	return list
}

// schema brings a file to the newest version.
type schema struct {
	path     string
	conn     *sql.Conn
	steps    []string
	patience time.Duration
}

// prepare checks the file, and then brings it to the newest version. It does not change a file of
// another program, or of a newer version.
func (s *schema) prepare(ctx context.Context) error {
	if err := s.own(ctx); err != nil {
		return err
	}
	version, err := s.number(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > len(s.steps) {
		return newer(s.path, version, len(s.steps))
	}
	if err := s.log(ctx); err != nil {
		return err
	}
	if version == len(s.steps) {
		return nil
	}
	return s.migrate(ctx)
}

// own returns an error unless the file is empty, or a file of this package.
func (s *schema) own(ctx context.Context) error {
	id, err := s.number(ctx, "PRAGMA application_id")
	if err != nil {
		return err
	}
	if id == application {
		return nil
	}
	things, err := s.number(ctx, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	version, err := s.number(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if id != 0 || things != 0 || version != 0 {
		problem := fmt.Sprintf("it is the SQLite database of another program (application_id %#x, user_version %d, %d tables and indexes)", id, version, things)
		return failure(&checkpoint.Error{Place: s.path, Kind: checkpoint.ErrForeign, Problem: problem})
	}
	return nil
}

// number returns the number that a query finds.
func (s *schema) number(ctx context.Context, query string) (n int, err error) {
	if err = s.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fault(s.path, checkpoint.Key{}, err)
	}
	return n, nil
}

// log has SQLite write to a log. Unlike SQLite, it waits for others that open the file at the same
// time.
func (s *schema) log(ctx context.Context) error {
	for until := time.Now().Add(s.patience); ; {
		var mode string
		err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			problem := fmt.Sprintf("SQLite cannot write a log in its folder (journal_mode is %q): the folder may be on a network's disk", mode)
			return failure(&checkpoint.Error{Place: s.path, Kind: ErrDisk, Problem: problem})
		case err == nil:
			return nil
		case !busy(err) || time.Now().After(until):
			return fault(s.path, checkpoint.Key{}, err)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fault(s.path, checkpoint.Key{}, err)
		}
	}
}

// migrate runs the scripts that are missing, all of them or none.
func (s *schema) migrate(ctx context.Context) (err error) {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fault(s.path, checkpoint.Key{}, err)
	}
	defer func() {
		if err != nil {
			_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	version, err := s.number(ctx, "PRAGMA user_version") // another process may have migrated it since
	if err != nil {
		return err
	}
	if version > len(s.steps) {
		return newer(s.path, version, len(s.steps))
	}
	work := append([]string{}, s.steps[version:]...)
	work = append(work,
		fmt.Sprintf("PRAGMA application_id = %d", application),
		fmt.Sprintf("PRAGMA user_version = %d", len(s.steps)),
		"COMMIT")
	for _, script := range work {
		if _, err := s.conn.ExecContext(ctx, script); err != nil {
			return fault(s.path, checkpoint.Key{}, err)
		}
	}
	return nil
}

// pause waits, or returns the error of ctx once ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
