// Package eval evaluates agents: segue eval.
package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/messages"
)

// flags are the flags of segue eval.
type flags struct {
	run.Flags
	repeat, parallel int
	cases, variants  string
	out, against     string
	anew             bool
	junit, markdown  string
	require          float64
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

Each trial has a folder of its own with the files of its case, which is removed afterwards, and tools for files if the agent names
some, or the case has files and the agent has no list of tools. The commands of MCP servers are started for each trial, with its folder as their working
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
	cmd.MarkFlagsMutuallyExclusive("new", "out")
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
	if err := errors.Join(f.Settings.FromEnvironment(c.Getenv), f.Check()); err != nil {
		return err
	}
	said, err := readSuite(file)
	if err == nil {
		err = said.keep(f.cases, f.variants)
	}
	if err != nil {
		return err
	}
	f.require = cmp.Or(f.require, said.Require)
	ctx, _, release := cli.Interrupts(ctx, false, func() {}, func() {})
	defer release()
	b, err := f.bench(ctx, c, &said)
	if err != nil {
		return err
	}
	defer b.runs.Release()
	folder, err := folderOf(c, said.Suite, file)
	if err != nil {
		return err
	}
	old, against, err := f.earlier(folder, b.s)
	if err != nil {
		return err
	}
	s, bias, err := f.suite(ctx, b, &said)
	if err != nil {
		return err
	}
	r, err := f.run(ctx, b, s, folder)
	if r == nil {
		return err
	}
	r.Judge, r.Against = bias, against
	if err == nil && old != nil {
		err = r.compare(old, &said)
	}
	if err == nil {
		err = r.verdict(f.require)
	}
	return cmp.Or(r.show(c, f), err)
}

// bench reads the configuration, and opens the store.
func (f *flags) bench(ctx context.Context, c *cli.CLI, said *suite) (b *bench, err error) {
	b = &bench{c: c, f: &f.Flags, s: c.Screen(f.Out)}
	if said.Config != "" && !f.Given("config") {
		b.place = locate.Place{Path: said.Config, Origin: locate.Argument}
	} else if b.place, err = c.ConfigPath(f.Config, f.Given("config")); err != nil {
		return nil, err
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

// suite returns the suite that is run, and how far its judge can be trusted.
func (f *flags) suite(ctx context.Context, b *bench, said *suite) (s *eval.Suite, bias *eval.Bias, err error) {
	s = &eval.Suite{
		Name: said.Suite, Cases: said.Cases, Repeat: cmp.Or(f.repeat, said.Repeat), Parallel: cmp.Or(f.parallel, said.Parallel),
		MaxCost: messages.Cost(said.MaxCost * float64(messages.Dollar)),
	}
	if b.runs != nil {
		s.Store = b.runs
	}
	for _, v := range said.Variants {
		made, err := b.variant(ctx, v, said.Cases)
		if err != nil {
			return nil, nil, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		s.Variants = append(s.Variants, made)
	}
	if said.Judge != (judgeFile{}) {
		s.Judge, bias, err = b.judge(ctx, said.Judge)
	}
	return s, bias, err
}

// folderOf returns the folder of the results of a suite in a file.
func folderOf(c *cli.CLI, name, file string) (string, error) {
	state := xdg.Folder(c.Getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	whole, err := filepath.Abs(file)
	sum := sha256.Sum256([]byte(whole + "\n" + name))
	return filepath.Join(state, "segue", "evals", hex.EncodeToString(sum[:6])), err
}

// kept returns the files of results in a folder, the newest first.
func kept(folder string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.jsonl")) // the only error is a pattern
	slices.Sort(files)
	slices.Reverse(files)
	return files
}

// results returns the file for the results: the one that is named, or the newest of the same
// evaluation if that did not end, or else a new one.
func (f *flags) results(s *eval.Suite, folder string) (string, error) {
	if f.out != "" {
		return f.out, nil
	}
	of, err := s.Digest()
	if err != nil {
		return "", err
	}
	if all := kept(folder); len(all) > 0 && !f.anew {
		if had, err := eval.ReadResults(all[0]); err == nil && had.Of == of && had.Done() < had.Planned {
			return all[0], nil
		}
	}
	if !filepath.IsAbs(folder) {
		return "", errors.New("there is no state folder for the results: name a file with --out")
	}
	return filepath.Join(folder, time.Now().UTC().Format("20060102-150405.000")+".jsonl"), os.MkdirAll(folder, 0o700)
}

// run makes the trials.
func (f *flags) run(ctx context.Context, b *bench, s *eval.Suite, folder string) (*record, error) {
	r := &record{runs: b.runs}
	var err error
	if r.File, err = f.results(s, folder); err != nil {
		return nil, err
	}
	began, first := time.Now(), -1
	if had, err := eval.ReadResults(r.File); err == nil {
		b.s.ShowProgress(fmt.Sprintf("goes on with %s, where %d of %d trials are done", plaintext.Visible(r.File), had.Done(), had.Planned))
	} else {
		b.s.ShowProgress("the results are kept in " + plaintext.Visible(r.File))
	}
	results, err := eval.OpenResults(r.File)
	if err != nil {
		return nil, err
	}
	defer results.Close() //nolint:errcheck // each line is written at once
	s.Observe = func(t eval.Trial, at eval.Progress) {
		if first < 0 {
			first = at.Done - 1
		}
		showProgress(b.s, at, time.Since(began)/time.Duration(at.Done-first))
		if f.Out.Kind() == cli.FormJSONL {
			_ = cli.Encode(b.c.Stdout, t) // what is written in the end says why it cannot be
		}
	}
	r.Report, err = s.Run(ctx, results)
	b.s.Clear()
	switch {
	case err == nil:
		return r, nil
	case r.Report == nil:
		return nil, err
	}
	code := cli.ExitCode(err)
	switch {
	case errors.Is(err, eval.ErrCost):
		code, err = cli.ExitLimit, errors.New("the evaluation has cost max_cost, or more")
	case ctx.Err() != nil:
		err = cli.EndedBySignal(ctx)
		code = cli.ExitCode(err)
	}
	return r, &cli.ExitError{Code: code, Err: fmt.Errorf("%w: %d of %d trials are done, and kept in %s; the same command, without --new, goes on",
		err, r.Done(), r.Planned, plaintext.Visible(r.File))}
}

// showProgress shows how far an evaluation is; each is how long a trial takes.
func showProgress(s *terminal.Screen, at eval.Progress, each time.Duration) {
	text := fmt.Sprintf("%d of %d, %d passed", at.Done, at.All, at.Passed)
	if left := (each * time.Duration(at.All-at.Done)).Truncate(time.Second); left > 0 {
		text += ", " + left.String() + " left"
	}
	if s.Live() {
		s.ShowDoing(text, at.Cost)
	} else if at.Done%max(at.All/10, 1) == 0 {
		s.ShowProgress(text)
	}
}

// earlier returns the results that are compared with; nil if there are none.
func (f *flags) earlier(folder string, s *terminal.Screen) (old *eval.Report, file string, err error) {
	switch f.against {
	case "":
		return nil, "", nil
	case "last":
		for _, file := range kept(folder) {
			if old, err := eval.ReadResults(file); err == nil && old.Done() >= old.Planned {
				return old, file, nil
			}
		}
		s.Warn("nothing is compared: no earlier evaluation of the suite has ended")
		return nil, "", nil
	}
	old, err = eval.ReadResults(f.against)
	return old, f.against, err
}

// compare compares variants by their names; the only ones of both, whatever they are called.
func (r *record) compare(old *eval.Report, said *suite) error {
	allow := eval.Allowed{}
	if err := recode(said.Allow, &allow); err != nil {
		return err
	}
	for _, v := range r.Variants {
		was := old.Variant(v.Name)
		if len(old.Variants) == 1 && len(r.Variants) == 1 {
			was = old.Variants[0]
		}
		if was == nil {
			continue
		}
		changes, err := eval.Compare(was, v, allow)
		if err != nil {
			return fmt.Errorf("variant %s: %w", v.Name, err)
		}
		r.Changes = append(r.Changes, changes...)
	}
	if r.Changes == nil {
		return fmt.Errorf("%s has no variant of the same name: nothing can be compared", plaintext.Visible(r.Against))
	}
	return nil
}
