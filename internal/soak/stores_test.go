package soak

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// openStore opens a store by its name: the kind, a colon, and the path or address.
func openStore(ctx context.Context, name string) (checkpoint.Store, io.Closer, error) {
	kind, where, _ := strings.Cut(name, ":")
	cfg := sqlitestore.Config{Path: where, BusyTimeout: 30 * time.Second}
	switch kind {
	case "sqlite":
	case "sqlite-normal":
		cfg.Synchronous = sqlitestore.Normal
	default:
		return nil, nil, fmt.Errorf("there is no store %q", name)
	}
	s, err := sqlitestore.Open(ctx, cfg)
	return s, s, err
}
