package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/foldercopy"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/orchestrator"
)

// simulateFlags are the flags of segue simulate-crash.
type simulateFlags struct {
	runFlags
	form   choice
	script string
	pairs  int
	seed   uint64
}

// crashRecord is what segue simulate-crash tried and found, in the form json.
type crashRecord struct {
	Agent      string              `json:"agent"`
	Status     orchestrator.Status `json:"status"` // of the run that is not cut off
	Result     string              `json:"result"`
	Error      string              `json:"error,omitempty"`
	Unused     int                 `json:"unused_replies"` // of the script
	Boundaries int                 `json:"boundaries"`
	Cuts       int                 `json:"cuts"`      // runs that were cut off once
	Denied     int                 `json:"denied"`    // those of them that were made once more, with a person who denies that a call is made again
	Frozen     int                 `json:"frozen"`    // runs whose process was frozen, and woken when another one had ended the run
	Pairs      int                 `json:"pairs"`     // runs that were cut off twice
	AllPairs   int                 `json:"all_pairs"` // how many such runs there are
	Seed       uint64              `json:"seed"`
	LateWrites int                 `json:"late_writes"` // runs whose frozen process has written a file again after others had been written
	Kinds      []crashKind         `json:"kinds"`
	Problems   []crashProblem      `json:"problems"`
}

// crashKind is what was tried at the boundaries of a kind.
type crashKind struct {
	Kind       string `json:"kind"`
	Boundaries int    `json:"boundaries"`
	Cuts       int    `json:"cuts"`
	Frozen     int    `json:"frozen"`
	Pairs      int    `json:"pairs"`
}

// crashProblem is a run that does not end as the one that is not cut off.
type crashProblem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

func (c *cli) simulateCrashCommand() *cobra.Command {
	f := &simulateFlags{form: oneOf(formText, formJSON)}
	f.strategy, f.approve, f.reads, f.mute, f.unconnected = oneOf(strategies.Words()...), oneOf(config.ApprovalWords...), true, true, true
	cmd := &cobra.Command{
		Use:   "simulate-crash --script FILE [flags] AGENT [TASK]",
		Short: "Cut a run of an agent off wherever a process can die",
		Long: `Simulate-crash runs an agent of the configuration many times, with a model that reads its replies from a script, and cuts each run
off at another place: before and after each record, request, tool call and answer of a person, and before each event. Another
process goes on with the run, and is cut off too. Each run must end as the run that is not cut off: with the same answer, the
same calls, and the same files. The exit code is 1 if one does not; the first one is shown.

No model is asked, nothing of yours is changed, and no run is kept. The tools for files work on copies of the folder of --dir,
of at most 2,000 files and 16 MiB, which are deleted at the end. MCP servers are not started, and their tools are left out. All calls are approved, except those that --approve or the
configuration refuses. A question is answered with its first option, or with yes.

The script is a JSON array of replies, in the order in which the model is asked if nothing is done at the same time: objects
with text, or calls (name, arguments), or error (code, message).`,
		Example: `  segue simulate-crash --script replies.json --dir notes writer "Write b.txt"
  echo '[{"text":"Hello."}]' > hello.json
  segue simulate-crash --script hello.json helper`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("simulate-crash takes one AGENT, and perhaps a TASK, in quotes; see segue simulate-crash --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if folders := c.getenv(simulatedVariable); folders != "" {
				return c.simulated(cmd.Context(), f, args, folders)
			}
			return c.simulateCrash(cmd.Context(), f, args)
		},
	}
	f.approve.offer(cmd, "approve", "which tool calls are approved by a person; never refuses those that change something")
	flags := cmd.Flags()
	flags.StringVar(&f.script, "script", "", "the replies of the model, a JSON `FILE`")
	flags.StringVar(&f.config, "config", "", "the configuration (default "+lookup+")")
	flags.StringVar(&f.dir, "dir", "", "let the tools for files work on copies of this folder")
	flags.IntVar(&f.pairs, "pairs", 300, "how many runs are cut off twice, at most")
	flags.Uint64Var(&f.seed, "seed", 0, "which of them, where there are more")
	f.form.offer(cmd, "output", "a table to read, or a JSON object")
	f.given, f.store.given = flags.Changed, flags.Changed
	_ = cmd.MarkFlagFilename("script", "json") // the only error is an unknown flag, here and below
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	cmd.ValidArgsFunction = c.completeAgents(&f.config)
	return cmd
}

// simulatedVariable has segue simulate-crash make the runs, in a folder that another segue has
// prepared. The runs need the clock of package testing, which ends its process.
const simulatedVariable = "SEGUE_SIMULATE_CRASH"

// The names in the folder of a simulation.
const (
	simulatedOriginal = "original"    // a copy of the user's folder
	simulatedWork     = "work"        // the copy in which the tools work
	simulatedReport   = "report.json" // a crashRecord
)

// copied bounds the folder that is copied for each run.
var copied = foldercopy.Limits{Files: 2000, Bytes: 16 << 20}

// simulateCrash executes segue simulate-crash: it prepares the folders, has another process make
// the runs, and shows what that found.
func (c *cli) simulateCrash(ctx context.Context, f *simulateFlags, args []string) error {
	if f.script == "" {
		return errors.New("simulate-crash needs the replies of the model: --script FILE; see segue simulate-crash --help")
	}
	if f.pairs < 1 {
		return errors.New("--pairs is a number from 1 on")
	}
	ctx, release := untilSignal(ctx)
	defer release()
	dir, err := os.MkdirTemp("", "segue-crash-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{simulatedOriginal, simulatedWork} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return failed(err)
		}
	}
	if f.dir != "" {
		if err := foldercopy.Make(filepath.Join(dir, simulatedOriginal), f.dir, copied); err != nil {
			return fmt.Errorf("cannot copy the folder of --dir: %w", err)
		}
	}
	s, err := c.simulationOf(ctx, f, args, dir)
	if err != nil {
		return err
	}
	s.files.close()
	if left := s.cfg.MCPServers(f.agent, ""); len(left) > 0 {
		c.screen(output{}).Warn("the tools of MCP servers are left out, because their calls cannot be undone: " + plaintext.Visible(strings.Join(left, ", ")))
	}
	c.screen(output{}).ShowProgress("cutting off runs of agent " + plaintext.Visible(f.agent) + "; this may take a minute")
	record, err := c.simulateApart(ctx, dir)
	if err != nil {
		return err
	}
	if f.form.value == formJSON {
		err = encode(c.stdout, record)
	} else {
		err = write(c.stdout, record.text())
	}
	if err == nil && len(record.Problems) > 0 {
		return failed(record.counterexample())
	}
	return err
}

// uncut is where a problem is that no cut has caused, in the words of package crash.
const uncut = "not cut off"

// counterexample names the first run that does not end as it should.
func (r *crashRecord) counterexample() error {
	if first := r.Problems[0].Where; first != uncut {
		return fmt.Errorf("a run does not end as it should: it was %s", plaintext.OneLine(first))
	}
	return errors.New("the run cannot be tried: it is another one each time, or reaches a limit, also where it is not cut off")
}

// simulateApart has another process make the runs with the same command line.
func (c *cli) simulateApart(ctx context.Context, dir string) (*crashRecord, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed(fmt.Errorf("cannot tell which program this is: %w", err))
	}
	cmd := exec.CommandContext(ctx, self, c.args...)
	cmd.Env = append(os.Environ(), simulatedVariable+"="+dir)
	var said bytes.Buffer // a few lines of package testing, and of a panic
	cmd.Stdout, cmd.Stderr = &said, &said
	if err = cmd.Run(); err != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited() {
		select { // a Ctrl-C ends the other process, and comes here perhaps a moment later
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		return nil, endedBySignal(ctx)
	}
	data, missing := os.ReadFile(filepath.Join(dir, simulatedReport))
	if missing != nil {
		return nil, failed(fmt.Errorf("the agent cannot be cut off: %s (%w)", plaintext.Head(said.String(), 500), errors.Join(err, missing)))
	}
	record := new(crashRecord)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, failed(err)
	}
	if record.Status == "" { // the script does not fit: Error says so
		return nil, errors.New(record.Error)
	}
	return record, nil
}

// text shows what was tried, by kind, and what is wrong.
func (r *crashRecord) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "not cut off, the run of %s ends: %s%s\n", plaintext.Visible(r.Agent), r.Status, plaintext.Colon(plaintext.Head(r.Result+r.Error, goalColumns)))
	if r.Unused > 0 {
		fmt.Fprintf(&b, "replies of the script that are left over: %d\n", r.Unused)
	}
	b.WriteByte('\n')
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "at\tboundaries\tcut off\tfrozen\tcut off twice\t") // a Builder takes all
	for _, k := range r.Kinds {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", k.Kind, k.Boundaries, k.Cuts, k.Frozen, k.Pairs)
	}
	_, _ = fmt.Fprintf(table, "all\t%d\t%d\t%d\t%d\t\n", r.Boundaries, r.Cuts, r.Frozen, r.Pairs)
	_ = table.Flush()
	b.WriteByte('\n')
	if r.Denied > 0 {
		fmt.Fprintf(&b, "%s made once more, with a person who says that no call is made again\n", plaintext.Counted(r.Denied, "run"))
	}
	if r.Pairs < r.AllPairs {
		fmt.Fprintf(&b, "%d of %d runs that are cut off twice were made (--seed %d); --pairs makes more\n", r.Pairs, r.AllPairs, r.Seed)
	}
	if r.LateWrites > 0 {
		fmt.Fprintf(&b, "in %s a process that was frozen before it wrote a file has written it after others had: nothing guards against that\n",
			plaintext.Counted(r.LateWrites, "run"))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s:\n", plaintext.OneLine(p.Where))
		for line := range strings.Lines(p.What) {
			fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(r.Problems) == 0 {
		b.WriteString("every run ends as the one that is not cut off\n")
	}
	return b.String()
}
