package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/runstore"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// notKept begins the warning about a run that has no store.
const notKept = "this run is not kept, and cannot be resumed: "

// doesWithout reports whether a run with this error has not begun because of a store that it can do
// without: the usual one.
func doesWithout(st *cli.RunStore, err error) bool {
	_, notBegun := errors.AsType[*notBegunError](err)
	failed, ok := errors.AsType[*checkpoint.Error](err)
	return notBegun && ok && failed.Store != "" && !errors.Is(err, checkpoint.ErrNewer) && st != nil && st.Place.Usual
}

// KeepRuns opens the store for a run that begins; nil if runs are not kept. If the usual place
// cannot be used, it warns, and the run is made without a store.
func KeepRuns(ctx context.Context, c *cli.CLI, f *cli.StoreFlag, cfg *config.Config, s *terminal.Screen) (*cli.RunStore, error) {
	if cfg != nil && cfg.Found && cfg.Store != (config.Store{}) {
		s.Warn(plaintext.Visible(cfg.Path) + " was found, not named, and so cannot say where runs are kept, nor for how long")
	}
	place, said, err := c.StorePlace(f, cfg)
	switch {
	case err != nil:
		return nil, err
	case place == (runstore.Place{}):
		return nil, nil //nolint:nilnil // none was wanted
	case place.Path == "":
		s.Warn(notKept + "there is no state folder, as neither HOME nor XDG_STATE_HOME is an absolute path; --store FILE names a file")
		return nil, nil //nolint:nilnil // a run can do without a store
	}
	st := &cli.RunStore{Place: place, Said: said, Keep: age.DefaultKeep}
	if cfg != nil {
		st.Keep = cfg.KeepRuns()
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
		s.ShowWrapped(st.Created())
	}
	expire(ctx, st, s)
	return st, nil
}

// expire deletes runs that ended too long ago.
func expire(ctx context.Context, st *cli.RunStore, s *terminal.Screen) {
	if st.Keep < 0 {
		return
	}
	if _, err := checkpoint.Prune(ctx, st.Store, checkpoint.Retention{Ended: max(st.Keep, time.Nanosecond)}); err != nil {
		s.Warn("old runs were not deleted: " + plainwords.Line(err))
	}
}

// notBegunError says that a run could not be started, or read: nothing has happened.
type notBegunError struct{ err error }

// Error returns the text of the cause.
func (e *notBegunError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *notBegunError) Unwrap() error { return e.err }
