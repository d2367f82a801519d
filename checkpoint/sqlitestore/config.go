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

// Config says which file a [Store] keeps, and how.
type Config struct {
	// Path is the file. It is created if it is not there, and so is its folder.
	Path string

	// Synchronous says what is flushed to the disk. Default: [Full].
	Synchronous Synchronous

	// BusyTimeout is how long a call waits while another process writes, before its error wraps
	// [checkpoint.ErrBusy]. Default: 5 seconds.
	BusyTimeout time.Duration

	// Readers is how many calls read at once; more wait. Default: 4.
	Readers int
}

// Synchronous says what is flushed to the disk, and when.
type Synchronous string

const (
	// Full flushes each transaction before it is acknowledged: what was acknowledged survives a
	// loss of power.
	Full Synchronous = "FULL"

	// Normal flushes now and then. A loss of power, or a crash of the system, may take the
	// transactions of the last seconds, up to some megabytes of them: runs then stand as they did
	// before, whole and without gaps, and what they did since is done again. The end of the process
	// alone takes nothing. For runs whose tools may all be called twice.
	Normal Synchronous = "NORMAL"
)

const (
	usualBusyTimeout = 5 * time.Second
	usualReaders     = 4
)

// complete fills in defaults, or says what is wrong.
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
		return c, fmt.Errorf("sqlitestore: Config.Synchronous is %q: it may be %q or %q", c.Synchronous, Full, Normal)
	}
	if c.BusyTimeout < 0 || c.Readers < 0 {
		return c, fmt.Errorf("sqlitestore: Config.BusyTimeout is %v and Config.Readers %d: neither may be negative", c.BusyTimeout, c.Readers)
	}
	c.BusyTimeout = cmp.Or(c.BusyTimeout, usualBusyTimeout)
	c.Readers = cmp.Or(c.Readers, usualReaders)
	return c, nil
}

// source returns the name under which the driver opens the file, with what is set on every
// connection. None of it changes the file.
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
