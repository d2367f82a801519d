package main

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
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

func (c *cli) resumeCommand() *cobra.Command {
	f := &runFlags{strategy: oneOf(strategies.Words()...), approve: oneOf(config.ApprovalWords...)}
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
			return oneRun(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.resumeRun(cmd.Context(), f, strings.Join(args, ""), takeOver)
		},
	}
	flags := cmd.Flags()
	f.approve.offer(cmd, "approve", "`WHICH` tool calls need your approval from now on: "+listed(config.ApprovalWords))
	flags.StringVarP(&f.model, "model", "m", "", "another model (default that of the run)")
	flags.StringVar(&f.baseURL, "base-url", "", "another server (default that of the run)")
	f.api.offerAPI(cmd, "another API of the server: Chat Completions, OpenAI's Responses or Anthropic's Messages (default that of the run)")
	offerPolicy(cmd, &f.policy, "", "another text format for tool calls (default that of the run)")
	flags.StringVar(&f.idle, "idle-timeout", "", idleUsage)
	flags.StringVar(&f.dir, "dir", "", "where the folder of the run is now (default where it was)")
	flags.StringArrayVar(&f.protect, "protect", nil, "have more files asked about; may be said again")
	flags.StringVar(&f.config, "config", "", "the configuration (default that of the run)")
	flags.IntVar(&f.maxSteps, "max-steps", 0, "most steps of the whole run, with those that it has made; negative: no bound (default as before)")
	flags.BoolVar(&takeOver, "take-over", false, "do not wait for another process that works on the run")
	f.store.offer(cmd)
	f.out.flags(cmd)
	f.given = flags.Changed
	cmd.ValidArgsFunction = c.completeRuns(&f.store, openStatuses...)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("model", c.completeModels(&f.config))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// resumeRun executes segue resume.
func (c *cli) resumeRun(ctx context.Context, f *runFlags, run string, takeOver bool) error {
	if err := f.check(); err != nil {
		return err
	}
	s := c.screen(f.out)
	runs, err := c.openRuns(ctx, &f.store)
	if err != nil {
		return err
	}
	j := job{runs: runs}
	defer func() { j.close() }()
	head, err := runs.toResume(ctx, run, takeOver, s)
	if err != nil {
		return err
	}
	how := &orchestrator.Resumption{Run: head.Key.Run, TakeOver: takeOver}
	if f.maxSteps != 0 {
		how.Limits = delegation.Limits{Steps: f.maxSteps}
	}
	made, err := c.jobAgain(ctx, f, runs, head.Key, s)
	if err != nil {
		return err
	}
	j = made
	j.resume = how
	return c.perform(ctx, j, f.out, s)
}

// jobAgain makes the job of a run that is kept, with what it was begun with. It must be closed,
// which closes runs.
func (c *cli) jobAgain(ctx context.Context, f *runFlags, runs *runStore, key checkpoint.Key, s *terminal.Screen) (job, error) {
	began, err := runview.Begin(ctx, runs, key)
	if err != nil {
		return job{}, err
	}
	b, err := readBegun(key.Run, &began)
	if err != nil {
		return job{}, err
	}
	return c.jobBegun(ctx, f, &b, runs, s)
}

// jobBegun makes the job of a run that was begun with b. It must be closed, which closes runs.
func (c *cli) jobBegun(ctx context.Context, f *runFlags, b *begun, runs *runStore, s *terminal.Screen) (job, error) {
	again, cfg, err := c.prepareAgain(ctx, f, b, runs, s)
	if err != nil {
		return job{}, err
	}
	again.begun = b
	j, err := c.jobOf(ctx, again, cfg, s)
	j.runs = runs
	if errors.Is(err, fs.ErrNotExist) && again.dir != "" {
		err = fmt.Errorf("%w; --dir says where the folder is now", err)
	}
	return j, err
}

// prepareAgain returns the flags and the configuration with which a run goes on, and says what is
// not as it was.
func (c *cli) prepareAgain(ctx context.Context, f *runFlags, b *begun, runs *runStore, s *terminal.Screen) (*runFlags, *config.Config, error) {
	again, err := b.again(f)
	if err != nil {
		return nil, nil, err
	}
	place, err := c.placeAgain(f, b)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := c.configOf(ctx, again, place, s)
	if err != nil {
		return nil, nil, err
	}
	if cfg != nil && place.Origin == config.OriginArgument && !f.given("config") && digestOf(cfg) != b.SHA256 {
		return nil, nil, fmt.Errorf("%s has changed since the run began: name it again with --config to go on with it as it is now", plaintext.Visible(place.Path))
	}
	now, err := c.begunWith(again, cfg, place)
	if err != nil {
		return nil, nil, err
	}
	if !f.mute {
		for _, what := range b.differences(f, &now) {
			s.Warn(what)
		}
	}
	again.store.path, again.store.given = runs.place.Path, func(string) bool { return true }
	return again, cfg, nil
}

// placeAgain returns the place of the configuration with which a run goes on: the one that is named
// now, or the one that it was begun with, which is trusted no more than it was then.
func (c *cli) placeAgain(f *runFlags, b *begun) (config.Place, error) {
	if f.given("config") {
		return c.configPath(f.config, true)
	}
	if b.Config == "" {
		return config.Place{}, nil
	}
	place, err := config.Locate(c.getenv)
	if err != nil {
		return config.Place{}, err
	}
	named := place.Origin == config.OriginOwn || place.Origin == config.OriginEnvironment
	switch now, err := filepath.Abs(place.Path); {
	case err == nil && named && now == b.Config:
		return config.Place{Path: b.Config, Origin: place.Origin}, nil
	case b.Origin == config.OriginFound.String() || f.alien:
		return config.Place{Path: b.Config, Origin: config.OriginFound}, nil
	default: // it was named then; whether it may be used as it is now is for the caller to say
		return config.Place{Path: b.Config, Origin: config.OriginArgument}, nil
	}
}

// toResume returns the head of the run that is to go on: the run that is named, or else the last
// run that has not ended and that no process works on. If a process had a run a moment ago,
// toResume waits until it knows whether the process lives, unless the run is to be taken over.
func (st *runStore) toResume(ctx context.Context, run string, takeOver bool, s *terminal.Screen) (checkpoint.Head, error) {
	if run != "" {
		return st.find(ctx, run)
	}
	var first error
	for h, err := range checkpoint.Heads(ctx, st, checkpoint.Query{Status: openStatuses, Limit: 100}) {
		if err != nil {
			return checkpoint.Head{}, cmp.Or(first, err)
		}
		if takeOver || !atWork(&h, time.Now()) {
			return h, nil
		}
		s.ShowProgress("run " + plaintext.Visible(h.Key.Run) + othersRun)
		head, err := st.leftAlone(ctx, &h)
		if err == nil || !errors.Is(err, errAtWork) {
			return head, err
		}
		first = cmp.Or(first, err)
	}
	return checkpoint.Head{}, cmp.Or(first, errors.New("no run waits, was interrupted or broke off; segue runs lists them all"))
}

// leftAlone returns the head of a run when its lease is over. The error wraps errAtWork if somebody
// works on the run, or has ended it meanwhile.
func (st *runStore) leftAlone(ctx context.Context, h *checkpoint.Head) (checkpoint.Head, error) {
	if err := st.awaitLease(ctx, h.Key.Run, h.Lease.Until); err != nil {
		return checkpoint.Head{}, err
	}
	head, err := st.Head(ctx, h.Key)
	if err == nil && (head.Header.Status.Ended() || atWork(&head, time.Now())) {
		err = errBusy(st.command("stop", h.Key.Run))
	}
	return head, err
}

// leaseMargin is what clocks and appends may take beside a lease.
const leaseMargin = 200 * time.Millisecond

// takeUp goes on with a run. If another process had the run a moment ago, takeUp waits until the
// lease of that process has run out, and gives up if the process renews it.
func (st *runStore) takeUp(ctx context.Context, o *orchestrator.Orchestrator, how orchestrator.Resumption, s *terminal.Screen) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		var first time.Time
		for {
			busy, over := time.Time{}, false
			for e, err := range o.Resume(ctx, how) {
				if held, ok := errors.AsType[*checkpoint.Error](err); ok && !held.Until.IsZero() && e.Kind == "" {
					busy = held.Until
					break
				}
				if over = !yield(e, notResumed(e, err, st.command("show", how.Run))); over {
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
			if err := st.awaitLease(ctx, how.Run, first); err != nil {
				yield(machine.Event{}, err)
				return
			}
		}
	}
}

// awaitLease waits for the end of the lease of another process. It returns an error if that process
// renews the lease meanwhile.
func (st *runStore) awaitLease(ctx context.Context, run string, until time.Time) error {
	for ; time.Now().Before(until.Add(leaseMargin)); time.Sleep(leaseMargin) {
		if ctx.Err() != nil {
			return endedBySignal(ctx)
		}
		head, err := st.Head(ctx, checkpoint.Key{Run: run})
		switch {
		case err != nil:
			return err
		case head.Lease.Writer == "" || head.Header.Status.Ended():
			return nil
		case head.Lease.Until.After(until):
			return errBusy(st.command("stop", run))
		}
	}
	return nil
}

// othersRun says why a command waits for a run.
var othersRun = ": another process had it a moment ago; waiting until that is not heard of for " + lease.String()

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
		return failed(fmt.Errorf("%w; go on with what it was begun with, see: %s", err, show))
	}
	return failed(err)
}

// openStatuses are the statuses of runs that can go on.
var openStatuses = []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusParked}

// statusOf returns the status of a run as it is shown: a run that is running, and that no process
// works on, was interrupted.
func statusOf(h *checkpoint.Head, now time.Time) string {
	status := cmp.Or(h.Header.Status, checkpoint.StatusRunning)
	if status == checkpoint.StatusRunning && !atWork(h, now) {
		return string(machine.StatusInterrupted)
	}
	return string(status)
}

// atWork reports whether a process works on a run, or did so a moment ago.
func atWork(h *checkpoint.Head, now time.Time) bool { return h.Lease.Until.After(now) }
