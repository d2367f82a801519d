package sqlitestore

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Config says in which file a [Store] keeps its runs, and how.
type Config struct {
	// Path is the file. Open creates it, and its folder, if it does not exist.
	Path string

	// Synchronous says when transactions are flushed to the disk. Default: [Full].
	Synchronous Synchronous

	// BusyTimeout is how long a call waits while another process writes. After this time the call
	// fails with an error that wraps [checkpoint.ErrBusy]. Default: 5 seconds.
	BusyTimeout time.Duration

	// Readers is how many calls may read at the same time; others wait. Default: 4.
	Readers int
}

// Synchronous says when transactions are flushed to the disk.
type Synchronous string

const (
	// Full flushes each transaction before it is acknowledged: what was acknowledged survives a
	// loss of power.
	Full Synchronous = "FULL"

	// Normal flushes now and then. A loss of power, or a crash of the system, may lose the
	// transactions of the last seconds, up to some megabytes of them. Each run then stands as it
	// did before them, whole and without gaps, and does again what it did since. The end of the
	// process alone loses nothing. Use Normal only if every tool may be called twice.
	Normal Synchronous = "NORMAL"
)

const (
	usualBusyTimeout = 5 * time.Second
	usualReaders     = 4
)

// complete returns the Config with its defaults, or an error that says what is wrong.
func (c Config) complete() (Config, error) {
	if c.Path == "" {
		return c, errors.New("sqlitestore: Config.Path is empty: name the file that is to hold the runs")
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return c, fmt.Errorf("sqlitestore: Config.Path %q: %w", c.Path, err)
	}
	c.Path = path
	switch c.Synchronous = cmp.Or(c.Synchronous, Full); c.Synchronous {
	case Full, Normal:
	default:
		return c, fmt.Errorf("sqlitestore: Config.Synchronous is %q: want %q or %q", c.Synchronous, Full, Normal)
	}
	if c.BusyTimeout < 0 || c.Readers < 0 {
		return c, fmt.Errorf("sqlitestore: Config.BusyTimeout is %v and Config.Readers %d: neither may be negative", c.BusyTimeout, c.Readers)
	}
	c.BusyTimeout = cmp.Or(c.BusyTimeout, usualBusyTimeout)
	c.Readers = cmp.Or(c.Readers, usualReaders)
	return c, nil
}

// source returns the name by which the driver opens the file, with the settings of each connection.
// No setting changes the file.
func (c *Config) source(reader bool) string {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", c.BusyTimeout.Milliseconds()),
		fmt.Sprintf("synchronous(%s)", c.Synchronous),
		"wal_autocheckpoint(0)", // see drain
		"secure_delete(1)",
		"trusted_schema(0)",
	}
	if reader {
		pragmas = append(pragmas, "query_only(1)")
	}
	path := filepath.ToSlash(c.Path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	query := url.Values{"_pragma": pragmas, "_dqs": {"0"}, "_defensive": {"1"}}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
