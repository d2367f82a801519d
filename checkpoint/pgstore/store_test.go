package pgstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/pgtest"
	"github.com/segue-go/segue/internal/prove"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func config(url, schema string) pgstore.Config { return pgstore.Config{URL: url, Schema: schema} }

// fresh returns the config of a schema that is not there yet, and is dropped in the end.
func fresh(t testing.TB) pgstore.Config {
	t.Helper()
	c := config(pgtest.URL(t), "segue_test_"+strings.ToLower(rand.Text()))
	t.Cleanup(func() { raw(t, c, "DROP SCHEMA IF EXISTS "+c.Schema+" CASCADE") })
	return c
}

func open(t testing.TB, c pgstore.Config) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// raw does something to a schema as another program can.
func raw(t testing.TB, c pgstore.Config, text string, args ...any) {
	t.Helper()
	require.NoError(t, execute(c, text, args...), text)
}

// execute runs a statement, in which runs, records and inbox are those of the schema.
func execute(c pgstore.Config, text string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT set_config('search_path', $1, false)", c.Schema); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, text, args...)
	return err
}

func TestConformance(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	checkpointtest.Test(t, func(t *testing.T) checkpoint.Store {
		raw(t, c, "TRUNCATE runs, records, inbox, snapshots, run_values, value_parts")
		return s
	})
}

// Each of its tests makes and drops a schema, too.
func TestModel(t *testing.T) {
	prove.Checks(t, prove.Cases()/10) // since a disk is slow
	checkpointtest.Model(t, func(t *testing.T) checkpoint.Store { return open(t, fresh(t)) })
}

var (
	key     = storetest.Key
	first   = storetest.First
	next    = storetest.Next
	content = storetest.Content
	journal = storetest.Journal
)
