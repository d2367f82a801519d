package pgstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
)

//go:embed migrations/*.sql
var scripts embed.FS

// migrations returns the scripts that lead from each version of the schema to the next. The first
// leads to version 1. A script that was released is never changed; a new one is added, which drops
// or renames the functions of the version before, so that all functions have its number.
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

// oldest is the oldest version of PostgreSQL that this package can use, as the server counts.
const oldest = 140000

// lock is the number of the advisory lock that a migration holds, with the schema: "Sgue".
const lock = 0x53677565

// schema is the schema of a store, as a connection sees it.
type schema struct {
	place string
	name  string
	conn  *pgx.Conn
	steps []string
	known int
}

// prepare checks the schema, and then brings it to the newest version. It does not change a schema
// of another program, or of a newer version.
func (s *schema) prepare(ctx context.Context) error {
	s.known = len(s.steps)
	if err := s.fits(ctx); err != nil {
		return err
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	if version == s.known {
		return nil
	}
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error { return s.migrate(ctx, tx) })
}

// fits returns an error unless a store can be in the database.
func (s *schema) fits(ctx context.Context) error {
	const text = `SELECT current_setting('server_version_num')::integer, current_setting('server_version'), current_setting('server_encoding')`
	var number int
	var name, encoding string
	if err := s.conn.QueryRow(ctx, text).Scan(&number, &name, &encoding); err != nil {
		return err
	}
	switch {
	case number < oldest:
		return failure(&checkpoint.Error{Place: s.place, Kind: ErrUnfit, Problem: fmt.Sprintf("its server is PostgreSQL %s, and version %d is needed", name, oldest/10000)})
	case encoding != "UTF8":
		return failure(&checkpoint.Error{Place: s.place, Kind: ErrUnfit, Problem: fmt.Sprintf("its encoding is %s, and UTF8 is needed", encoding)})
	default:
		return nil
	}
}

// version returns the version of the schema; 0 if the schema is empty or does not exist.
func (s *schema) version(ctx context.Context) (version int, err error) {
	const (
		things = `SELECT coalesce(has_schema_privilege(n.oid, 'USAGE'), true), count(c.oid), count(*) FILTER (WHERE c.relname = 'segue_schema')
			FROM (SELECT to_regnamespace($1)::oid AS oid) AS n LEFT JOIN pg_class c ON c.relnamespace = n.oid GROUP BY n.oid`
		number = `SELECT coalesce(max(version), 0) FROM segue_schema`
	)
	var allowed bool
	var tables, ours int
	if err := s.conn.QueryRow(ctx, things, s.name).Scan(&allowed, &tables, &ours); err != nil {
		return 0, err
	}
	switch {
	case !allowed:
		return 0, failure(&checkpoint.Error{Place: s.place, Kind: ErrDenied, Problem: "the user lacks the right USAGE on the schema"})
	case ours == 0 && tables > 0:
		problem := fmt.Sprintf("the schema holds %d tables, indexes and the like of another program", tables)
		return 0, failure(&checkpoint.Error{Place: s.place, Kind: checkpoint.ErrForeign, Problem: problem})
	case ours == 0:
		return 0, nil
	}
	if err := s.conn.QueryRow(ctx, number).Scan(&version); err != nil {
		return 0, err
	}
	if version > s.known {
		return version, newer(s.place, version, s.known)
	}
	return version, nil
}

// newer returns an error if a newer program has changed the schema.
func (s *schema) newer(ctx context.Context) error {
	_, err := s.version(ctx)
	return err
}

// begin creates the schema of the search path, and the table of its versions.
const begin = `DO $$
DECLARE
  name text := current_setting('search_path');
BEGIN
  IF to_regnamespace(name) IS NULL THEN
    EXECUTE format('CREATE SCHEMA %I', name);
  END IF;
  CREATE TABLE IF NOT EXISTS segue_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
END $$`

// migrate runs the scripts that are missing, all of them or none. Others that migrate the schema
// wait.
func (s *schema) migrate(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, lock, s.name); err != nil {
		return err
	}
	version, err := s.version(ctx) // another process may have migrated it since
	if err != nil || version == s.known {
		return err
	}
	if _, err := tx.Exec(ctx, begin, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	for i, step := range s.steps[version:] {
		if _, err := tx.Exec(ctx, step, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO segue_schema (version) VALUES ($1)`, version+i+1); err != nil {
			return err
		}
	}
	return nil
}
