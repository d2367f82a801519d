package soak

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/internal/pgtest"
)

// newStore makes an empty store of a kind, and returns its name. Without PostgreSQL it skips the
// test of such a store.
func newStore(t testing.TB, kind string) string {
	t.Helper()
	if kind == "postgres" {
		return fmt.Sprintf("%s:segue_soak_%s:%s", kind, strings.ToLower(rand.Text()), pgtest.URL(t))
	}
	return kind + ":" + filepath.Join(t.TempDir(), "runs.db")
}

// openStore opens a store by its name: the kind, a colon, and where it is.
func openStore(ctx context.Context, name string) (checkpoint.Store, io.Closer, error) {
	kind, where, _ := strings.Cut(name, ":")
	cfg := sqlitestore.Config{Path: where, BusyTimeout: 30 * time.Second}
	switch kind {
	case "sqlite":
	case "sqlite-normal":
		cfg.Synchronous = sqlitestore.Normal
	case "postgres":
		schema, url, _ := strings.Cut(where, ":")
		s, err := pgstore.Open(ctx, pgstore.Config{URL: url, Schema: schema})
		return s, s, err
	default:
		return nil, nil, fmt.Errorf("there is no store %q", name)
	}
	s, err := sqlitestore.Open(ctx, cfg)
	return s, s, err
}
