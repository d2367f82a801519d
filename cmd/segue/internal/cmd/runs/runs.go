// Package runs is about runs that are kept: segue runs, sessions, and what shows, answers, ends,
// copies and compares them.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// RunRecord is a run in the form json of segue runs, and the beginning of one of segue show.
type RunRecord struct {
	Run      string            `json:"run"`
	Status   string            `json:"status"` // as in a head; interrupted: it is running, and no process works on it
	AtWork   bool              `json:"at_work"`
	Reason   string            `json:"reason,omitempty"`
	Strategy string            `json:"strategy"`
	Agent    string            `json:"agent,omitempty"`
	Goal     string            `json:"goal"`
	Created  time.Time         `json:"created"`
	Updated  time.Time         `json:"updated"`
	Records  int               `json:"records"`
	Waits    []checkpoint.Wait `json:"waits"`
	Due      time.Time         `json:"due,omitzero"`
	Origin   checkpoint.Origin `json:"origin,omitzero"`
}

func newRunRecord(h *checkpoint.Head, goal string, now time.Time) RunRecord {
	return RunRecord{
		Run: h.Key.Run, Status: cli.StatusOf(h, now), AtWork: cli.AtWork(h, now), Reason: h.Header.Reason, Strategy: h.Header.Strategy,
		Agent: h.Header.Labels[run.AgentLabel], Goal: goal, Created: h.Created.UTC(), Updated: h.Updated.UTC(), Records: h.Last,
		Waits: append([]checkpoint.Wait{}, h.Header.Waits...), Due: h.Header.Due.UTC(), Origin: h.Header.Origin,
	}
}

// runsFlags are the flags of segue runs.
type runsFlags struct {
	store   cli.StoreFlag
	form    cli.Choice
	status  []string
	waiting bool
	limit   int
}

// statusWords are the statuses of runs, as they are shown.
var statusWords = []string{"running", "interrupted", "waiting", "parked", "done", "failed", "limit", "stopped"}

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{
		runsCommand(c),
		waitingCommand(c),
		sessionsCommand(c),
		showCommand(c),
		answerCommand(c),
		noteCommand(c),
		stopCommand(c),
		pruneCommand(c),
		forgetCommand(c),
		replayCommand(c),
		diffCommand(c),
		forkCommand(c),
		exportCommand(c),
		importCommand(c),
	}
}

func runsCommand(c *cli.CLI) *cobra.Command {
	f := &runsFlags{form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs that are kept",
		Long: `Runs lists the runs that are kept, the newest first: id, status, time since its last step, agent or strategy, what it waits
for, and the task.

Statuses:
  running       a process works on it
  interrupted   it was interrupted or broke off; segue resume goes on with it
  waiting       it waits for an answer; segue answer gives one
  parked        it could not go on; segue show says why
  done, failed, limit, stopped
                it has ended`,
		Example: `  segue runs --waiting
  segue runs --status failed --status limit --output json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listRuns(cmd.Context(), c, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.status, "status", nil, "only those of this `STATUS`; may be said again")
	flags.BoolVar(&f.waiting, "waiting", false, "the same as --status waiting")
	flags.IntVar(&f.limit, "limit", 20, "how many at most")
	f.form.Offer(cmd, "output", "a text to read, or a JSON array of objects")
	f.store.Offer(cmd)
	cmd.MarkFlagsMutuallyExclusive("status", "waiting")
	// The only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// listRuns executes segue runs.
func listRuns(ctx context.Context, c *cli.CLI, f *runsFlags) error {
	if f.waiting {
		f.status = []string{string(checkpoint.StatusWaiting)}
	}
	wanted, err := statusesOf(f.status)
	switch {
	case err != nil:
		return err
	case f.limit < 1:
		return errors.New("--limit is a number from 1 on")
	}
	return list(ctx, c, f, runTable, func(st *cli.RunStore) ([]RunRecord, error) {
		return recordsIn(ctx, st, f.status, wanted, f.limit)
	})
}

// list opens the store of the runs, reads a list from it, and shows the list, or writes it as JSON.
// Without a store the list is empty. A damaged head keeps back no other run: the error of damaged
// heads, which read returns with the list, comes after it.
func list[R any](ctx context.Context, c *cli.CLI, f *runsFlags, show func([]R) string, read func(*cli.RunStore) ([]R, error)) error {
	records := []R{}
	var damage error
	st, err := c.OpenRuns(ctx, &f.store)
	switch {
	case errors.Is(err, cli.ErrNoRuns):
		if f.form.Value == cli.FormText {
			c.Screen(cli.Output{}).Show(terminal.Plain.Line(err.Error()))
		}
	case err != nil:
		return err
	default:
		defer st.Release()
		records, err = read(st)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) {
			return err
		}
		damage = err
	}
	return cmp.Or(c.Print(f.form.Value, records, show(records)), beside(st, damage))
}

// beside returns the error of a list that shows all but damaged heads, and says how the first of
// these is erased; nil if there are none.
func beside(st *cli.RunStore, damage error) error {
	if damage == nil {
		return nil
	}
	if damaged, ok := errors.AsType[*checkpoint.Error](damage); ok && damaged.Key.Run != "" {
		damage = fmt.Errorf("%w; erase such a run with: %s", damage, st.Command("forget", damaged.Key.Run))
	}
	return cli.Failed(damage)
}

// statusesOf returns the statuses of heads among which runs of the given ones are.
func statusesOf(words []string) ([]checkpoint.Status, error) {
	var all []checkpoint.Status
	for _, word := range words {
		switch {
		case word == string(machine.StatusInterrupted):
			all = append(all, checkpoint.StatusRunning)
		case oneWord(statusWords, word):
			all = append(all, checkpoint.Status(word))
		default:
			return nil, fmt.Errorf("--status %s: it is one of: %s", plaintext.Visible(word), strings.Join(statusWords, ", "))
		}
	}
	return all, nil
}

func oneWord(words []string, word string) bool {
	c := cli.Choice{Words: words}
	return c.Set(word) == nil
}

// recordsIn returns the runs of the given statuses, or all, the newest first. An error of damaged
// heads comes with the others.
func recordsIn(ctx context.Context, st *cli.RunStore, words []string, wanted []checkpoint.Status, limit int) ([]RunRecord, error) {
	all := []RunRecord{}
	err := eachRun(ctx, st, checkpoint.Query{Status: wanted, Limit: min(limit, 1000)}, func(h *checkpoint.Head) (more bool, err error) {
		now := time.Now()
		if len(words) == 0 || oneWord(words, cli.StatusOf(h, now)) {
			all = append(all, newRunRecord(h, st.GoalOf(ctx, h.Key), now))
		}
		return len(all) < limit, nil
	})
	return all, err
}

// eachRun does something with the heads of a query, page by page, while there is more to do. An
// error of damaged heads comes after the others.
func eachRun(ctx context.Context, st *cli.RunStore, q checkpoint.Query, do func(*checkpoint.Head) (more bool, err error)) error {
	var damage error
	for {
		page, err := st.List(ctx, q)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) {
			return err
		}
		damage = errors.Join(damage, err)
		for i := range page.Heads {
			if more, err := do(&page.Heads[i]); err != nil || !more {
				return errors.Join(err, damage)
			}
		}
		if q.After = page.Next; q.After.IsZero() {
			return damage
		}
	}
}

// goalColumns is how much of a task a list shows.
const goalColumns = 60

// runTable returns a table of runs.
func runTable(records []RunRecord) string {
	var rows []string
	for i := range records {
		r := &records[i]
		waits := "-"
		if len(r.Waits) > 0 {
			waits = strconv.Itoa(len(r.Waits)) + " " + r.Waits[0].Kind
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", plaintext.Visible(r.Run), r.Status, age.Text(time.Since(r.Updated)),
			plaintext.OneLine(cmp.Or(r.Agent, r.Strategy)), plaintext.OneLine(waits), plaintext.Head(r.Goal, goalColumns)))
	}
	return cli.Table(rows)
}
