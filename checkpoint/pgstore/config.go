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

// Config says where a [Store] keeps its runs, and how.
type Config struct {
	// URL says how to connect to the server: a URL
	// (postgres://user:password@address:5432/database?sslmode=verify-full) or settings
	// (host=/run/postgresql dbname=runs), as libpq and pgx read them, including the settings of the
	// pool, such as pool_max_conns. The PG environment variables and the password file supply what
	// URL leaves out; it may be empty.
	URL string

	// Schema is the schema of the database that holds the tables, and nothing else. Open creates it
	// if it does not exist. It has at most 63 small letters, digits and underscores, and begins
	// neither with a digit nor with pg_. Default: "segue".
	Schema string

	// Synchronous says when the server flushes its log. Default: [Full].
	Synchronous Synchronous

	// Configure, if not nil, changes the settings of the connections, such as their number, TLS,
	// passwords that are fetched each time, or a tracer. Open calls it once.
	Configure func(*pgxpool.Config)
}

// Synchronous says when the server flushes what was written.
type Synchronous string

const (
	// Full flushes each transaction before it is acknowledged: what was acknowledged survives a
	// crash of the server and a loss of power. The server's setting synchronous_commit says whether
	// a transaction waits for standbys, too; where the setting is off, the Store turns it on for
	// its own connections.
	Full Synchronous = "FULL"

	// Normal turns synchronous_commit off: the server flushes a little later. A crash of the server
	// may lose the transactions of the last moments. Each run then stands as it did before them,
	// whole and without gaps, and does again what it did since. Use Normal only if every tool may
	// be called twice.
	Normal Synchronous = "NORMAL"
)

const usualSchema = "segue"

var goodSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// complete returns the Config with its defaults, or an error that says what is wrong.
func (c Config) complete() (Config, error) {
	c.Schema = cmp.Or(c.Schema, usualSchema)
	if !goodSchema.MatchString(c.Schema) || len(c.Schema) > 2 && c.Schema[:3] == "pg_" {
		return c, fmt.Errorf("pgstore: Config.Schema is %.80q: want at most 63 small letters, digits and underscores, without a digit or pg_ at the beginning", c.Schema)
	}
	switch c.Synchronous = cmp.Or(c.Synchronous, Full); c.Synchronous {
	case Full, Normal:
		return c, nil
	default:
		return c, fmt.Errorf("pgstore: Config.Synchronous is %q: want %q or %q", c.Synchronous, Full, Normal)
	}
}

// pool returns the settings of the pool of connections.
func (c *Config) pool() (*pgxpool.Config, error) {
	p, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// The text of err may hold a part of the password: in a URL that cannot be read, nobody
		// knows where the password is.
		return nil, errors.New("pgstore: Config.URL, or the PG environment variables, cannot be read: want postgres://user:password@address:5432/database, " +
			"with / as %2F and the like in the password, or host=… dbname=…, with single quotation marks around values that have blanks; only settings that PostgreSQL knows; and only files that exist")
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

// settings is the statement that sets up each connection. The server looks for tables in the schema
// alone. A statement that has waited for another transaction sees what that transaction did.
// Queries are too short for compiling (jit) to pay.
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

// networkOf returns the network and the address of a server, whose name may be the folder of a
// socket.
func networkOf(server string) (network, address string) {
	if len(server) > 0 && (server[0] == '/' || server[0] == '@') {
		return "unix", server
	}
	return "tcp", server
}
