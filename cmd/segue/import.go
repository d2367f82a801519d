package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// maxImport is the size of the largest file that is imported: it is read into memory.
const maxImport = 256 << 20

func (c *cli) importCommand() *cobra.Command {
	f := &runFlags{strategy: oneOf(strategies.Words()...), approve: oneOf(config.ApprovalWords...), reads: true, mute: true, alien: true}
	form := oneOf(formText, formJSON)
	approvals := false
	cmd := &cobra.Command{
		Use:   "import [flags] FILE|-",
		Short: "Keep a run that segue export has written",
		Long: `Import reads a run from a file of segue export, or from standard input, and keeps it under its own id. It checks every record
with the strategies that the run was begun with, and keeps nothing of a file that is damaged, or of a run that is there already.
An imported run does not go on by itself: segue resume goes on with it. Do not go on with it where it came from as well.

The configuration that the file names must be your own, be trusted, or be named with --config; see segue trust.

Import only what you trust. segue resume uses the configuration, the folder and the approval that the file names; import shows what
these are. Approvals of calls that have no result in the file are left out, with all that comes after them: you are asked again.
--approvals keeps them, for a run that moves from one store of yours to another.`,
		Example: `  segue import run.json
  segue export --store old.db 019a5c | segue import --store new.db -
  segue import --config here.yaml --dir notes run.json`,
		Args: oneArgument("FILE, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var options []runs.ImportOption
			if approvals {
				options = append(options, runs.WithApprovals())
			}
			return c.importRun(cmd.Context(), f, args[0], form.value, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "check with this configuration (default that of the run)")
	flags.StringVar(&f.dir, "dir", "", "where the folder of the run is here (default where it was)")
	flags.BoolVar(&approvals, "approvals", false, "keep the approvals of calls that were not made yet")
	form.offer(cmd, "output", "a text to read, or a JSON object as in segue runs")
	f.store.offer(cmd)
	f.given = flags.Changed
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// importRun executes segue import.
func (c *cli) importRun(ctx context.Context, f *runFlags, file, form string, options []runs.ImportOption) error {
	data, err := c.readExport(file)
	if err != nil {
		return err
	}
	s := c.screen(output{})
	b, err := begunInFile(data)
	if err != nil {
		return err
	}
	store, err := c.createRuns(ctx, f, s)
	if err != nil {
		return err
	}
	j := job{runs: store}
	defer func() { j.close() }()
	var head checkpoint.Head
	put := func(ctx context.Context, o *orchestrator.Orchestrator) (err error) {
		head, err = runs.Import(ctx, o, bytes.NewReader(data), options...)
		return err
	}
	if b == nil {
		err = store.post(ctx, put)
	} else {
		made, broken := c.jobBegun(ctx, f, b, store, s)
		if broken != nil {
			if !strings.Contains(broken.Error(), "--config") {
				broken = fmt.Errorf("%w; --config and --dir say where the configuration and the folder of the run are", broken)
			}
			return fmt.Errorf("nothing was imported: %w", broken)
		}
		j = made
		o, broken := j.orchestrator(nil)
		if broken != nil {
			return broken
		}
		err = put(ctx, o)
	}
	if err != nil {
		return notImported(err, store)
	}
	if form == formJSON {
		return encode(c.stdout, newRunRecord(&head, store.goalOf(ctx, head.Key), time.Now()))
	}
	return write(c.stdout, store.imported(&head, recordsInFile(data)-head.Last, b, f))
}

// readExport reads the file of a run; - means standard input.
func (c *cli) readExport(file string) ([]byte, error) {
	if file != "-" {
		data, err := regularfile.Read(file, maxImport)
		if err != nil {
			return nil, fmt.Errorf("nothing was imported: %w", err)
		}
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(c.stdin, maxImport+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("nothing was imported: cannot read standard input: %w", err)
	case len(data) > maxImport:
		return nil, fmt.Errorf("nothing was imported: standard input has more than %d bytes", maxImport)
	}
	return data, nil
}

// begunInFile returns what the run in a file was begun with; nil if segue run did not begin it, or
// if the file cannot be imported: Import says why.
func begunInFile(data []byte) (*begun, error) {
	run, began := beginningOf(data)
	if began.Namespace != "" {
		return nil, failed(fmt.Errorf("nothing was imported: run %s is in the namespace %s, and segue keeps runs without one",
			plaintext.Visible(run), plaintext.Visible(began.Namespace)))
	}
	if began.Metadata[begunKey] == "" {
		return nil, nil //nolint:nilnil // another program has begun it
	}
	b, err := readBegun(run, &began)
	return &b, err
}

// runFile is what the command itself reads of a file of segue export.
type runFile struct {
	Version   int               `json:"segue_run"`
	Namespace string            `json:"namespace"`
	Run       string            `json:"run"`
	Records   []json.RawMessage `json:"records"`
}

// recordsInFile counts the records of a file that was imported.
func recordsInFile(data []byte) int {
	var file runFile
	_ = json.Unmarshal(data, &file) // it was read before
	return len(file.Records)
}

// beginningOf returns the id of the run in a file, and as much of its first record as can be read.
func beginningOf(data []byte) (run string, began machine.Started) {
	var file runFile
	if err := json.Unmarshal(data, &file); err != nil || file.Version == 0 {
		return "", began
	}
	if len(file.Records) > 0 {
		if rec, err := machine.ReadRecord(file.Records[0]); err == nil {
			began, _ = rec.(machine.Started)
		}
	}
	began.Namespace = cmp.Or(file.Namespace, began.Namespace)
	return file.Run, began
}

// createRuns opens the store for a command that adds a run to it, and creates it if it is not
// there.
func (c *cli) createRuns(ctx context.Context, f *runFlags, s *terminal.Screen) (*runStore, error) {
	cfg, err := c.ownConfig(&f.store)
	if err != nil {
		return nil, err
	}
	place, said, err := c.storePlace(&f.store, cfg)
	if err != nil {
		return nil, err
	}
	if place.Path == "" {
		return nil, errors.New("there is no file to keep the run in: name one with --store FILE")
	}
	st := &runStore{place: place, said: said, keep: config.DefaultKeep}
	if cfg != nil {
		st.keep = cfg.KeepRuns()
	}
	created := false
	if st.Store, created, err = place.Open(ctx); err == nil && created {
		s.ShowWrapped(st.created())
	}
	return st, err
}

// notImported says in the words of the command why nothing was imported.
func notImported(err error, store *runStore) error {
	if exists, ok := errors.AsType[*orchestrator.RunExistsError](err); ok {
		return failed(fmt.Errorf("nothing was imported: there is a run %s already; see it with: %s",
			plaintext.Visible(exists.Run), store.command("show", exists.Run)))
	}
	if damaged, ok := errors.AsType[*runs.ImportError](err); ok {
		what := ""
		if damaged.Record > 0 {
			what = fmt.Sprintf("record %d: ", damaged.Record)
		}
		return failed(fmt.Errorf("nothing was imported: %s%w", what, damaged.Err))
	}
	return failed(fmt.Errorf("nothing was imported: %w", err))
}

// imported says what was imported, how many records were left out, what it goes on with, and how.
func (st *runStore) imported(h *checkpoint.Head, without int, b *begun, f *runFlags) string {
	text := fmt.Sprintf("imported run %s: %s, %s\n", plaintext.Visible(h.Key.Run), statusOf(h, time.Now()), plaintext.Counted(h.Last, "record"))
	if without > 0 {
		text += fmt.Sprintf("  left out: %s, from the approval of a call that has no result; --approvals keeps them\n", plaintext.Counted(without, "record"))
	}
	if h.Header.Status.Ended() {
		return text + "see it with: " + st.command("show", h.Key.Run) + "\n"
	}
	if b == nil {
		return text + "segue run did not begin it: go on with the program that began it, or see it with: " + st.command("show", h.Key.Run) + "\n"
	}
	for _, said := range []struct{ name, value string }{
		{"configuration", cmp.Or(f.config, b.Config)}, {"agent", b.Agent}, {"folder", cmp.Or(f.dir, b.Dir)}, {"approve", b.Approve}, {"server", b.BaseURL},
	} {
		if said.value != "" {
			text += "  " + said.name + ": " + plaintext.Visible(said.value) + "\n"
		}
	}
	resume := "resume"
	if f.given("config") {
		resume += " --config " + quoted(f.config)
	}
	if f.given("dir") {
		resume += " --dir " + quoted(f.dir)
	}
	if len(h.Header.Waits) > 0 {
		text += "answer it with: " + st.command("answer", h.Key.Run) + "\n"
	}
	return text + "go on with: " + st.command(resume, h.Key.Run) + "\n"
}
