// Package eval evaluates agents: segue eval.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/messages"
)

// flags are the flags of segue eval.
type flags struct {
	run.Flags
	repeat, parallel      int
	cases, variants       string
	out, against          string
	anew                  bool
	junit, markdown       string
	require               float64
	folder, file, command string // of the results; the suite
}

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command { return []*cobra.Command{evalCommand(c)} }

func evalCommand(c *cli.CLI) *cobra.Command {
	f := &flags{Flags: *run.NewFlags()}
	cmd := &cobra.Command{
		Use:   "eval [flags] FILE",
		Short: "Evaluate agents: try cases, score them, compare the results",
		Long: `Eval has agents work on the cases of a suite, scores what they do, and says what passes, with intervals of 95 %. FILE is a suite in
YAML, with cases and variants of agents, or cases in JSON Lines; then there is one variant, by the flags, or the configuration. What
a variant says counts; what it does not say the flags say, as in segue run. docs/evaluation.md describes the file.

Each trial has a folder of its own with the files of its case, which is removed afterwards, and tools for files if the case has
files, or the agent names such tools. The commands of MCP servers are started for each trial, with its folder as their working
folder, unless the configuration says another; a relative path of a program is one from the folder of the configuration on. Nobody
is asked: tool calls are approved where the configuration does not say otherwise, and a trial that waits for somebody fails.

A configuration that the suite names counts as one that you name. Each trial is kept as a run: segue show shows it.

The results are kept as the trials end. Ctrl-C ends the evaluation, and the same command goes on with it, unless --new is given.
Trials in which the model could not be asked are made anew then.

With --against each variant is compared with that of the same name in earlier results. The exit code is 1 if something is
significantly worse (p < 0.05) by more than allow of the suite allows, or if fewer trials pass than require says.`,
		Example: `  segue eval orders.yaml
  segue eval orders.yaml --against last --junit report.xml
  segue eval orders.yaml --repeat 5 --case '^refund'
  segue eval cases.jsonl -m gpt-5-mini
  segue eval add cases.jsonl 019a5c`,
		Args:              cli.OneArgument("FILE"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"yaml", "yml", "json", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE:              func(cmd *cobra.Command, args []string) error { return evaluate(cmd.Context(), c, f, args[0]) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	own := cmd.Flags()
	own.IntVar(&f.repeat, "repeat", 0, "trials of each case with each variant (default as the suite says, or 1)")
	own.IntVar(&f.parallel, "parallel", 0, "most trials at once (default as the suite says, or 4)")
	own.StringVar(&f.cases, "case", "", "only the cases whose names this `REGEXP` matches")
	own.StringVar(&f.variants, "variant", "", "only the variants whose names this `REGEXP` matches")
	own.StringVar(&f.out, "out", "", "keep the results in this `FILE`, and go on with what is in it (default a file in the state folder)")
	own.BoolVar(&f.anew, "new", false, "begin anew, also if the last evaluation of the suite did not end")
	own.StringVar(&f.against, "against", "", "compare with the results in this `FILE`; last: with those of the last evaluation of the suite")
	own.StringVar(&f.junit, "junit", "", "write JUnit XML to this `FILE`, for continuous integration")
	own.StringVar(&f.markdown, "markdown", "", "write the table as Markdown to this `FILE`")
	own.Float64Var(&f.require, "require", 0, "the least `RATE` of trials that pass, such as 0.9 (default as the suite says, or 0)")
	for _, none := range notOffered {
		_ = own.MarkHidden(none) // the only error is an unknown flag
	}
	cmd.AddCommand(addCommand(c))
	return cmd
}

// notOffered are flags of segue run that mean nothing here.
var notOffered = []string{"ask", "no-ask", "dir", "protect"}

// evaluate executes segue eval.
func evaluate(ctx context.Context, c *cli.CLI, f *flags, file string) error {
	for _, flag := range notOffered {
		if f.Given(flag) {
			return fmt.Errorf("--%s is not for evaluations: each trial has a folder of its own, and nobody is asked", flag)
		}
	}
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	said, err := readSuite(file)
	if err == nil {
		err = choose(said, f.cases, f.variants)
	}
	if err != nil {
		return err
	}
	f.require = cmp.Or(f.require, said.Require)
	ctx, _, release := cli.Interrupts(ctx, false, func() {}, func() {})
	defer release()
	b, err := f.bench(ctx, c, said)
	if err != nil {
		return err
	}
	defer b.runs.Release()
	r := &record{against: f.against, allow: said.Allow, require: f.require, runs: b.runs}
	s, err := f.suite(ctx, b, said, r)
	if err != nil {
		return err
	}
	if f.folder, err = folderOf(c.Getenv, said.Suite, file); err != nil {
		return err
	}
	if err := f.run(ctx, c, b.s, s, r); err != nil && r.Report == nil {
		return err
	} else if failed := f.show(c, r, err); failed != nil {
		return failed
	}
	return nil
}

// bench reads the configuration, and opens the store.
func (f *flags) bench(ctx context.Context, c *cli.CLI, said *suite) (*bench, error) {
	b := &bench{c: c, s: c.Screen(f.Out)}
	var err error
	if b.place, err = c.ConfigPath(f.Config, f.Given("config")); err != nil {
		return nil, err
	}
	if said.Config != "" && !f.Given("config") {
		b.place = locate.Place{Path: said.Config, Origin: locate.Argument}
	}
	if b.cfg, err = run.ConfigOf(ctx, c, &f.Flags, b.place, b.s); err != nil {
		return nil, err
	}
	if b.cfg != nil {
		if err := f.Settings.FromProfile(b.cfg); err != nil {
			return nil, err
		}
	}
	b.runs, err = run.KeepRuns(ctx, c, &f.Store, b.cfg, b.s)
	return b, err
}

// suite returns the suite that is run.
func (f *flags) suite(ctx context.Context, b *bench, said *suite, r *record) (*eval.Suite, error) {
	s := &eval.Suite{
		Name: said.Suite, Cases: said.Cases, Repeat: cmp.Or(f.repeat, said.Repeat), Parallel: cmp.Or(f.parallel, said.Parallel),
		MaxCost: messages.Cost(said.MaxCost * float64(messages.Dollar)),
	}
	if b.runs != nil {
		s.Store = b.runs
	}
	for _, v := range said.Variants {
		made, err := b.variant(ctx, f.Flags, v, said.Cases)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		s.Variants = append(s.Variants, made)
	}
	if said.Judge == (judgeFile{}) {
		return s, nil
	}
	var err error
	s.Judge, r.Judge, err = b.judge(ctx, said.Judge, f.Store)
	return s, err
}

// run makes the trials, and compares them.
func (f *flags) run(ctx context.Context, c *cli.CLI, screen *terminal.Screen, s *eval.Suite, r *record) error {
	had, file := 0, f.out
	var err error
	switch {
	case file != "" && f.anew && exists(file):
		return fmt.Errorf("%s is there already: --new begins anew, so name another file", plaintext.Visible(file))
	case file == "" && f.folder == "":
		screen.Warn("the results are not kept: there is no state folder, as neither HOME nor XDG_STATE_HOME is an absolute path; --out FILE names a file")
	case file == "":
		if file, had, err = fileIn(f.folder, s, f.anew); err != nil {
			return err
		}
	}
	var results *eval.Results
	if file != "" {
		if results, err = eval.OpenResults(file); err != nil {
			return err
		}
		defer results.Close() //nolint:errcheck // each line is written at once
		if had > 0 {
			screen.ShowProgress(fmt.Sprintf("goes on with %s, which has %s; --new begins anew", plaintext.Visible(file), plaintext.Counted(had, "trial")))
		} else {
			screen.ShowProgress("the results are kept in " + plaintext.Visible(file))
		}
	}
	p := progress{s: screen, began: time.Now(), first: -1}
	s.Observe = func(t eval.Trial, at eval.Progress) {
		p.show(at)
		if f.Out.Kind() == cli.FormJSONL {
			_ = cli.Encode(c.Stdout, t) // what is written in the end says why it cannot be
		}
	}
	r.File = file
	r.Report, err = s.Run(ctx, results)
	screen.Clear()
	if err != nil {
		return f.cutOff(ctx, r, err)
	}
	if r.against != "" {
		return r.compare(f.folder)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// cutOff returns the error of an evaluation that did not end.
func (f *flags) cutOff(ctx context.Context, r *record, err error) error {
	if r.Report == nil {
		return err
	}
	code := cli.ExitCode(err)
	if ctx.Err() != nil && !errors.Is(err, eval.ErrCost) && code < cli.ExitHungUp {
		if ended := cli.EndedBySignal(ctx); errors.Is(err, context.Cause(ctx)) {
			code, err = cli.ExitCode(ended), ended
		}
	}
	if errors.Is(err, eval.ErrCost) {
		code, err = cli.ExitLimit, errors.New("the evaluation has cost max_cost, or more")
	}
	how := "nothing is kept"
	if r.File != "" {
		how = "kept in " + plaintext.Visible(r.File) + "; the same command goes on"
	}
	return &cli.ExitError{Code: code, Err: fmt.Errorf("%w: %d of %s are done, %s", err, r.Done(), plaintext.Counted(r.Planned, "trial"), how)}
}

// progress shows how far an evaluation is.
type progress struct {
	s     *terminal.Screen
	began time.Time
	first int // trials that were there before; -1: not known yet
}

func (p *progress) show(at eval.Progress) {
	if p.first < 0 {
		p.first = at.Done - 1
	}
	text := fmt.Sprintf("%d of %d, %d passed", at.Done, at.All, at.Passed)
	each := time.Since(p.began) / time.Duration(at.Done-p.first)
	if left := (each * time.Duration(at.All-at.Done)).Truncate(time.Second); left > 0 {
		text += ", " + left.String() + " left"
	}
	if p.s.Live() {
		p.s.ShowDoing(text, at.Cost)
	} else if tenth := max(at.All/10, 1); at.Done%tenth == 0 {
		p.s.ShowProgress(text)
	}
}

// toFile writes a file anew.
func toFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err == nil {
		err = write(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return cli.Failed(fmt.Errorf("cannot write the report: %w", err))
	}
	return nil
}
