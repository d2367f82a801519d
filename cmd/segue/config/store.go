package config

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Store says where runs are kept, and for how long after their end.
type Store struct {
	Path string `json:"path,omitempty" jsonschema:"the file of the runs, from the folder of this file; none: runs are not kept; not given: segue/runs.db in the folder of XDG_STATE_HOME"`
	Keep string `json:"keep,omitempty" jsonschema:"how long a run is kept after it has ended, such as 12h or 90d; always: until it is deleted; not given: 30d"`
}

// The words of a [Store].
const (
	StoreNone  = "none"   // as a path: runs are not kept
	KeepAlways = "always" // runs are not deleted by age
)

// DefaultKeep is how long runs are kept after their end if nothing says otherwise.
const DefaultKeep = 30 * 24 * time.Hour

// Age returns how long runs are kept after their end; negative: always.
func (s Store) Age() (time.Duration, error) {
	switch s.Keep {
	case "":
		return DefaultKeep, nil
	case KeepAlways:
		return -1, nil
	default:
		return ParseAge(s.Keep)
	}
}

// maxAge is the longest age, in days.
const maxAge = 36500

// ParseAge reads an age: a number of seconds, minutes, hours, days or weeks, such as 12h or 30d.
func ParseAge(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	err := errors.New("must be an age, such as 12h, 30d or 8w")
	if text == "" || strings.TrimLeft(text[:len(text)-1], "0123456789") != "" {
		return 0, err
	}
	unit, ok := units[text[len(text)-1]]
	n, problem := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if !ok || problem != nil || n > int64(maxAge*24*time.Hour/unit) {
		return 0, err
	}
	return time.Duration(n) * unit, nil
}

// StorePath returns the file in which runs are kept, or [StoreNone]; "" if the configuration does
// not say, and if it was found and not named: whoever wrote it does not say what is kept of your
// runs.
func (c *Config) StorePath() string {
	path := c.Store.Path
	switch {
	case c.Found || path == "":
		return ""
	case path == StoreNone || filepath.IsAbs(path):
		return path
	default:
		return filepath.Join(filepath.Dir(c.Path), path)
	}
}

// KeepRuns returns how long runs are kept after their end; negative: always. A configuration that
// was found does not say.
func (c *Config) KeepRuns() time.Duration {
	if c.Found {
		return DefaultKeep
	}
	age, err := c.Store.Age()
	if err != nil { // cannot happen: Parse has checked it
		return DefaultKeep
	}
	return age
}
