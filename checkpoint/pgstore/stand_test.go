package pgstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/waittest"
)

// A schema of the first version gets the checksums. A head that was damaged before stays damaged.
func TestStand_migrated(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "v1.sql"))
	require.NoError(t, err)
	c := fresh(t)
	raw(t, c, "CREATE SCHEMA "+c.Schema)
	raw(t, c, string(script), pgx.QueryExecModeSimpleProtocol)
	raw(t, c, "UPDATE runs SET header = '{}' WHERE run = 'runs'")

	storetest.Migrated(t, open(t, c), func() {
		raw(t, c, "ALTER TABLE runs DISABLE TRIGGER older")
		raw(t, c, "UPDATE runs SET last = 1 WHERE run = 'waits'")
	})
}

// A call of an older program that began before the migration of the schema, and waited for its end,
// changes nothing: the older program knows of no checksum. The code of missing functions tells it.
func TestStand_olderInFlight(t *testing.T) {
	for name, call := range map[string]string{
		"a record": `SELECT append_3('', 'r', 'w', 1, -1, false, 1, true, 2, 2, '{7}', '{t}', '{x}', NULL, NULL, NULL, NULL, NULL, NULL)`,
		"an epoch": `SELECT append_3('', 'r', 'w', 9, 0, false, 0, true, 0, 0, '{}', '{}', '{}', NULL, NULL, NULL, NULL, NULL, NULL)`,
		"a lease":  `SELECT lease_3('', 'r', 'v', 1000000)`,
	} {
		t.Run(name, func(t *testing.T) {
			c := fresh(t)
			raw(t, c, "CREATE SCHEMA "+c.Schema)
			raw(t, c, strings.Join(pgstore.Migrations()[:3], "\n"), pgx.QueryExecModeSimpleProtocol)
			raw(t, c, `CREATE TABLE segue_schema (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())`)
			raw(t, c, `INSERT INTO segue_schema (version) VALUES (1), (2), (3)`)
			crc := pgstore.Described(key("r"), &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: "s"})
			raw(t, c, `SELECT append_3('', 'r', 'w', 1, 0, false, 1, true, 1, 1, '{7}', '{t}', '{x}', NULL, $1, $2, $3, $4, $5)`, crc...)

			conn, err := pgx.Connect(t.Context(), c.URL)
			require.NoError(t, err)
			defer conn.Close(context.Background())
			tx, err := conn.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "LOCK TABLE "+c.Schema+".runs IN SHARE MODE") // the migration waits for it
			require.NoError(t, err)
			opened := make(chan error, 1)
			go func() {
				s, err := pgstore.Open(context.Background(), c)
				if err == nil {
					err = s.Close()
				}
				opened <- err
			}()
			waiting := func(what string) {
				t.Helper()
				require.Eventually(t, func() bool {
					return ask(t, c, "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1", what) != "0"
				}, time.Minute, time.Millisecond)
			}
			waiting("%ADD COLUMN stand%")
			called := make(chan error, 1)
			go func() { called <- execute(c, call) }()
			waiting(call)
			require.NoError(t, tx.Rollback(t.Context()))
			require.NoError(t, waittest.Receive(t, opened))

			said, ok := errors.AsType[*pgconn.PgError](waittest.Receive(t, called))
			s := open(t, c)
			head, err := s.Head(t.Context(), key("r"))
			require.NoError(t, err)
			require.Equal(t, []int64{1, 1}, []int64{int64(head.Last), head.Epoch})
			require.True(t, ok)
			require.Equal(t, "42883", said.Code)
		})
	}
}
