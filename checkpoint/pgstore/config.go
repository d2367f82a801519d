package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config says which server a [Store] keeps its runs on, and how.
type Config struct {
	// URL says how to connect: a URL
	// (postgres://user:password@address:5432/database?sslmode=verify-full) or settings
	// (host=/run/postgresql dbname=runs), as libpq and pgx read them, pool_max_conns and the like
	// among them. What it does not say, and all if it is empty, the PG environment variables and
	// the password file say.
	URL string

	// Schema is the schema of the database that holds the tables, and nothing of anybody else. It
	// is created if it is not there. Default: "segue". Small letters, digits and underscores, 63 at
	// most; it begins with none of the digits, nor with pg_.
	Schema string

	// Synchronous says when the server flushes its log. Default: [Full].
	Synchronous Synchronous

	// Configure, if it is not nil, changes how connections are made: their number, TLS, passwords
	// that are fetched each time, a tracer. It is called once, by Open.
	Configure func(*pgxpool.Config)
}

// Synchronous says when the server flushes what was written.
type Synchronous string

const (
	// Full flushes each transaction before it is acknowledged: what was acknowledged survives a
	// crash of the server and a loss of power. The setting synchronous_commit of the server says
	// whether standbys are waited for, too; if it is off, it is on for the connections of the
	// Store.
	Full Synchronous = "FULL"

	// Normal sets synchronous_commit off: the server flushes a little later. Its crash may take
	// the transactions of the last moments: runs then stand as they did before, whole and without
	// gaps, and what they did since is done again. For runs whose tools may all be called twice.
	Normal Synchronous = "NORMAL"
)

const usualSchema = "segue"

var goodSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// complete fills in defaults, or says what is wrong.
func (c Config) complete() (Config, error) {
	c.Schema = cmp.Or(c.Schema, usualSchema)
	if !goodSchema.MatchString(c.Schema) || len(c.Schema) > 2 && c.Schema[:3] == "pg_" {
		return c, fmt.Errorf("pgstore: Config.Schema is %.80q: it may hold 63 small letters, digits and underscores, begin with no digit, and not with pg_", c.Schema)
	}
	switch c.Synchronous = cmp.Or(c.Synchronous, Full); c.Synchronous {
	case Full, Normal:
		return c, nil
	default:
		return c, fmt.Errorf("pgstore: Config.Synchronous is %q: it may be %q or %q", c.Synchronous, Full, Normal)
	}
}

// pool returns how connections are made.
func (c *Config) pool() (*pgxpool.Config, error) {
	p, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// What the error says may hold a part of the password: nobody knows where it is in a text
		// that cannot be read.
		return nil, errors.New("pgstore: Config.URL, or the PG environment variables, cannot be read: want postgres://user:password@address:5432/database " +
			"with / as %2F and so on in the password, or host=… dbname=… with values that have blanks in single quotation marks, settings that PostgreSQL knows, and files that are there")
	}
	if c.Configure != nil {
		c.Configure(p)
	}
	prepare, connected := p.PrepareConn, p.AfterConnect
	p.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		switch {
		case !alive(conn.PgConn().Conn()):
			return false, nil
		case prepare != nil:
			return prepare(ctx, conn)
		default:
			return true, nil
		}
	}
	p.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if connected != nil {
			if err := connected(ctx, conn); err != nil {
				return err
			}
		}
		return c.set(ctx, conn)
	}
	return p, nil
}

// settings of each connection. Tables are found in the schema alone; the first statement of a
// transaction that waits for another sees what that one did; lists are too short to be compiled.
const settings = `SELECT set_config('search_path', $1, false),
	set_config('default_transaction_isolation', 'read committed', false),
	set_config('jit', 'off', false),
	set_config('synchronous_commit', CASE
		WHEN $2 THEN 'off'
		WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
		ELSE current_setting('synchronous_commit') END, false)`

func (c *Config) set(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, settings, pgx.QueryExecModeExec, c.Schema, c.Synchronous == Normal)
	return err
}

// place names the server, the database and the schema.
func (c *Config) place(p *pgxpool.Config) string {
	server := p.ConnConfig.Host
	if network, _ := networkOf(server); network != "unix" {
		server = net.JoinHostPort(server, strconv.Itoa(int(p.ConnConfig.Port)))
	}
	return fmt.Sprintf("%s, database %q, schema %q", server, p.ConnConfig.Database, c.Schema)
}

// networkOf tells the folder of a socket from a name.
func networkOf(server string) (network, address string) {
	if len(server) > 0 && (server[0] == '/' || server[0] == '@') {
		return "unix", server
	}
	return "tcp", server
}
