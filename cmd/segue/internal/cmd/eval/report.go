package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/eval"
)

// record is what segue eval found, in the form json.
type record struct {
	File         string        `json:"file,omitempty"` // of the results
	*eval.Report               // nil: no trial was begun
	Rates        []rate        `json:"rates"`
	Judge        *eval.Bias    `json:"judge,omitempty"`
	Against      string        `json:"against,omitempty"` // the file of the earlier results
	Changes      []eval.Change `json:"changes,omitempty"`
	Failed       []string      `json:"failed,omitempty"` // why the exit code is not 0

	against string
	allow   eval.Allowed
	require float64
	runs    *cli.RunStore
}

// rate is how often the trials of a variant pass.
type rate struct {
	Variant string        `json:"variant"`
	Passes  eval.Estimate `json:"passes"`
	K       int           `json:"k"`        // trials of each case
	PassAt  eval.Estimate `json:"pass_at"`  // at least one of k
	PassAll eval.Estimate `json:"pass_all"` // each of k
}

// compare compares with earlier results.
func (r *record) compare(folder string) error {
	old, file, err := earlier(r.against, folder, r.File)
	if err == nil {
		r.Against = file
		r.Changes, err = compare(old, r.Report, r.allow)
	}
	return err
}

// show writes the report, and returns why the exit code is not 0; err is why the evaluation did not
// end, or was not compared.
func (f *flags) show(c *cli.CLI, r *record, err error) error {
	for _, v := range r.Variants {
		k := max(v.Trials(), 1)
		r.Rates = append(r.Rates, rate{v.Name, v.Passes(), k, v.PassAt(k), v.PassAll(k)})
	}
	code := cli.ExitFailed
	if err == nil {
		code = r.verdict()
	}
	required := cmp.Or(r.require, 1)
	for _, failed := range []error{
		c.Print(f.Out.Kind(), r, r.text()),
		toFile(f.markdown, r.Markdown),
		toFile(f.junit, func(w io.Writer) error { return r.JUnit(w, required) }),
		err,
	} {
		if failed != nil {
			return failed
		}
	}
	if len(r.Failed) > 0 {
		return &cli.ExitError{Code: code, Err: errors.New(strings.Join(r.Failed, "; "))}
	}
	return nil
}

// verdict says what is not as it must be, and returns the exit code for it.
func (r *record) verdict() int {
	code := cli.ExitFailed
	for _, v := range r.Variants {
		sum := v.Sum()
		if sum.Broken > 0 {
			r.Failed = append(r.Failed, fmt.Sprintf("%s: in %s the model could not be asked; the same command makes them anew",
				v.Name, plaintext.Counted(sum.Broken, "trial")))
			code = cli.ExitProvider
		}
		if got := v.Passes().Rate; got < r.require {
			r.Failed = append(r.Failed, fmt.Sprintf("%s: %.0f %% pass, and %.0f %% are required", v.Name, 100*got, 100*r.require))
		}
	}
	for _, c := range r.Changes {
		if c.Beyond {
			r.Failed = append(r.Failed, fmt.Sprintf("%s: %s is worse than allowed", c.Variant, c.Measure))
		}
	}
	return code
}

// text shows the report.
func (r *record) text() string {
	var b strings.Builder
	b.WriteString(table(r.Table()))
	if failed := r.failures(); len(failed) > 1 {
		b.WriteString("\n" + table(failed))
	}
	if j := r.Judge; j != nil {
		fmt.Fprintf(&b, "\nThe judge agrees with %s %% of %s; it approves %s %% of the bad answers, and not %s %% of the good ones.\n",
			j.Agreement, plaintext.Counted(j.Labels, "label"), j.TooKind, j.TooStrict)
		if j.Pairs > 0 {
			fmt.Fprintf(&b, "It prefers the better of two answers in %s %% of %s; it favours %s place (p %.2g).\n",
				j.Right, plaintext.Counted(j.Pairs, "pair"), cmp.Or(j.Favours(), "no"), j.P)
		}
	}
	if r.Against != "" {
		fmt.Fprintf(&b, "\nAgainst %s:\n%s", plaintext.Visible(r.Against), table(r.changes()))
	}
	return b.String()
}

func table(rows [][]string) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = strings.Join(row, "\t")
	}
	return cli.Table(lines)
}

// whyColumns is how much is shown of why a case failed.
const whyColumns = 80

// failures lists the cases of which not every trial passed.
func (r *record) failures() [][]string {
	rows := [][]string{{"failed", "variant", "passed", "run", "why"}}
	for _, v := range r.Variants {
		for _, c := range v.Cases {
			if c.Passed == c.Trials {
				continue
			}
			how := c.Run
			if r.runs != nil {
				how = r.runs.Command("show", c.Run)
			}
			rows = append(rows, []string{
				plaintext.Visible(c.Name), plaintext.Visible(v.Name), fmt.Sprintf("%d of %d", c.Passed, c.Trials), how,
				plaintext.Head(plaintext.OneLine(c.Why), whyColumns),
			})
		}
	}
	return rows
}

// changes lists what was compared.
func (r *record) changes() [][]string {
	rows := [][]string{{"variant", "measure", "old", "new", "p", "verdict"}}
	for _, c := range r.Changes {
		verdict := string(c.Verdict)
		if c.Beyond {
			verdict += ", and more than allowed"
		}
		shown := func(value float64) string {
			switch c.Measure {
			case "pass":
				return fmt.Sprintf("%.0f %%", 100*value)
			case "cost":
				return fmt.Sprintf("$%.6f", value/1e6)
			}
			return fmt.Sprintf("%.4g", value)
		}
		rows = append(rows, []string{plaintext.Visible(c.Variant), c.Measure, shown(c.Old), shown(c.New), fmt.Sprintf("%.2g", c.P), verdict})
	}
	return rows
}
