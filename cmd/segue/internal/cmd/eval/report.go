package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/eval"
	"github.com/segue-go/segue/messages"
)

// record is what segue eval found, in the form json.
type record struct {
	File string `json:"file"` // of the results
	*eval.Report
	Rates   []rate        `json:"rates"`
	Judge   *eval.Bias    `json:"judge,omitempty"`
	Against string        `json:"against,omitempty"` // the file of the earlier results
	Changes []eval.Change `json:"changes,omitempty"`

	runs *cli.RunStore
}

// rate is how often trials of a variant pass.
type rate struct {
	Variant string        `json:"variant"`
	Passes  eval.Estimate `json:"passes"`
	K       int           `json:"k"`        // trials of each case
	PassAt  eval.Estimate `json:"pass_at"`  // at least one of k
	PassAll eval.Estimate `json:"pass_all"` // each of k
}

// show writes the report.
func (r *record) show(c *cli.CLI, f *flags) error {
	for _, v := range r.Variants {
		k := max(v.Trials(), 1)
		r.Rates = append(r.Rates, rate{v.Name, v.Passes(), k, v.PassAt(k), v.PassAll(k)})
	}
	return errors.Join(
		c.Print(f.Out.Kind(), r, r.text()),
		toFile(f.markdown, r.Markdown),
		toFile(f.junit, func(w io.Writer) error { return r.JUnit(w, cmp.Or(f.require, 1)) }),
	)
}

// toFile writes a file anew; "" is none.
func toFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(write(f), f.Close())
	}
	if err != nil {
		return cli.Failed(err)
	}
	return nil
}

// verdict returns an error with an exit code if something is not as it must be.
func (r *record) verdict(require float64) error {
	var wrong []string
	code := cli.ExitFailed
	for _, v := range r.Variants {
		if n := v.Sum().Broken; n > 0 { // then the rate is not known
			code = cli.ExitProvider
			wrong = append(wrong, fmt.Sprintf("%s: the model could not be asked in %s, which the same command makes anew", v.Name, plaintext.Counted(n, "trial")))
		} else if got := v.Passes().Rate; got < require {
			wrong = append(wrong, fmt.Sprintf("%s: %.0f %% pass, and %.0f %% are required", v.Name, 100*got, 100*require))
		}
	}
	for _, c := range r.Changes {
		if c.Beyond {
			wrong = append(wrong, fmt.Sprintf("%s: %s is worse than allowed", c.Variant, c.Measure))
		}
	}
	if wrong == nil {
		return nil
	}
	return &cli.ExitError{Code: code, Err: errors.New(strings.Join(wrong, "; "))}
}

// text shows the report.
func (r *record) text() string {
	text := table(r.Table())
	if failed := r.failures(); len(failed) > 1 {
		text += "\n" + table(failed)
	}
	if j := r.Judge; j != nil {
		text += fmt.Sprintf("\nThe judge agrees with %s %% of %s; it approves %s %% of the bad answers, and not %s %% of the good ones.\n",
			j.Agreement, plaintext.Counted(j.Labels, "label"), j.TooKind, j.TooStrict)
		text += fmt.Sprintf("Of %s it prefers the better answer in %s %%; it favours %s place (p %.2g).\n",
			plaintext.Counted(j.Pairs, "pair"), j.Right, cmp.Or(j.Favours(), "no"), j.P)
	}
	if len(r.Changes) > 0 {
		text += "\nAgainst " + plaintext.Visible(r.Against) + ":\n" + table(r.changes())
	}
	return text
}

func table(rows [][]string) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = plaintext.Visible(strings.Join(row, "\t"))
	}
	return cli.Table(lines)
}

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
			rows = append(rows, []string{c.Name, v.Name, fmt.Sprintf("%d of %d", c.Passed, c.Trials), how, plaintext.Head(plaintext.OneLine(plainwords.Of(c.Why)), 80)})
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
			verdict += ", more than allowed"
		}
		shown := func(mean float64) string {
			switch c.Measure {
			case "pass":
				return fmt.Sprintf("%.0f %%", 100*mean)
			case "cost":
				return messages.Cost(mean).String()
			}
			if mean >= 100 {
				return fmt.Sprintf("%.0f", mean)
			}
			return fmt.Sprintf("%.3g", mean)
		}
		rows = append(rows, []string{c.Variant, c.Measure, shown(c.Old), shown(c.New), fmt.Sprintf("%.2g", c.P), verdict})
	}
	return rows
}
