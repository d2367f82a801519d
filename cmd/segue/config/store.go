package config

import (
	"path/filepath"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/age"
)

// Store says where runs are kept, and for how long after their end.
type Store struct {
	Path string `json:"path,omitempty" jsonschema:"the file of the runs, from the folder of this file; none: runs are not kept; not given: segue/runs.db in the folder of XDG_STATE_HOME"`
	Keep string `json:"keep,omitempty" jsonschema:"how long a run is kept after it has ended, such as 12h or 90d; always: until it is deleted; not given: 30d"`
}

// StoreNone is the path of a [Store] that keeps no runs.
const StoreNone = "none"

// keptFor reads how long runs are kept after their end; negative: always.
func keptFor(keep string) (time.Duration, error) {
	switch keep {
	case "":
		return age.DefaultKeep, nil
	case "always":
		return -1, nil
	default:
		return age.Parse(keep)
	}
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
	kept, err := keptFor(c.Store.Keep)
	if c.Found || err != nil { // Parse has checked it
		return age.DefaultKeep
	}
	return kept
}
