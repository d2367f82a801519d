package runs

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
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
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

func importCommand(c *cli.CLI) *cobra.Command {
	f := &run.Flags{Strategy: cli.OneOf(strategies.Words()...), Approve: cli.OneOf(approve.Words...), Reads: true, Mute: true, Alien: true}
	form := cli.OneOf(cli.FormText, cli.FormJSON)
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
		Args: cli.OneArgument("FILE, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var options []runs.ImportOption
			if approvals {
				options = append(options, runs.WithApprovals())
			}
			return importRun(cmd.Context(), c, f, args[0], form.Value, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Config, "config", "", "check with this configuration (default that of the run)")
	flags.StringVar(&f.Dir, "dir", "", "where the folder of the run is here (default where it was)")
	flags.BoolVar(&approvals, "approvals", false, "keep the approvals of calls that were not made yet")
	form.Offer(cmd, "output", "a text to read, or a JSON object as in segue runs")
	f.Store.Offer(cmd)
	f.Given = flags.Changed
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// importRun executes segue import.
func importRun(ctx context.Context, c *cli.CLI, f *run.Flags, file, form string, options []runs.ImportOption) error {
	data, err := readExport(c, file)
	if err != nil {
		return err
	}
	s := c.Screen(cli.Output{})
	b, err := begunInFile(data)
	if err != nil {
		return err
	}
	store, err := createRuns(ctx, c, f, s)
	if err != nil {
		return err
	}
	j := run.Job{Runs: store}
	defer func() { j.Close() }()
	var head checkpoint.Head
	put := func(ctx context.Context, o *orchestrator.Orchestrator) (err error) {
		head, err = runs.Import(ctx, o, bytes.NewReader(data), options...)
		return err
	}
	if b == nil {
		err = store.Through(ctx, put)
	} else {
		made, broken := run.JobBegun(ctx, c, f, b, store, s)
		if broken != nil {
			if !strings.Contains(broken.Error(), "--config") {
				broken = fmt.Errorf("%w; --config and --dir say where the configuration and the folder of the run are", broken)
			}
			return fmt.Errorf("nothing was imported: %w", broken)
		}
		j = made
		o, broken := j.Orchestrator(nil)
		if broken != nil {
			return broken
		}
		err = put(ctx, o)
	}
	if err != nil {
		return notImported(err, store)
	}
	return c.Print(form, newRunRecord(&head, store.GoalOf(ctx, head.Key), time.Now()), importedText(store, &head, recordsInFile(data)-head.Last, b, f))
}

// readExport reads the file of a run; - means standard input.
func readExport(c *cli.CLI, file string) ([]byte, error) {
	if file != "-" {
		data, err := regularfile.Read(file, maxImport)
		if err != nil {
			return nil, fmt.Errorf("nothing was imported: %w", err)
		}
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(c.Stdin, maxImport+1))
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
func begunInFile(data []byte) (*run.Begun, error) {
	id, began := beginningOf(data)
	if began.Namespace != "" {
		return nil, cli.Failed(fmt.Errorf("nothing was imported: run %s is in the namespace %s, and segue keeps runs without one",
			plaintext.Visible(id), plaintext.Visible(began.Namespace)))
	}
	if began.Metadata[run.BegunKey] == "" {
		return nil, nil //nolint:nilnil // another program has begun it
	}
	b, err := run.ReadBegun(id, &began)
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
func createRuns(ctx context.Context, c *cli.CLI, f *run.Flags, s *terminal.Screen) (*cli.RunStore, error) {
	cfg, err := c.OwnConfig(&f.Store)
	if err != nil {
		return nil, err
	}
	place, said, err := c.StorePlace(&f.Store, cfg)
	if err != nil {
		return nil, err
	}
	if place.Path == "" {
		return nil, errors.New("there is no file to keep the run in: name one with --store FILE")
	}
	st := &cli.RunStore{Place: place, Said: said, Keep: age.DefaultKeep}
	if cfg != nil {
		st.Keep = cfg.KeepRuns()
	}
	created := false
	if st.Store, created, err = place.Open(ctx); err == nil && created {
		s.ShowWrapped(st.Created())
	}
	return st, err
}

// notImported says in the words of the command why nothing was imported.
func notImported(err error, store *cli.RunStore) error {
	if exists, ok := errors.AsType[*orchestrator.RunExistsError](err); ok {
		return cli.Failed(fmt.Errorf("nothing was imported: there is a run %s already; see it with: %s",
			plaintext.Visible(exists.Run), store.Command("show", exists.Run)))
	}
	if damaged, ok := errors.AsType[*runs.Error](err); ok {
		what := ""
		if damaged.Record > 0 {
			what = fmt.Sprintf("record %d: ", damaged.Record)
		}
		return cli.Failed(fmt.Errorf("nothing was imported: %s%w", what, damaged.Err))
	}
	return cli.Failed(fmt.Errorf("nothing was imported: %w", err))
}

// importedText says what was imported, how many records were left out, what it goes on with, and
// how.
func importedText(st *cli.RunStore, h *checkpoint.Head, without int, b *run.Begun, f *run.Flags) string {
	text := fmt.Sprintf("imported run %s: %s, %s\n", plaintext.Visible(h.Key.Run), cli.StatusOf(h, time.Now()), plaintext.Counted(h.Last, "record"))
	if without > 0 {
		text += fmt.Sprintf("  left out: %s, from the approval of a call that has no result; --approvals keeps them\n", plaintext.Counted(without, "record"))
	}
	if h.Header.Status.Ended() {
		return text + "see it with: " + st.Command("show", h.Key.Run) + "\n"
	}
	if b == nil {
		return text + "segue run did not begin it: go on with the program that began it, or see it with: " + st.Command("show", h.Key.Run) + "\n"
	}
	for _, said := range []struct{ name, value string }{
		{"configuration", cmp.Or(f.Config, b.Config)}, {"agent", b.Agent}, {"folder", cmp.Or(f.Dir, b.Dir)}, {"approve", b.Approve}, {"server", b.BaseURL},
	} {
		if said.value != "" {
			text += "  " + said.name + ": " + plaintext.Visible(said.value) + "\n"
		}
	}
	resume := "resume"
	if f.Given("config") {
		resume += " --config " + cli.Quoted(f.Config)
	}
	if f.Given("dir") {
		resume += " --dir " + cli.Quoted(f.Dir)
	}
	if len(h.Header.Waits) > 0 {
		text += "answer it with: " + st.Command("answer", h.Key.Run) + "\n"
	}
	return text + "go on with: " + st.Command(resume, h.Key.Run) + "\n"
}
