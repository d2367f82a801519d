package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/strategytest/explore/alphabet"
)

// checkFlags are the flags of segue check.
type checkFlags struct {
	runFlags
	odd, depth, states, caps int
}

func (c *cli) checkCommand() *cobra.Command {
	f := &checkFlags{}
	f.strategy, f.approve, f.reads, f.mute = oneOf(strategies.Words()...), oneOf(config.ApprovalWords...), true, true
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.check(cmd.Context(), f) },
	}
	f.offer(c, cmd)
	f.settings.offer(cmd, c, &f.config)
	flags := cmd.Flags()
	flags.IntVar(&f.odd, "odd", 1, "most odd events on a path, such as failures, stops and crashes; 0: no bound")
	flags.IntVar(&f.depth, "depth", 0, "most events on a path; 0: no bound")
	flags.IntVar(&f.states, "states", 20_000, "most states; it ends there")
	flags.IntVar(&f.caps, "caps", 0, "lower each cap of the strategies to this; 0: as they are")
	return cmd
}

// check executes segue check.
func (c *cli) check(ctx context.Context, f *checkFlags) error {
	if err := f.settings.fromEnvironment(c.getenv); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.odd < 0 || f.depth < 0 || f.caps < 0 || f.states < 1 {
		return errors.New("--odd, --depth and --caps are numbers from 0 on, and --states one from 1 on")
	}
	j, err := c.readJob(ctx, &f.runFlags)
	if err != nil {
		return err
	}
	defer j.close()
	r := exploredRecord{Agent: f.agent, Caps: f.caps}
	if r.Bound, err = j.bound(f.agent, messages.Usage{}); err != nil {
		return err
	}
	o, err := j.explored(&r.Bound)
	if err != nil {
		return err
	}
	o.Odd, o.Depth, o.States, o.Caps = f.odd, f.depth, f.states, f.caps
	c.screen(f.out).ShowProgress("trying what can happen to " + plaintext.Visible(o.Name) + "; this may take a minute")
	if err := r.explore(j.strategies[j.task.Strategy], o); err != nil {
		return failed(err)
	}
	if kind := f.out.kind(); kind == formJSON || kind == formJSONL {
		err = encode(c.stdout, r)
	} else {
		err = c.showCheck(&r, f)
	}
	if err != nil {
		return err
	}
	return r.verdict()
}

// explored returns the world in which the job is explored, with the strategies that its bound
// lists.
func (j job) explored(b *boundRecord) (explore.Options, error) {
	root := j.task.Strategy
	o := explore.Options{Name: root, Strategies: strategy.Set{}, Agents: map[string]*machine.Agent{}, Limits: j.task.Limits}
	for _, f := range b.Frames {
		if factory := j.strategies[f.Strategy]; factory != nil {
			o.Strategies[f.Strategy] = factory
		}
	}
	for _, t := range j.tools {
		def := t.Definition()
		o.Tools = append(o.Tools, def)
		if a := machine.AgentOf(t); a != nil {
			o.Agents[def.Name] = a
			o.Strategies[a.Strategy] = j.strategies[a.Strategy]
		}
	}
	if root == explore.Subject || o.Strategies[explore.Subject] != nil {
		return o, fmt.Errorf("the agent %q cannot be checked: explorations have another use for its name; call it something else", explore.Subject)
	}
	policy := j.files.Protect(j.policy())
	o.Approve = func(r machine.ApprovalRequest) machine.Verdict {
		if r.Strategy == explore.Subject {
			r.Strategy = root
		}
		if r.Definition.NeedsApproval {
			return workfolder.Stricter(machine.VerdictAsk, policy(r))
		}
		return policy(r)
	}
	if j.strategies[root] == nil {
		return o, fmt.Errorf("no strategy %q", root)
	}
	o.World = alphabet.For(j.strategies[root], o)
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
