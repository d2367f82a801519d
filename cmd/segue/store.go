package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/runstore"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// storeFlag is the flag --store.
type storeFlag struct {
	path  string
	given func(flag string) bool
}

// offer adds the flag to cmd.
func (f *storeFlag) offer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "store", "", "keep runs in this `FILE`; none keeps none (default SEGUE_STORE, that of your own configuration, or segue/runs.db in the state folder)")
	f.given = cmd.Flags().Changed
	_ = cmd.MarkFlagFilename("store", "db") // the only error is an unknown flag
}

// runStore is where runs are kept, while it is open.
type runStore struct {
	*sqlitestore.Store
	place runstore.Place
	said  string // the flag with which a command line finds the store: " --store FILE", or ""
	keep  time.Duration
}

// storePlace returns where runs are kept: the file of the flag, the configuration or the
// environment, or else the usual one. The zero Place means that no runs are kept. said is the same
// as in runStore.
func (c *cli) storePlace(f *storeFlag, cfg *config.Config) (place runstore.Place, said string, err error) {
	path := ""
	switch {
	case f.given("store"):
		if path = f.path; path == "" {
			return place, "", errors.New("--store names no file; --store none keeps no runs")
		}
	case c.getenv("SEGUE_STORE") != "":
		path = c.getenv("SEGUE_STORE")
	case cfg != nil:
		path = cfg.StorePath()
	}
	switch path {
	case config.StoreNone:
		return place, "", nil
	case "":
		return runstore.UsualPlace(c.getenv), "", nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return place, "", fmt.Errorf("cannot tell where the file of the runs is: %w", err)
	}
	return runstore.Place{Path: whole}, " --store " + quoted(whole), nil // it works in any folder and environment
}

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// notKept begins the warning about a run that has no store.
const notKept = "this run is not kept, and cannot be resumed: "

// doesWithout reports whether a run with this error has not begun because of a store that it can do
// without: the usual one.
func (st *runStore) doesWithout(err error) bool {
	_, notBegun := errors.AsType[*notBegunError](err)
	failed, ok := errors.AsType[*checkpoint.Error](err)
	return notBegun && ok && failed.Store != "" && !errors.Is(err, checkpoint.ErrNewer) && st != nil && st.place.Usual
}

// keepRuns opens the store for a run that begins; nil if runs are not kept. If the usual place
// cannot be used, it warns, and the run is made without a store.
func (c *cli) keepRuns(ctx context.Context, f *storeFlag, cfg *config.Config, s *terminal.Screen) (*runStore, error) {
	if cfg != nil && cfg.Found && cfg.Store != (config.Store{}) {
		s.Warn(plaintext.Visible(cfg.Path) + " was found, not named, and so cannot say where runs are kept, nor for how long")
	}
	place, said, err := c.storePlace(f, cfg)
	switch {
	case err != nil:
		return nil, err
	case place == (runstore.Place{}):
		return nil, nil //nolint:nilnil // none was wanted
	case place.Path == "":
		s.Warn(notKept + "there is no state folder, as neither HOME nor XDG_STATE_HOME is an absolute path; --store FILE names a file")
		return nil, nil //nolint:nilnil // a run can do without a store
	}
	st := &runStore{place: place, said: said, keep: config.DefaultKeep}
	if cfg != nil {
		st.keep = cfg.KeepRuns()
	}
	created := false
	st.Store, created, err = place.Open(ctx)
	switch {
	case err != nil && place.Usual:
		s.Warn(notKept + plainwords.Line(err))
		return nil, nil //nolint:nilnil // a run can do without a store
	case err != nil:
		return nil, fmt.Errorf("%w; --store none keeps no runs", err)
	}
	if created {
		s.ShowWrapped(st.created())
	}
	st.expire(ctx, s)
	return st, nil
}

// created says that the file was made, and how long runs stay in it.
func (st *runStore) created() terminal.Line {
	return terminal.Plain.Line("runs are kept in " + plaintext.Visible(st.place.Path) + ", " + keptFor(st.keep) + "; --store none keeps none, and segue forget erases one")
}

// keptFor says how long runs are kept.
func keptFor(keep time.Duration) string {
	if keep < 0 {
		return "until you delete them"
	}
	return "and deleted " + ageText(keep) + " after their end"
}

// expire deletes runs that ended too long ago.
func (st *runStore) expire(ctx context.Context, s *terminal.Screen) {
	if st.keep < 0 {
		return
	}
	if _, err := checkpoint.Prune(ctx, st.Store, checkpoint.Retention{Ended: max(st.keep, time.Nanosecond)}); err != nil {
		s.Warn("old runs were not deleted: " + plainwords.Line(err))
	}
}

// errNoRuns says that there is no store to look into.
var errNoRuns = errors.New("there are no runs: none was kept yet, or not here; --store FILE names another file")

// openRuns opens the store for a command about runs. It returns errNoRuns if there is none, and
// creates nothing.
func (c *cli) openRuns(ctx context.Context, f *storeFlag) (*runStore, error) {
	cfg, err := c.ownConfig(f)
	if err != nil {
		return nil, err
	}
	place, said, err := c.storePlace(f, cfg)
	if err != nil {
		return nil, err
	}
	if !place.Exists() {
		return nil, errNoRuns
	}
	st := &runStore{place: place, said: said, keep: config.DefaultKeep}
	if cfg != nil {
		st.keep = cfg.KeepRuns()
	}
	st.Store, _, err = place.Open(ctx)
	return st, err
}

// ownConfig reads the configuration that may say where runs are kept; nil if there is none. A
// configuration that was found may not say it.
func (c *cli) ownConfig(f *storeFlag) (*config.Config, error) {
	if f.given("store") {
		return nil, nil //nolint:nilnil // it is not needed
	}
	place, err := config.Locate(c.getenv)
	if err != nil || place.Origin == config.OriginNone || place.Origin == config.OriginFound {
		return nil, err
	}
	return place.Read()
}

// close closes the store; nil has none.
func (st *runStore) close() {
	if st != nil {
		_ = st.Close() // all that was acknowledged is kept
	}
}

// command returns a command line about a run.
func (st *runStore) command(name, run string) string {
	return "segue " + name + st.said + " " + quoted(run)
}
