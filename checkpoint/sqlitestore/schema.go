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

// application stands in the files of this package: "Sgue".
const application = 0x53677565

//go:embed migrations/*.sql
var scripts embed.FS

// migrations returns what leads from each version of the schema to the next one. A file of version
// 1 has had the first. None of them is ever changed once it was released: a new one is added.
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

// schema makes a file one of the newest version.
type schema struct {
	path     string
	conn     *sql.Conn
	steps    []string
	patience time.Duration
}

// prepare looks at the file before anything in it is changed, and then brings it to the newest
// version. It does nothing to the file of somebody else, or of a newer program.
func (s *schema) prepare(ctx context.Context) error {
	if err := s.own(ctx); err != nil {
		return err
	}
	version, err := s.number(ctx, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > len(s.steps) {
		return &checkpoint.SchemaError{Store: packageName, Place: s.path, Version: version, Known: len(s.steps)}
	}
	if err := s.log(ctx); err != nil {
		return err
	}
	if version == len(s.steps) {
		return nil
	}
	return s.migrate(ctx)
}

// own returns an error unless the file is empty, or one of this package.
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
		return failure(&checkpoint.StoreError{Place: s.path, Kind: checkpoint.ErrForeign, Problem: problem})
	}
	return nil
}

func (s *schema) number(ctx context.Context, query string) (n int, err error) {
	if err = s.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fault(s.path, checkpoint.Key{}, err)
	}
	return n, nil
}

// log has SQLite write ahead. Others that open the file at the same time are waited for: SQLite
// itself does not.
func (s *schema) log(ctx context.Context) error {
	for until := time.Now().Add(s.patience); ; {
		var mode string
		err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			problem := fmt.Sprintf("its folder does not let SQLite write ahead (journal_mode is %q): it may be on a network's disk", mode)
			return failure(&checkpoint.StoreError{Place: s.path, Kind: ErrDisk, Problem: problem})
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

// migrate makes the steps that are missing, all of them or none.
func (s *schema) migrate(ctx context.Context) (err error) {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fault(s.path, checkpoint.Key{}, err)
	}
	defer func() {
		if err != nil {
			_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	version, err := s.number(ctx, "PRAGMA user_version") // somebody else may have been here since
	if err != nil {
		return err
	}
	if version > len(s.steps) {
		return &checkpoint.SchemaError{Store: packageName, Place: s.path, Version: version, Known: len(s.steps)}
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

// pause waits, unless ctx is done.
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
