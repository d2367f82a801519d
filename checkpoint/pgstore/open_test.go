package pgstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// ask returns what a query of one text says.
func ask(t testing.TB, c pgstore.Config, query string, args ...any) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "SELECT set_config('search_path', $1, false)", c.Schema)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&text))
	return text
}

func TestOpen_config(t *testing.T) {
	const schemas = ": want at most 63 small letters, digits and underscores, without a digit or pg_ at the beginning"
	for want, c := range map[string]pgstore.Config{
		`pgstore: Config.Schema is "Segue"` + schemas:                   {Schema: "Segue"},
		`pgstore: Config.Schema is "a, public"` + schemas:               {Schema: "a, public"},
		`pgstore: Config.Schema is "pg_x"` + schemas:                    {Schema: "pg_x"},
		`pgstore: Config.Schema is "1"` + schemas:                       {Schema: "1"},
		`pgstore: Config.Synchronous is "OFF": want "FULL" or "NORMAL"`: {Synchronous: "OFF"},
	} {
		_, err := pgstore.Open(t.Context(), c)
		require.EqualError(t, err, want)
	}
}

// No error holds a password, however wrong the rest is.
func TestOpen_secrets(t *testing.T) {
	const secret = "c4n4ry"
	for _, url := range []string{
		"postgres://me:" + secret + "/x@127.0.0.1:1/runs", "postgres://me:" + secret + "@127.0.0.1:x/runs", "postgres://me:%" + secret + "@127.0.0.1/runs",
		"postgres://me:" + secret + "@127.0.0.1:1/runs?connect_timeout=2", "postgres://me:" + secret + " x@127.0.0.1:1/runs",
		"host=127.0.0.1 port=1 password=" + secret + " dbname=runs", "host=127.0.0.1 password='" + secret, "password=a " + secret + " x",
		"host=127.0.0.1 port=1 password='x y" + secret + "' sslmode=what", "Host=127.0.0.1 Password = " + secret + " =",
		"host=127.0.0.1 port=1 sslmode=disable passfile=/none sslpassword=" + secret, "postgres://127.0.0.1:1/runs?password=" + secret,
	} {
		_, err := pgstore.Open(t.Context(), pgstore.Config{URL: url})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), secret[:4], url)
		require.NotContains(t, fmt.Sprintf("%+v %#v", err, err), secret, url)
	}
	_, err := pgstore.Open(t.Context(), pgstore.Config{URL: "postgres://me:x/y@127.0.0.1"})
	require.ErrorContains(t, err, "pgstore: Config.URL, or the PG environment variables, cannot be read")
}

// What the server says of a user is told, and of what kind it is.
func TestOpen_refusals(t *testing.T) {
	c := fresh(t)
	wrong := func(change func(*pgx.ConnConfig)) pgstore.Config {
		c := c
		c.Configure = func(p *pgxpool.Config) { change(p.ConnConfig) }
		return c
	}
	_, err := pgstore.Open(t.Context(), wrong(func(c *pgx.ConnConfig) { c.Database = "no such database" }))
	require.ErrorIs(t, err, pgstore.ErrUnreachable)
	require.ErrorContains(t, err, `database "no such database"`)
	_, err = pgstore.Open(t.Context(), wrong(func(c *pgx.ConnConfig) { c.User = "nobody at all" }))
	require.ErrorIs(t, err, pgstore.ErrDenied)
	_, err = pgstore.Open(t.Context(), wrong(func(c *pgx.ConnConfig) { c.RuntimeParams["default_transaction_read_only"] = "on" }))
	require.ErrorIs(t, err, checkpoint.ErrReadOnly)

	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	standby := open(t, wrong(func(c *pgx.ConnConfig) { c.RuntimeParams["default_transaction_read_only"] = "on" }))
	_, err = standby.Head(t.Context(), key("r"))
	require.NoError(t, err)
	require.ErrorIs(t, standby.Append(t.Context(), next("r", 2, "2")), checkpoint.ErrReadOnly)

	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = pgstore.Open(done, c)
	require.ErrorIs(t, err, context.Canceled)
}

// A user that may read and write only can use the tables, and is told that it cannot vacuum them.
func TestOpen_rights(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	name := c.Schema + "_user"
	raw(t, c, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() {
		raw(t, c, "DROP OWNED BY "+name)
		raw(t, c, "DROP ROLE "+name)
	})
	theirs := c
	theirs.Configure = func(p *pgxpool.Config) { // whatever password is asked for
		p.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET ROLE "+name)
			return err
		}
	}
	_, err := pgstore.Open(t.Context(), theirs)
	require.ErrorIs(t, err, pgstore.ErrDenied)
	require.ErrorContains(t, err, "the user lacks the right USAGE on the schema")
	raw(t, c, "GRANT USAGE ON SCHEMA "+c.Schema+" TO "+name)
	_, err = pgstore.Open(t.Context(), theirs)
	require.ErrorIs(t, err, pgstore.ErrDenied)
	raw(t, c, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+c.Schema+" TO "+name)
	user := open(t, theirs)
	require.NoError(t, user.Append(t.Context(), next("r", 2, "2")))
	require.NoError(t, user.Append(t.Context(), first("s", "1")))
	require.NoError(t, user.Delete(t.Context(), key("s")))
	err = user.Vacuum(t.Context())
	require.ErrorIs(t, err, pgstore.ErrDenied)
	require.ErrorContains(t, err, "the user does not own the tables")
}

// A user that could use the tables of the first version can use those that a migration adds.
func TestSchema_rightsAreKept(t *testing.T) {
	c := fresh(t)
	name := c.Schema + "_user"
	raw(t, c, "CREATE SCHEMA "+c.Schema)
	raw(t, c, pgstore.Migrations()[0]+`
		CREATE TABLE segue_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
		INSERT INTO segue_schema (version) VALUES (1);
		CREATE ROLE `+name+`;
		GRANT USAGE ON SCHEMA `+c.Schema+` TO `+name+`;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+c.Schema+" TO "+name+`;
		GRANT SELECT ON inbox TO PUBLIC`, pgx.QueryExecModeSimpleProtocol)
	t.Cleanup(func() {
		raw(t, c, "DROP OWNED BY "+name)
		raw(t, c, "DROP ROLE "+name)
	})
	open(t, c)
	theirs := c
	theirs.Configure = func(p *pgxpool.Config) {
		p.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET ROLE "+name)
			return err
		}
	}
	user := open(t, theirs)
	require.NoError(t, user.Append(t.Context(), first("r", "1")))
	require.NoError(t, user.SaveSnapshot(t.Context(), key("r"), checkpoint.Snapshot{Records: 1, Data: []byte("state")}))
	_, err := user.Snapshot(t.Context(), key("r"))
	require.NoError(t, err)
	require.NoError(t, user.Delete(t.Context(), key("r")))
	require.Equal(t, "0", ask(t, c, "SELECT count(*)::text FROM snapshots"))
	rights := "SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM pg_class, unnest(relacl) a WHERE oid = $1::regclass"
	require.Equal(t, ask(t, c, rights, "inbox"), ask(t, c, rights, "snapshots"))
}

// A schema of something else is refused, and not changed. One that is empty is as good as none.
func TestOpen_foreign(t *testing.T) {
	c := fresh(t)
	raw(t, c, "CREATE SCHEMA "+c.Schema)
	raw(t, c, "CREATE TABLE runs (id integer)")
	_, err := pgstore.Open(t.Context(), c)
	require.ErrorIs(t, err, checkpoint.ErrForeign)
	require.ErrorContains(t, err, "this is not a store of runs: the schema holds 1 tables, indexes and the like of another program (name another schema; nothing was changed in this one)")
	require.Equal(t, "1", ask(t, c, "SELECT count(*)::text FROM pg_class WHERE relnamespace = $1::regnamespace", c.Schema))
	raw(t, c, "DROP TABLE runs")
	require.NoError(t, open(t, c).Append(t.Context(), first("r", "1")))
}

// Connections flush what they write, also where the server is told otherwise, unless they need not.
func TestOpen_synchronous(t *testing.T) {
	c := fresh(t)
	open(t, c)
	for _, x := range []struct {
		mode         pgstore.Synchronous
		server, want string
	}{
		{pgstore.Full, "on", "on"},
		{pgstore.Full, "off", "on"},
		{pgstore.Full, "local", "local"},
		{pgstore.Full, "remote_apply", "remote_apply"},
		{pgstore.Normal, "on", "off"},
	} {
		var is string
		c := c
		c.Synchronous = x.mode
		c.Configure = func(p *pgxpool.Config) {
			p.ConnConfig.RuntimeParams["synchronous_commit"] = x.server
			p.AfterRelease = func(conn *pgx.Conn) bool {
				if err := conn.QueryRow(context.Background(), "SHOW synchronous_commit").Scan(&is); err != nil {
					is = err.Error()
				}
				return false
			}
		}
		s := open(t, c)
		_, err := s.Head(t.Context(), key("r"))
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		require.NoError(t, s.Close())
		require.Equal(t, x.want, is, "%v", x)
	}
}

// Many that open a schema that is not there yet at once all get it.
func TestOpen_atOnce(t *testing.T) {
	c := fresh(t)
	storetest.AtOnce(t, func() (storetest.Store, error) { return pgstore.Open(t.Context(), c) })
	require.Equal(t, fmt.Sprint(len(pgstore.Migrations())), ask(t, c, "SELECT count(*)::text FROM segue_schema"))
}

// A program that knows fewer migrations refuses a schema: when it opens it, and when a newer
// program changes it meanwhile. The newer one brings an older schema up to date.
func TestSchema_newer(t *testing.T) {
	// Each migration has to do one of these, also beside statements that the server has prepared.
	for what, text := range map[string]string{"drops": "DROP FUNCTION $name CASCADE;", "renames": "ALTER FUNCTION $name RENAME TO newer_$number;"} {
		t.Run(what, func(t *testing.T) { testNewer(t, text) })
	}
}

func testNewer(t *testing.T, text string) {
	t.Helper()
	c := fresh(t)
	old := open(t, c)
	require.NoError(t, old.Append(t.Context(), first("r", "1")))
	require.NoError(t, old.Append(t.Context(), first("gone", "1")))
	require.NoError(t, old.Post(t.Context(), checkpoint.Message{ID: "l", Key: key("r")}))
	require.NoError(t, old.Delete(t.Context(), key("gone")))

	var more strings.Builder
	for i, name := range functions(t, c) {
		more.WriteString(strings.NewReplacer("$name", name, "$number", fmt.Sprint(i)).Replace(text))
	}
	newer, err := pgstore.OpenWith(t.Context(), c, more.String()+"ALTER TABLE runs ADD COLUMN mood text; CREATE TABLE more (id integer)")
	require.NoError(t, err)
	defer newer.Close()

	storetest.Newer(t, old, newer, func() error {
		_, err := pgstore.Open(t.Context(), c)
		return err
	})
}

// functions returns those of a schema, as DROP FUNCTION names them.
func functions(t *testing.T, c pgstore.Config) []string {
	t.Helper()
	return strings.Split(ask(t, c, "SELECT string_agg(oid::regprocedure::text, ';' ORDER BY oid) FROM pg_proc WHERE pronamespace = $1::regnamespace", c.Schema), ";")
}

// What writes is of the newest version alone, so that programs of another cannot write.
func TestSchema_functions(t *testing.T) {
	c := fresh(t)
	open(t, c)
	version := len(pgstore.Migrations())
	for _, name := range functions(t, c) {
		require.Regexp(t, fmt.Sprintf(`_%d\(`, version), name)
	}
}

// A migration that fails leaves the schema as it was.
func TestSchema_failedMigration(t *testing.T) {
	c := fresh(t)
	require.NoError(t, open(t, c).Append(t.Context(), first("r", "1")))
	_, err := pgstore.OpenWith(t.Context(), c, "CREATE TABLE more (id integer); CREATE TABLE runs (id integer)")
	require.ErrorIs(t, err, pgstore.ErrServer)
	require.NoError(t, open(t, c).Append(t.Context(), next("r", 2, "2")))
	require.Equal(t, "true", ask(t, c, "SELECT (to_regclass('more') IS NULL)::text"))
}

// The schemas of the first version, and of the one that added checksums of where runs stand, can be
// opened for ever. The last was written by
//
//	SEGUE_REWRITE=1 go test -run TestSchema_golden
func TestSchema_golden(t *testing.T) {
	if os.Getenv("SEGUE_REWRITE") != "" {
		writeGolden(t, filepath.Join("testdata", "v4.sql"))
	}
	for _, version := range []int{1, 4} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testGolden(t, version) })
	}
}

func testGolden(t *testing.T, version int) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("v%d.sql", version)))
	require.NoError(t, err)
	migrations := strings.Join(pgstore.Migrations()[:version], "\n")
	require.True(t, strings.HasPrefix(string(script), migrations), "a migration that was released is never changed")
	c := fresh(t)
	raw(t, c, "CREATE SCHEMA "+c.Schema)
	raw(t, c, string(script), pgx.QueryExecModeSimpleProtocol)
	h := storetest.Old(t, open(t, c), checkpoint.Query{
		Status: []checkpoint.Status{checkpoint.StatusWaiting}, Labels: map[string]string{"team": "red"},
		Wait: "approval", Strategy: "s", Origin: "runs", Due: time.Unix(1<<31, 0), Posted: true,
	})
	require.Equal(t, "w", h.Lease.Writer)
}

// writeGolden writes what makes a schema of this version, with what a store has put into it.
func writeGolden(t *testing.T, path string) {
	t.Helper()
	c := fresh(t)
	storetest.Fill(t, open(t, c))
	script := strings.Join(pgstore.Migrations(), "\n") + "\nCREATE TABLE segue_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());\n"
	for _, table := range []string{"segue_schema", "runs", "records", "inbox"} {
		rows := ask(t, c, "SELECT json_agg(t)::text FROM "+table+" t")
		require.NotContains(t, rows, "$$")
		script += fmt.Sprintf("\nINSERT INTO %[1]s OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::%[1]s, $$\n%[2]s\n$$);\n", table, rows)
	}
	for _, table := range []string{"runs", "inbox"} {
		script += fmt.Sprintf("\nSELECT setval(pg_get_serial_sequence('%s', 'id'), 1000);\n", table)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(script), 0o644))
}
