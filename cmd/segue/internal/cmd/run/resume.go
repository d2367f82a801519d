package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

func resumeCommand(c *cli.CLI) *cobra.Command {
	f := &Flags{Strategy: cli.OneOf(strategies.Words()...), Approve: cli.OneOf(approve.Words...)}
	takeOver := false
	cmd := &cobra.Command{
		Use:   "resume [flags] [RUN]",
		Short: "Go on with a run that waits, was interrupted or broke off",
		Long: `Resume goes on with a run from its last step: nothing that is done is done again. RUN is its id, or the beginning of it;
without one it is the last run that has not ended and that nobody works on.

Resume uses what the run was begun with: the configuration, agent, model, folder and approval, and all flags. A flag that you
give here is stronger. Resume says what has changed since then. A segue.yaml that was found must be trusted as it is now; a
configuration that was named with --config, and has changed, must be named again.

At a terminal you are asked what the run waits for; segue answer answers it from anywhere. --approve is about later calls. If the
process died during a call that may have had its effect, the call is not made again unless you say so. Tab begins a note, as in
segue run.

If another process works on the run, or died over it a moment ago, resume waits until that process was silent for ten seconds.
With --take-over it does not wait: the other process cannot write the run any more, and its last step may be done twice where
that is safe.`,
		Example: `  segue resume
  segue resume 019a5c
  segue resume --dir moved/notes 019a5c`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.OneRun(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return resumeRun(cmd.Context(), c, f, strings.Join(args, ""), takeOver)
		},
	}
	flags := cmd.Flags()
	f.Approve.Offer(cmd, "approve", "`WHICH` tool calls need your approval from now on: "+cli.Listed(approve.Words))
	flags.StringVarP(&f.Model, "model", "m", "", "another model (default that of the run)")
	flags.StringVar(&f.BaseURL, "base-url", "", "another server (default that of the run)")
	f.API.OfferAPI(cmd, "another API of the server: Chat Completions, OpenAI's Responses or Anthropic's Messages (default that of the run)")
	cli.OfferPolicy(cmd, &f.Policy, "", "another text format for tool calls (default that of the run)")
	flags.StringVar(&f.Idle, "idle-timeout", "", IdleUsage)
	flags.StringVar(&f.Dir, "dir", "", "where the folder of the run is now (default where it was)")
	flags.StringArrayVar(&f.Protect, "protect", nil, "have more files asked about; may be said again")
	flags.StringVar(&f.Config, "config", "", "the configuration (default that of the run)")
	flags.IntVar(&f.MaxSteps, "max-steps", 0, "most steps of the whole run, with those that it has made; negative: no bound (default as before)")
	flags.BoolVar(&takeOver, "take-over", false, "do not wait for another process that works on the run")
	f.Store.Offer(cmd)
	f.Out.Flags(cmd)
	f.Given = flags.Changed
	cmd.ValidArgsFunction = c.CompleteRuns(&f.Store, OpenStatuses...)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("model", c.CompleteModels(&f.Config))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// resumeRun executes segue resume.
func resumeRun(ctx context.Context, c *cli.CLI, f *Flags, run string, takeOver bool) error {
	if err := f.Check(); err != nil {
		return err
	}
	s := c.Screen(f.Out)
	runs, err := c.OpenRuns(ctx, &f.Store)
	if err != nil {
		return err
	}
	j := Job{Runs: runs}
	defer func() { j.Close() }()
	head, err := toResume(ctx, runs, run, takeOver, s)
	if err != nil {
		return err
	}
	how := &orchestrator.Resumption{Run: head.Key.Run, TakeOver: takeOver}
	if f.MaxSteps != 0 {
		how.Limits = delegation.Limits{Steps: f.MaxSteps}
	}
	made, err := JobAgain(ctx, c, f, runs, head.Key, s)
	if err != nil {
		return err
	}
	j = made
	j.resume = how
	return Perform(ctx, c, j, f.Out, s)
}

// JobAgain makes the job of a run that is kept, with what it was begun with. It must be closed,
// which closes runs.
func JobAgain(ctx context.Context, c *cli.CLI, f *Flags, runs *cli.RunStore, key checkpoint.Key, s *terminal.Screen) (Job, error) {
	began, err := runview.Begin(ctx, runs, key)
	if err != nil {
		return Job{}, err
	}
	b, err := ReadBegun(key.Run, &began)
	if err != nil {
		return Job{}, err
	}
	return JobBegun(ctx, c, f, &b, runs, s)
}

// JobBegun makes the job of a run that was begun with b. It must be closed, which closes runs.
func JobBegun(ctx context.Context, c *cli.CLI, f *Flags, b *Begun, runs *cli.RunStore, s *terminal.Screen) (Job, error) {
	again, cfg, err := prepareAgain(ctx, c, f, b, runs, s)
	if err != nil {
		return Job{}, err
	}
	again.begun = b
	j, err := JobOf(ctx, c, again, cfg, s)
	j.Runs = runs
	if errors.Is(err, fs.ErrNotExist) && again.Dir != "" {
		err = fmt.Errorf("%w; --dir says where the folder is now", err)
	}
	return j, err
}

// prepareAgain returns the flags and the configuration with which a run goes on, and says what is
// not as it was.
func prepareAgain(ctx context.Context, c *cli.CLI, f *Flags, b *Begun, runs *cli.RunStore, s *terminal.Screen) (*Flags, *config.Config, error) {
	again, err := b.again(f)
	if err != nil {
		return nil, nil, err
	}
	place, err := placeAgain(c, f, b)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := ConfigOf(ctx, c, again, place, s)
	if err != nil {
		return nil, nil, err
	}
	if cfg != nil && place.Origin == locate.Argument && !f.Given("config") && digestOf(cfg) != b.SHA256 {
		return nil, nil, fmt.Errorf("%s has changed since the run began: name it again with --config to go on with it as it is now", plaintext.Visible(place.Path))
	}
	now, err := BegunWith(c, again, cfg, place)
	if err != nil {
		return nil, nil, err
	}
	if !f.Mute {
		for _, what := range b.differences(f, &now) {
			s.Warn(what)
		}
	}
	again.Store.Path, again.Store.Given = runs.Place.Path, func(string) bool { return true }
	return again, cfg, nil
}

// placeAgain returns the place of the configuration with which a run goes on: the one that is named
// now, or the one that it was begun with, which is trusted no more than it was then.
func placeAgain(c *cli.CLI, f *Flags, b *Begun) (locate.Place, error) {
	if f.Given("config") {
		return c.ConfigPath(f.Config, true)
	}
	if b.Config == "" {
		return locate.Place{}, nil
	}
	place, err := locate.Default(c.Getenv)
	if err != nil {
		return locate.Place{}, err
	}
	named := place.Origin == locate.Own || place.Origin == locate.Environment
	switch now, err := filepath.Abs(place.Path); {
	case err == nil && named && now == b.Config:
		return locate.Place{Path: b.Config, Origin: place.Origin}, nil
	case b.Origin == locate.Found.String() || f.Alien:
		return locate.Place{Path: b.Config, Origin: locate.Found}, nil
	default: // it was named then; whether it may be used as it is now is for the caller to say
		return locate.Place{Path: b.Config, Origin: locate.Argument}, nil
	}
}

// toResume returns the head of the run that is to go on: the run that is named, or else the last
// run that has not ended and that no process works on. If a process had a run a moment ago,
// toResume waits until it knows whether the process lives, unless the run is to be taken over.
func toResume(ctx context.Context, st *cli.RunStore, run string, takeOver bool, s *terminal.Screen) (checkpoint.Head, error) {
	if run != "" {
		return st.Find(ctx, run)
	}
	var first error
	for h, err := range checkpoint.Heads(ctx, st, checkpoint.Query{Status: OpenStatuses, Limit: 100}) {
		if err != nil {
			return checkpoint.Head{}, cmp.Or(first, err)
		}
		if takeOver || !cli.AtWork(&h, time.Now()) {
			return h, nil
		}
		s.ShowProgress("run " + plaintext.Visible(h.Key.Run) + othersRun)
		head, err := leftAlone(ctx, st, &h)
		if err == nil || !errors.Is(err, errAtWork) {
			return head, err
		}
		first = cmp.Or(first, err)
	}
	return checkpoint.Head{}, cmp.Or(first, errors.New("no run waits, was interrupted or broke off; segue runs lists them all"))
}

// leftAlone returns the head of a run when its lease is over. The error wraps errAtWork if somebody
// works on the run, or has ended it meanwhile.
func leftAlone(ctx context.Context, st *cli.RunStore, h *checkpoint.Head) (checkpoint.Head, error) {
	if err := awaitLease(ctx, st, h.Key.Run, h.Lease.Until); err != nil {
		return checkpoint.Head{}, err
	}
	head, err := st.Head(ctx, h.Key)
	if err == nil && (head.Header.Status.Ended() || cli.AtWork(&head, time.Now())) {
		err = errBusy(st.Command("stop", h.Key.Run))
	}
	return head, err
}

// leaseMargin is what clocks and appends may take beside a lease.
const leaseMargin = 200 * time.Millisecond

// takeUp goes on with a run. If another process had the run a moment ago, takeUp waits until the
// lease of that process has run out, and gives up if the process renews it.
func takeUp(ctx context.Context, st *cli.RunStore, o *orchestrator.Orchestrator, how orchestrator.Resumption, s *terminal.Screen) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		var first time.Time
		for {
			busy, over := time.Time{}, false
			for e, err := range o.Resume(ctx, how) {
				if held, ok := errors.AsType[*checkpoint.Error](err); ok && !held.Until.IsZero() && e.Kind == "" {
					busy = held.Until
					break
				}
				if over = !yield(e, notResumed(e, err, st.Command("show", how.Run))); over {
					break
				}
			}
			if busy.IsZero() || over {
				return
			}
			if first.IsZero() {
				first = busy
				s.ShowProgress("the run" + othersRun)
			}
			if err := awaitLease(ctx, st, how.Run, first); err != nil {
				yield(machine.Event{}, err)
				return
			}
		}
	}
}

// awaitLease waits for the end of the lease of another process. It returns an error if that process
// renews the lease meanwhile.
func awaitLease(ctx context.Context, st *cli.RunStore, run string, until time.Time) error {
	for ; time.Now().Before(until.Add(leaseMargin)); time.Sleep(leaseMargin) {
		if ctx.Err() != nil {
			return cli.EndedBySignal(ctx)
		}
		head, err := st.Head(ctx, checkpoint.Key{Run: run})
		switch {
		case err != nil:
			return err
		case head.Lease.Writer == "" || head.Header.Status.Ended():
			return nil
		case head.Lease.Until.After(until):
			return errBusy(st.Command("stop", run))
		}
	}
	return nil
}

// othersRun says why a command waits for a run.
var othersRun = ": another process had it a moment ago; waiting until that is not heard of for " + cli.Lease.String()

// errAtWork says that a process works on a run.
var errAtWork = errors.New("another process works on the run")

func errBusy(stop string) error {
	return fmt.Errorf("%w; answer and stop reach it there (%s), and --take-over takes the run from it", errAtWork, stop)
}

// notResumed says in the words of the command why a run cannot go on.
func notResumed(e machine.Event, err error, show string) error {
	if e.Kind != "" || err == nil {
		return err
	}
	if _, ok := errors.AsType[*machine.ReplayError](err); ok {
		return cli.Failed(fmt.Errorf("%w; go on with what it was begun with, see: %s", err, show))
	}
	return cli.Failed(err)
}

// OpenStatuses are the statuses of runs that can go on.
var OpenStatuses = []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusParked}
