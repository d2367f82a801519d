package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/orchestrator"
)

// sessionRecord is a conversation in the form json of segue sessions.
type sessionRecord struct {
	Session string        `json:"session"`
	Turns   int           `json:"turns"` // that are kept
	Last    RunRecord     `json:"last"`
	Branch  *branchRecord `json:"branch,omitempty"` // where it branched off; nil: it did not
}

// branchRecord is one end of a fork: the run that it was made from, or the one that was made.
type branchRecord struct {
	Run     string `json:"run"`
	Session string `json:"session,omitempty"` // of that run; "": of none, or the run is not kept any more
	Record  int    `json:"record"`            // the last one that both have in common
}

// turnRecord is a turn of a conversation in the form json of segue sessions show.
type turnRecord struct {
	Turn int `json:"turn"`
	RunRecord
	Reply    string         `json:"reply,omitempty"`    // the last text that a model wrote in it
	Branches []branchRecord `json:"branches,omitempty"` // the forks of this run
}

func sessionsCommand(c *cli.CLI) *cobra.Command {
	f := &runsFlags{form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the conversations that are kept, or show one",
		Long: `Sessions lists the conversations that are kept, the last one used first: name, number of turns, status of the last turn, time
since its last step, its task, and the run that the conversation branched off from. Each turn is a run: segue run --session NAME
makes the next one, and segue fork --session NAME begins a branch.`,
		Example: `  segue sessions
  segue sessions show trip
  segue run --session trip "And how long does the train take?"`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return listSessions(cmd.Context(), c, f) },
	}
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many at most")
	f.form.Offer(cmd, "output", "a text to read, or a JSON array of objects")
	f.store.Offer(cmd)
	cmd.AddCommand(showSessionCommand(c))
	return cmd
}

func showSessionCommand(c *cli.CLI) *cobra.Command {
	var store cli.StoreFlag
	form := cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "show [flags] NAME",
		Short: "Show the turns of a conversation",
		Long: `Show lists the turns of a conversation, the first one first: the task, the last text that a model wrote, the run, its status, and
what was forked from it.`,
		Args: cli.OneArgument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showSession(cmd.Context(), c, &store, args[0], form.Value)
		},
	}
	form.Offer(cmd, "output", "a text to read, or a JSON array of objects")
	store.Offer(cmd)
	complete := c.CompleteSessions(&store)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begin)
	}
	return cmd
}

// listSessions executes segue sessions.
func listSessions(ctx context.Context, c *cli.CLI, f *runsFlags) error {
	if f.limit < 1 {
		return errors.New("--limit is a number from 1 on")
	}
	return list(ctx, c, f, sessionTable, func(st *cli.RunStore) ([]sessionRecord, error) {
		records, err := sessionsIn(ctx, st, f.limit)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) {
			err = cli.Failed(err)
		}
		return records, err
	})
}

// sessionsIn returns the conversations, the last one used first. An error of damaged heads comes
// with the others.
func sessionsIn(ctx context.Context, st *cli.RunStore, limit int) ([]sessionRecord, error) {
	all := []sessionRecord{}
	err := st.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		for s, err := range o.Sessions(ctx, "") {
			if err != nil {
				return err
			}
			r := sessionRecord{Session: s.Name, Last: newRunRecord(&s.Last, st.GoalOf(ctx, s.Last.Key), time.Now())}
			for head, err := range o.SessionRuns(ctx, "", s.Name) {
				if err != nil {
					return err
				}
				r.Turns++
				r.Branch = branchOf(ctx, st, &head) // in the end that of the first turn
			}
			if all = append(all, r); len(all) == limit {
				return nil
			}
		}
		return nil
	})
	return all, err
}

// branchOf says from where a run branched off; nil if it did not, or is the next turn of its
// conversation.
func branchOf(ctx context.Context, st *cli.RunStore, h *checkpoint.Head) *branchRecord {
	from := h.Header.Origin
	if from.Run == "" {
		return nil
	}
	b := &branchRecord{Run: from.Run, Record: from.Record}
	if other, err := st.Head(ctx, checkpoint.Key{Run: from.Run}); err == nil {
		b.Session = other.Header.Labels[orchestrator.LabelSession]
	}
	if b.Session != "" && b.Session == h.Header.Labels[orchestrator.LabelSession] {
		return nil
	}
	return b
}

// sessionTable returns a table of conversations.
func sessionTable(records []sessionRecord) string {
	var rows []string
	for i := range records {
		r := &records[i]
		row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s", plaintext.Visible(r.Session), plaintext.Counted(r.Turns, "turn"), r.Last.Status,
			age.Text(time.Since(r.Last.Updated)), plaintext.Head(r.Last.Goal, goalColumns))
		if r.Branch != nil {
			row += "\tbranch of " + plaintext.Visible(cmp.Or(r.Branch.Session, r.Branch.Run))
		}
		rows = append(rows, row)
	}
	return cli.Table(rows)
}

// showSession executes segue sessions show.
func showSession(ctx context.Context, c *cli.CLI, f *cli.StoreFlag, name, form string) error {
	st, err := c.OpenRuns(ctx, f)
	if err != nil {
		return err
	}
	defer st.Release()
	turns, err := turnsOf(ctx, st, name)
	if err != nil {
		return cli.Failed(err)
	}
	if len(turns) == 0 {
		return fmt.Errorf("no conversation is called %s; segue sessions%s lists them", plaintext.Head(plaintext.Visible(name), 80), st.Said)
	}
	var b strings.Builder
	for i := range turns {
		b.WriteString(turns[i].text())
	}
	last := &turns[len(turns)-1]
	if !checkpoint.Status(last.Status).Ended() {
		fmt.Fprintf(&b, "the last turn has not ended; go on with: %s\n", st.Command("resume", last.Run))
	}
	return c.Print(form, turns, b.String())
}

// turnsOf returns the turns of a conversation, the first one first.
func turnsOf(ctx context.Context, st *cli.RunStore, session string) ([]turnRecord, error) {
	all := []turnRecord{}
	err := st.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
		for head, err := range o.SessionRuns(ctx, "", session) {
			if err != nil {
				return err
			}
			view, err := runview.Read(ctx, st, head)
			if err != nil {
				return err
			}
			branches, err := branchesAt(ctx, st, head.Key.Run, session)
			if err != nil {
				return err
			}
			turn, _ := strconv.Atoi(head.Header.Labels[orchestrator.LabelTurn]) // 0 if it does not say
			all = append(all, turnRecord{turn, newRunRecord(&head, view.Started.Input.Goal, time.Now()), view.LastText, branches})
		}
		return nil
	})
	slices.Reverse(all)
	return all, err
}

// branchesAt returns the forks of a run of a conversation, the first one first.
func branchesAt(ctx context.Context, st *cli.RunStore, run, session string) ([]branchRecord, error) {
	var all []branchRecord
	for h, err := range checkpoint.Heads(ctx, st, checkpoint.Query{Origin: run}) {
		if err != nil {
			return nil, err
		}
		if own := h.Header.Labels[orchestrator.LabelSession]; own != session { // or else it is the next turn
			all = append(all, branchRecord{h.Key.Run, own, h.Header.Origin.Record})
		}
	}
	slices.Reverse(all)
	return all, nil
}

// text shows a turn.
func (r *turnRecord) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%d. %s", r.Turn, plaintext.OneLine(r.Goal))
	line("   %s, %s ago, run %s", r.Status, age.Text(time.Since(r.Updated)), plaintext.Visible(r.Run))
	if r.Turn == 1 && r.Origin.Run != "" {
		line("   branched off from run %s, record %d", plaintext.Visible(r.Origin.Run), r.Origin.Record)
	}
	for said := range strings.Lines(plaintext.Printable(r.Reply)) {
		line("   | %s", strings.TrimRight(said, "\n"))
	}
	for _, branch := range r.Branches {
		line("   branch: %s", plaintext.Visible(cmp.Or(branch.Session, "run "+branch.Run)))
	}
	return b.String()
}
