package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

// diffsRecord is what segue diff --all found, in the form json.
type diffsRecord struct {
	Runs        int          `json:"runs"` // compared or not
	Same        int          `json:"same"`
	Worded      int          `json:"worded"`      // these ask for the same in other words
	Different   int          `json:"different"`   // these ask for something else
	Failed      int          `json:"failed"`      // these could not be compared
	Differences []diffRecord `json:"differences"` // of the runs that are not the same
	Failures    []failRecord `json:"failures"`
}

// failRecord is a run that could not be compared.
type failRecord struct {
	Run   string `json:"run"`
	Error string `json:"error"`
}

// diffAll executes segue diff --all.
func diffAll(ctx context.Context, c *cli.CLI, f *run.Flags, form string) error {
	var damage error // of heads, which keep back no other run
	total := diffsRecord{Differences: []diffRecord{}, Failures: []failRecord{}}
	f.Mute = true // each run began with something else
	st, err := c.OpenRuns(ctx, &f.Store)
	switch {
	case errors.Is(err, cli.ErrNoRuns):
	case err != nil:
		return err
	default:
		defer st.Release()
		d := differ{c: c, f: f, st: st, s: c.Screen(f.Out), total: &total, broken: map[string]error{}}
		if form == cli.FormText {
			d.show = func(text string) error { return cli.Write(c.Stdout, text) }
		}
		if damage = d.compareAll(ctx); damage != nil && !errors.Is(damage, checkpoint.ErrCorrupt) {
			return damage
		}
	}
	err = c.Print(form, total, total.text())
	if err == nil && damage != nil {
		return beside(st, damage)
	}
	if err == nil && total.Same < total.Runs {
		return cli.Failed(fmt.Errorf("%d of %s would decide otherwise, and %d could not be compared",
			total.Worded+total.Different, plaintext.Counted(total.Runs, "run"), total.Failed))
	}
	return err
}

// text counts the runs.
func (r *diffsRecord) text() string {
	return fmt.Sprintf("%s: %d the same, %d in other words, %d different, %d not compared\n",
		plaintext.Counted(r.Runs, "run"), r.Same, r.Worded, r.Different, r.Failed)
}

// differ compares the runs of a store, one after the other. Runs that were begun alike are compared
// by the same orchestrator.
type differ struct {
	c     *cli.CLI
	f     *run.Flags
	st    *cli.RunStore
	s     *terminal.Screen
	total *diffsRecord
	show  func(text string) error // shows a run that is not the same; nil: the total is enough

	begun  string // what the runs of the orchestrator were begun with
	o      *orchestrator.Orchestrator
	job    run.Job
	broken map[string]error // why there is no orchestrator, by what runs were begun with
}

// compareAll compares all runs, page by page.
func (d *differ) compareAll(ctx context.Context) error {
	defer d.closeFiles()
	for head, err := range checkpoint.Heads(ctx, d.st, checkpoint.Query{Limit: 1000}) {
		if err != nil {
			return cli.Failed(err)
		}
		if err := d.compare(ctx, head.Key); err != nil {
			return err
		}
	}
	return nil
}

// compare compares a run, and counts it. An error is that of the output.
func (d *differ) compare(ctx context.Context, key checkpoint.Key) error {
	found, err := d.difference(ctx, key)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	d.total.Runs++
	text := ""
	switch {
	case err != nil:
		d.total.Failed++
		d.total.Failures = append(d.total.Failures, failRecord{key.Run, plainwords.Line(err)})
		text = "run " + plaintext.Visible(key.Run) + " could not be compared: " + plainwords.Line(err) + "\n"
	case found == nil:
		d.total.Same++
		return nil
	default:
		if found.Worded {
			d.total.Worded++
		} else {
			d.total.Different++
		}
		r := newDiffRecord(key.Run, found)
		d.total.Differences = append(d.total.Differences, r)
		text = "run " + plaintext.Visible(key.Run) + ", " + r.text()
	}
	if d.show == nil {
		return nil
	}
	return d.show(text)
}

// difference compares a run with the strategies of today.
func (d *differ) difference(ctx context.Context, key checkpoint.Key) (*runs.Difference, error) {
	began, err := runview.Begin(ctx, d.st, key)
	if err != nil {
		return nil, err
	}
	text := began.Metadata[run.BegunKey]
	if err := d.broken[text]; text != "" && err != nil {
		return nil, err
	}
	if d.o == nil || text != d.begun {
		b, err := run.ReadBegun(key.Run, &began)
		if err != nil {
			return nil, err
		}
		if err := d.prepare(ctx, &b); err != nil {
			d.broken[text] = err
			return nil, err
		}
		d.begun = text
	}
	return runs.Diff(ctx, d.o, key)
}

// prepare makes the orchestrator for runs that were begun with b.
func (d *differ) prepare(ctx context.Context, b *run.Begun) (err error) {
	d.closeFiles()
	d.o = nil
	if d.job, err = run.JobBegun(ctx, d.c, d.f, b, d.st, d.s); err == nil {
		d.o, err = d.job.Orchestrator(nil)
	}
	return err
}

// closeFiles closes the folder of the last job; the store stays open.
func (d *differ) closeFiles() {
	d.job.CloseFiles()
	d.job = run.Job{}
}
