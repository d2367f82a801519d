package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// showRecord is a run in the form json of segue show.
type showRecord struct {
	RunRecord
	Begun    json.RawMessage  `json:"begun,omitempty"` // what it was begun with
	Usage    messages.Usage   `json:"usage"`
	Cost     messages.Cost    `json:"cost"` // in millionths of a dollar
	Unpriced int              `json:"unpriced"`
	Elapsed  time.Duration    `json:"elapsed"` // of models and tools, in nanoseconds
	Waits    []machine.Wait   `json:"waits"`   // of one whose question is not known only id, run and kind
	Posted   []runview.Posted `json:"posted"`  // answers, notes and stops that the run has not taken yet
	Frames   []frameRecord    `json:"frames"`
	Timeline []entryRecord    `json:"timeline"`
}

// frameRecord is a place in the tree of strategies, with what was done there, and not below.
type frameRecord struct {
	Frame      string         `json:"frame"`
	Depth      int            `json:"depth"`
	ModelCalls int            `json:"model_calls"`
	ToolCalls  int            `json:"tool_calls"`
	Usage      messages.Usage `json:"usage"`
	Cost       messages.Cost  `json:"cost"`
	Unpriced   int            `json:"unpriced"`
}

// entryRecord is a record of the journal in one line.
type entryRecord struct {
	Record int       `json:"record"`
	Type   string    `json:"type"`
	Time   time.Time `json:"time"`
	Frame  string    `json:"frame,omitempty"`
	Step   int       `json:"step,omitempty"`
	Text   string    `json:"text"`

	Kept *messages.Kept `json:"kept,omitempty"` // the large result, of which the text is a part
}

// showFlags are the flags of segue show.
type showFlags struct {
	raw     bool
	verbose bool
	result  string
}

func showCommand(c *cli.CLI) *cobra.Command {
	f := &showFlags{}
	cmd := storeCommand{Command: &cobra.Command{
		Use:   "show [flags] RUN",
		Short: "Show a run that is kept: its tree, its steps, tokens and cost",
		Long: `Show shows what is kept of a run: its status, what it was begun with, the tree of its strategies with calls, tokens and cost,
each of its records in one line, and what it waits for. It needs neither the configuration of the run nor a key. RUN is the id
of a run, or the beginning of it.

--result ID writes a large result that is kept with the run, whole; ID is as the run shows it, or the beginning of it.

--raw writes the records as they are kept, one JSON object a line: all that was said to models and by them, and all that tools
were given and returned.`,
	}, output: textOrObject, do: func(ctx context.Context, at *kept, _ []string) (found, error) { return show(ctx, c, f, at) }}.command(c)
	cmd.Flags().BoolVar(&f.raw, "raw", false, "the records as they are kept, one JSON object a line")
	cmd.Flags().StringVar(&f.result, "result", "", "the large result of this `ID`, whole")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "texts in full")
	cmd.MarkFlagsMutuallyExclusive("raw", "output", "result")
	return cmd
}

// show executes segue show.
func show(ctx context.Context, c *cli.CLI, f *showFlags, at *kept) (found, error) {
	switch {
	case f.raw:
		return found{}, showRaw(ctx, c, at)
	case f.result != "":
		return found{}, showResult(ctx, c, at, f.result)
	}
	view, err := runview.Read(ctx, at, at.head)
	if err != nil {
		return found{}, cli.Failed(err)
	}
	r := newShowRecord(&at.head, view, f.verbose || at.json)
	return found{r, r.text(view, at.RunStore)}, nil
}

// showRaw writes the records of a run.
func showRaw(ctx context.Context, c *cli.CLI, at *kept) error {
	for rec, err := range at.Read(ctx, at.key(), 1) {
		if err != nil {
			return cli.Failed(err)
		}
		if err := cli.Send(c.Stdout, plaintext.Escaped(string(rec.Data))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func newShowRecord(h *checkpoint.Head, v *runview.View, whole bool) *showRecord {
	r := &showRecord{
		RunRecord: newRunRecord(h, v.Started.Input.Goal, time.Now()), Usage: v.Usage, Cost: v.Cost, Unpriced: v.Unpriced, Elapsed: v.Elapsed,
		Waits: v.Waits, Posted: append([]runview.Posted{}, v.Posted...), Frames: []frameRecord{}, Timeline: []entryRecord{},
	}
	if text := v.Started.Metadata[run.BegunKey]; json.Valid([]byte(text)) {
		r.Begun = json.RawMessage(text)
	}
	for _, f := range v.Frames {
		r.Frames = append(r.Frames, frameRecord{f.Name, f.Depth, f.ModelCalls, f.ToolCalls, f.Usage, f.Cost, f.Unpriced})
	}
	for _, e := range v.Entries {
		r.Timeline = append(r.Timeline, entryRecord{e.Record, e.Type, e.At.UTC(), e.Frame, e.Step, terminal.DescribeRecord(e.What, whole), keptIn(e.What)})
	}
	return r
}

// text shows a run.
func (r *showRecord) text(view *runview.View, st *cli.RunStore) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("run %s %s%s", plaintext.Visible(r.Run), r.Status, plaintext.Colon(plaintext.OneLine(plainwords.Of(r.Reason))))
	line("  task: %s", plaintext.OneLine(r.Goal))
	var began run.Begun
	if json.Unmarshal(r.Begun, &began) == nil {
		for _, said := range []struct{ name, value string }{
			{"agent", r.Agent}, {"configuration", began.Config}, {"model", began.Model}, {"folder", began.Dir}, {"approve", began.Approve},
		} {
			if said.value != "" {
				line("  %s: %s", said.name, plaintext.Visible(said.value))
			}
		}
	}
	line("  strategy: %s", plaintext.OneLine(r.Strategy))
	line("  begun %s, last step %s ago, %s", r.Created.Format(time.DateTime)+" UTC", age.Text(time.Since(r.Updated)), plaintext.Counted(r.Records, "record"))
	if r.Origin.Run != "" {
		line("  made from: %s, record %d", plaintext.Visible(r.Origin.Run), r.Origin.Record)
	}
	line("  %s", plaintext.Join(", ", cli.ShownOr(terminal.Tokens(r.Usage, r.Cost, r.Unpriced), "no tokens"), terminal.Lasting(r.Elapsed)))
	line("\ntree")
	for _, f := range r.Frames {
		calls := plaintext.Counted(f.ModelCalls, "model call") + ", " + plaintext.Counted(f.ToolCalls, "tool call")
		line("%s[%s] %s", strings.Repeat("  ", f.Depth), f.Frame, plaintext.Join(", ", calls, terminal.Tokens(f.Usage, f.Cost, f.Unpriced)))
	}
	line("\ntimeline")
	for _, e := range r.Timeline {
		at := ""
		if e.Frame != "" {
			at = terminal.WaitPlace(machine.Wait{Frame: e.Frame, Seq: e.Step}, "")
		}
		line("  %3d %s %s%s", e.Record, e.Time.Format(time.TimeOnly), at, e.Text)
	}
	for _, p := range r.Posted {
		if p.Type == "note" {
			line("\nkept for the model, when the run goes on")
			for _, n := range terminal.Block("  ", p.Text) {
				line("%s", n.Text)
			}
		}
	}
	if view.Stopping() {
		line("\nit is to be stopped: it ends when it goes on")
	}
	if len(r.Waits) > 0 {
		line("\nwaits for\n%s\n\n%s", strings.Join(waitLines(r.Waits, view), "\n"), howToAnswer(st, r.Run, r.Waits, view))
	} else if r.Status == string(machine.StatusInterrupted) || r.Status == string(checkpoint.StatusParked) {
		line("\ngo on with: %s", st.Command("resume", r.Run))
	}
	return b.String()
}
