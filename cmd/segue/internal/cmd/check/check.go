// Package check says what a run can do before it is made: segue check, bound and graph.
package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
)

// checkFlags are the flags of segue check.
type checkFlags struct {
	run.Flags
	odd, depth, states, caps int
}

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{checkCommand(c), boundCommand(c), graphCommand(c)}
}

func checkCommand(c *cli.CLI) *cobra.Command {
	f := &checkFlags{}
	f.Strategy, f.Approve, f.Reads, f.Mute = cli.OneOf(strategies.Words()...), cli.OneOf(approve.Words...), true, true
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Try everything that can happen to an agent",
		Long: `Check makes the run that segue run would begin with the same flags, with all agents that it may call, and tries everything that can
happen to it, the shortest ways first: every kind of answer of a model, results and failures of tools, answers of people, stops, and
crashes. In each state it looks whether the laws of runs hold. It says how much it has tried, what a run uses at most, which
transitions of the strategies were never taken. No model is asked, no tool is called, and no trust is needed, unless the agent uses MCP servers: these are asked for their tools.

Calls of tools that have a schema have the arguments that it asks for, with "text" for each text. Of the answers of models there are
examples of each kind, and not all. A path may have as many odd events, such as failures, as --odd says. An agent with large caps has
more states than can be tried: with --caps 2 each cap is 2, because what happens three times is not new.

What is wrong is shown as a story: a script that plays it with strategytest.Stories. The exit code is 1 if a law is broken. Questions
of your own, such as whether a file is ever written without an approval, are asked in a test in Go, with package strategytest/explore.`,
		Example: `  segue check --agent planner --caps 2
  segue check --agent writer --dir notes
  segue check --agent lead -o json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheck(cmd.Context(), c, f) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	flags := cmd.Flags()
	flags.IntVar(&f.odd, "odd", 1, "most odd events on a path, such as failures, stops and crashes; 0: no bound")
	flags.IntVar(&f.depth, "depth", 0, "most events on a path; 0: no bound")
	flags.IntVar(&f.states, "states", 20_000, "most states; it ends there")
	flags.IntVar(&f.caps, "caps", 0, "lower each cap of the strategies to this; 0: as they are")
	return cmd
}

// runCheck executes segue check.
func runCheck(ctx context.Context, c *cli.CLI, f *checkFlags) error {
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	if f.odd < 0 || f.depth < 0 || f.caps < 0 || f.states < 1 {
		return errors.New("--odd, --depth and --caps are numbers from 0 on, and --states one from 1 on")
	}
	j, err := run.ReadJob(ctx, c, &f.Flags)
	if err != nil {
		return err
	}
	defer j.Close()
	r := exploredRecord{Agent: f.Agent, Caps: f.caps}
	if r.Bound, err = boundOfJob(j, f.Agent, messages.Usage{}); err != nil {
		return err
	}
	o, err := exploredIn(j, &r.Bound)
	if err != nil {
		return err
	}
	o.Odd, o.Depth, o.States, o.Caps = f.odd, f.depth, f.states, f.caps
	c.Screen(f.Out).ShowProgress("trying what can happen to " + plaintext.Visible(o.Name) + "; this may take a minute")
	if err := r.explore(j.Strategies[j.Task.Strategy], o); err != nil {
		return cli.Failed(err)
	}
	if err := c.Print(f.Out.Kind(), r, r.text(f.Out.Verbose)); err != nil {
		return err
	}
	return r.verdict()
}

// exploredIn returns the world in which the job is explored, with the strategies that its bound
// lists.
func exploredIn(j run.Job, b *boundRecord) (explore.Options, error) {
	root := j.Task.Strategy
	o := explore.Options{Name: root, Strategies: strategy.Set{}, Agents: map[string]*machine.Agent{}, Limits: j.Task.Limits}
	for _, f := range b.Frames {
		if factory := j.Strategies[f.Strategy]; factory != nil {
			o.Strategies[f.Strategy] = factory
		}
	}
	for _, t := range j.Tools {
		def := t.Definition()
		o.Tools = append(o.Tools, def)
		if a := machine.AgentOf(t); a != nil {
			o.Agents[def.Name] = a
			o.Strategies[a.Strategy] = j.Strategies[a.Strategy]
		}
	}
	if root == explore.Subject || o.Strategies[explore.Subject] != nil {
		return o, fmt.Errorf("the agent %q cannot be checked: explorations have another use for its name; call it something else", explore.Subject)
	}
	policy := j.Files.Protect(j.Policy())
	o.Approve = func(r machine.ApprovalRequest) machine.Verdict {
		if r.Strategy == explore.Subject {
			r.Strategy = root
		}
		if r.Definition.NeedsApproval {
			return workfolder.Stricter(machine.VerdictAsk, policy(r))
		}
		return policy(r)
	}
	if j.Strategies[root] == nil {
		return o, fmt.Errorf("no strategy %q", root)
	}
	o.World = alphabet.For(j.Strategies[root], o)
	return o, nil
}

// explore explores a strategy, and notes what was found.
func (r *exploredRecord) explore(factory func() strategy.Strategy, o explore.Options) error {
	set := maps.Clone(o.Strategies)
	set[explore.Subject] = factory
	moves := coverage.New(set)
	o.See = func(s *explore.State) {
		for _, e := range s.Events() {
			moves.Add(e)
		}
	}
	report, err := explore.Run(factory, o)
	if err != nil {
		return err
	}
	r.note(report)
	for _, t := range moves.Tables() {
		r.Coverage = append(r.Coverage, newCoverRecord(t, o.Name))
	}
	for _, name := range moves.Untabled() {
		r.Untabled = append(r.Untabled, ownName(name, o.Name))
	}
	slices.Sort(r.Untabled)
	r.Untabled = slices.Compact(r.Untabled)
	return nil
}

// ownName returns the name of a strategy in the configuration.
func ownName(name, root string) string {
	if name == explore.Subject {
		return root
	}
	return name
}
