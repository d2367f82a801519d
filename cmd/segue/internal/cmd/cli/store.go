package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runstore"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
)

// StoreFlag is the flag --store.
type StoreFlag struct {
	Path  string
	Given func(flag string) bool
}

// Offer adds the flag to cmd.
func (f *StoreFlag) Offer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Path, "store", "", "keep runs in this `FILE`; none keeps none (default SEGUE_STORE, that of your own configuration, or segue/runs.db in the state folder)")
	f.Given = cmd.Flags().Changed
	_ = cmd.MarkFlagFilename("store", "db") // the only error is an unknown flag
}

// RunStore is where runs are kept, while it is open.
type RunStore struct {
	*sqlitestore.Store
	Place runstore.Place
	Said  string // the flag with which a command line finds the store: " --store FILE", or ""
	Keep  time.Duration
}

// StorePlace returns where runs are kept: the file of the flag, the configuration or the
// environment, or else the usual one. The zero Place means that no runs are kept. said is the same
// as in RunStore.
func (c *CLI) StorePlace(f *StoreFlag, cfg *config.Config) (place runstore.Place, said string, err error) {
	path := ""
	switch {
	case f.Given("store"):
		if path = f.Path; path == "" {
			return place, "", errors.New("--store names no file; --store none keeps no runs")
		}
	case c.Getenv("SEGUE_STORE") != "":
		path = c.Getenv("SEGUE_STORE")
	case cfg != nil:
		path = cfg.StorePath()
	}
	switch path {
	case config.StoreNone:
		return place, "", nil
	case "":
		return runstore.UsualPlace(c.Getenv), "", nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return place, "", fmt.Errorf("cannot tell where the file of the runs is: %w", err)
	}
	return runstore.Place{Path: whole}, " --store " + Quoted(whole), nil // it works in any folder and environment
}

// Quoted returns a word as a shell reads it.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Created says that the file was made, and how long runs stay in it.
func (st *RunStore) Created() terminal.Line {
	return terminal.Plain.Line("runs are kept in " + plaintext.Visible(st.Place.Path) + ", " + keptFor(st.Keep) + "; --store none keeps none, and segue forget erases one")
}

// keptFor says how long runs are kept.
func keptFor(keep time.Duration) string {
	if keep < 0 {
		return "until you delete them"
	}
	return "and deleted " + age.Text(keep) + " after their end"
}

// ErrNoRuns says that there is no store to look into.
var ErrNoRuns = errors.New("there are no runs: none was kept yet, or not here; --store FILE names another file")

// OpenRuns opens the store for a command about runs. It returns ErrNoRuns if there is none, and
// creates nothing.
func (c *CLI) OpenRuns(ctx context.Context, f *StoreFlag) (*RunStore, error) {
	cfg, err := c.OwnConfig(f)
	if err != nil {
		return nil, err
	}
	place, said, err := c.StorePlace(f, cfg)
	if err != nil {
		return nil, err
	}
	if !place.Exists() {
		return nil, ErrNoRuns
	}
	st := &RunStore{Place: place, Said: said, Keep: age.DefaultKeep}
	if cfg != nil {
		st.Keep = cfg.KeepRuns()
	}
	st.Store, _, err = place.Open(ctx)
	return st, err
}

// OwnConfig reads the configuration that may say where runs are kept; nil if there is none. A
// configuration that was found may not say it.
func (c *CLI) OwnConfig(f *StoreFlag) (*config.Config, error) {
	if f.Given("store") {
		return nil, nil //nolint:nilnil // it is not needed
	}
	place, err := locate.Default(c.Getenv)
	if err != nil || place.Origin == locate.None || place.Origin == locate.Found {
		return nil, err
	}
	return place.Read()
}

// Release closes the store; nil has none.
func (st *RunStore) Release() {
	if st != nil {
		_ = st.Close() // all that was acknowledged is kept
	}
}

// Command returns a command line about a run.
func (st *RunStore) Command(name, run string) string {
	return "segue " + name + st.Said + " " + Quoted(run)
}

// Through hands something to a run, by an orchestrator that runs nothing.
func (st *RunStore) Through(ctx context.Context, do func(context.Context, *orchestrator.Orchestrator) error) error {
	set, err := strategies.Set(strategies.Settings{})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: set, Store: st.Store, Lease: Lease})
	if err != nil {
		return err
	}
	return do(ctx, o)
}

// LastTurn returns the head of the last run of a conversation; nil if there is none.
func (st *RunStore) LastTurn(ctx context.Context, session string) (last *checkpoint.Head, err error) {
	turn := -1
	err = st.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		for head, err := range o.SessionRuns(ctx, "", session) {
			if err != nil {
				return Failed(err)
			}
			if n, _ := strconv.Atoi(head.Header.Labels[orchestrator.LabelTurn]); n > turn { // 0 if it does not say
				last, turn = &head, n
			}
		}
		return nil
	})
	return last, err
}

// Lease is how long a run is left alone after its process was last heard of.
const Lease = 10 * time.Second

// SessionName returns the name of a conversation that a run is a turn of.
func SessionName(name string, runs *RunStore) (string, error) {
	if runs == nil {
		return "", errors.New("--session needs a file in which runs are kept: name one with --store FILE")
	}
	if err := (checkpoint.Key{Run: name}).Check(); err != nil {
		return "", fmt.Errorf("--session %q: %w", plaintext.Head(plaintext.Visible(name), 80), err)
	}
	return name, nil
}

// NewSession returns the name of a conversation that a run begins.
func (st *RunStore) NewSession(ctx context.Context, name string) (string, error) {
	name, err := SessionName(name, st)
	if err != nil {
		return "", err
	}
	page, err := st.List(ctx, checkpoint.Query{Labels: map[string]string{orchestrator.LabelSession: name}, Limit: 1})
	if err != nil {
		return "", Failed(err)
	}
	if len(page.Heads) > 0 {
		return "", fmt.Errorf("there is a conversation %s already; a branch begins a new one", plaintext.Visible(name))
	}
	return name, nil
}
