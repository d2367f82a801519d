package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

// The forms of what goes to standard output.
const (
	formText  = "text"  // the answer, or a partial answer
	formJSON  = "json"  // one object at the end
	formJSONL = "jsonl" // an object for each event, as it happens
)

// output holds the flags for output.
type output struct {
	form    choice
	json    bool
	quiet   bool
	verbose bool
	plain   bool
}

// flags adds the flags to cmd.
func (o *output) flags(cmd *cobra.Command) {
	o.form = oneOf(formText, formJSON, formJSONL)
	o.form.offer(cmd, "output", "what goes to standard output: the answer, one object at the end, or an object for each event")
	cmd.Flags().BoolVar(&o.json, "json", false, "the same as --output json")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "more progress: states, thoughts, texts and results in full")
	cmd.Flags().BoolVar(&o.plain, "plain", false, "for screen readers and logs: nothing moves or is written anew, no colors, and the answer as it stands")
	cmd.MarkFlagsMutuallyExclusive("output", "json")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
}

// kind returns the requested form.
func (o *output) kind() string {
	if o.json {
		return formJSON
	}
	return o.form.value
}

// screen returns a screen that shows progress on standard error, by the flags.
func (c *cli) screen(out output) *terminal.Screen {
	return terminal.NewScreen(c.stderr, terminal.Config{
		Quiet: out.quiet, Verbose: out.verbose, Plain: out.plain, Streams: c.streams(out), Asks: c.interactive,
	}, c.getenv)
}

// resultRecord is a run in the form json. Result is null if there is no result, and "" for an empty
// one; elapsed is in nanoseconds.
type resultRecord struct {
	Run      string              `json:"run"`
	Status   machine.Status      `json:"status"`
	Result   *string             `json:"result"`
	Data     json.RawMessage     `json:"data,omitempty"`
	Metadata delegation.Metadata `json:"metadata,omitempty"`
	Usage    messages.Usage      `json:"usage"`
	Elapsed  time.Duration       `json:"elapsed"`
	Error    *delegation.Error   `json:"error,omitempty"`
	Waits    []machine.Wait      `json:"waits,omitempty"`
	Messages messages.History    `json:"messages"`
}

// printer writes a run to standard output.
type printer struct {
	w        io.Writer
	form     string
	terminal bool
	live     *liveAnswer // shows the answer as Markdown; nil: it is written as it stands

	reply strings.Builder // text of the root's model in the current request, or in one that broke off
	over  bool            // the reply broke off: the next text belongs to another one
}

// writes reports whether the printer writes something for event e.
func (p *printer) writes(e machine.Event) bool {
	return p.form == formJSONL || e.Kind == machine.EventRunFinished
}

// before writes what is shown of the answer before the progress of event e.
func (p *printer) before(s *terminal.Screen, e machine.Event) error {
	if p.live == nil {
		return nil
	}
	text := p.live.hear(e)
	if text == "" {
		return nil
	}
	return s.WriteBeside(func() error { return send(p.w, text) })
}

// beside writes the output for event e, if s may be on the same terminal.
func (p *printer) beside(s *terminal.Screen, e machine.Event) error {
	if !p.terminal || !p.writes(e) {
		return p.event(e)
	}
	return s.WriteBeside(func() error { return p.event(e) })
}

// listen stores the text of the root's model until its reply is complete. If the root ends before
// that, this is its only result.
func (p *printer) listen(e machine.Event) {
	if e.Depth > 1 {
		return
	}
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind != machine.EventTextDelta {
			return
		}
		if p.over {
			p.reply.Reset()
		}
		p.over = false
		p.reply.WriteString(e.Text)
	case machine.StepTaken:
		if p.over = d.Err != nil; !p.over {
			p.reply.Reset()
		}
	case machine.RetryWaiting:
		if d.Discard {
			p.reply.Reset()
		}
	}
}

// partial are the statuses of runs whose reply may have broken off.
var partial = []machine.Status{machine.StatusStopped, machine.StatusFailed, machine.StatusInterrupted, machine.StatusTakenOver}

// answer returns the result of a run, or the partial result of one that broke off.
func (p *printer) answer(end machine.RunFinished) string {
	if end.Output.Result == nil && slices.Contains(partial, end.Status) {
		return p.reply.String()
	}
	return end.Output.Text()
}

// cutOff returns the partial answer of a run that was interrupted, and goes on without it; "" if
// there is none.
func (p *printer) cutOff(end machine.RunFinished) string {
	if end.Status != machine.StatusInterrupted {
		return ""
	}
	return p.reply.String()
}

// event writes the output for event e.
func (p *printer) event(e machine.Event) error {
	p.listen(e)
	if !p.writes(e) {
		return nil
	}
	end, _ := e.Detail.(machine.RunFinished)
	switch p.form {
	case formJSONL:
		return p.encode(e) // the JSON form of package orchestrator
	case formJSON:
		out := end.Output
		return p.encode(resultRecord{
			Run: e.Run, Status: end.Status, Result: out.Result, Data: out.Data, Metadata: out.Metadata, Usage: out.Usage,
			Elapsed: out.Elapsed, Error: out.Err, Waits: end.Waits, Messages: out.Messages,
		})
	default:
		return p.result(p.answer(end))
	}
}

// result writes the answer, unless it was shown while it came.
func (p *printer) result(answer string) error {
	switch {
	case p.live == nil:
		return p.text(answer)
	case p.live.has(answer):
		return nil
	default:
		return send(p.w, p.live.render(answer))
	}
}

func (p *printer) encode(v any) error { return encode(p.w, v) }

// text writes a text and ends its last line. It writes nothing for an empty text.
func (p *printer) text(s string) error {
	if s = plaintext.Printable(s); s == "" {
		return nil
	}
	if s[len(s)-1] != '\n' {
		s += "\n"
	}
	return write(p.w, s)
}

// encode writes a value as a line of JSON. Terminal control characters are written as \u escapes,
// so that the line is safe to show, and JSON readers still get every character.
func encode(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return failed(fmt.Errorf("cannot write the output: %w", err))
	}
	return send(w, plaintext.Escaped(line.String()))
}

// closed reports whether err is the error of a write to a terminal that was closed.
func closed(w io.Writer, err error) bool {
	f, ok := w.(*os.File)
	if !ok || !errors.Is(err, syscall.EIO) {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// write writes a text without terminal control characters, also to a pipe, because its reader may
// show the text.
func write(w io.Writer, text string) error { return send(w, plaintext.Printable(text)) }

func send(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		if closed(w, err) {
			return hangsUp()
		}
		return failed(fmt.Errorf("cannot write the output: %w", err))
	}
	return nil
}
