package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// The forms of what goes to standard output.
const (
	FormText  = "text"  // the answer, or a partial answer
	FormJSON  = "json"  // one object at the end
	FormJSONL = "jsonl" // an object for each event, as it happens
)

// Output holds the flags for output.
type Output struct {
	Form    Choice
	json    bool
	Quiet   bool
	Verbose bool
	Plain   bool
}

// Flags adds the flags to cmd.
func (o *Output) Flags(cmd *cobra.Command) {
	o.Form = OneOf(FormText, FormJSON, FormJSONL)
	o.Form.Offer(cmd, "output", "what goes to standard output: the answer, one object at the end, or an object for each event")
	cmd.Flags().BoolVar(&o.json, "json", false, "the same as --output json")
	cmd.Flags().BoolVarP(&o.Quiet, "quiet", "q", false, "no progress")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "more progress: states, thoughts, texts and results in full")
	cmd.Flags().BoolVar(&o.Plain, "plain", false, "for screen readers and logs: nothing moves or is written anew, no colors, and the answer as it stands")
	cmd.MarkFlagsMutuallyExclusive("output", "json")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
}

// Kind returns the requested form.
func (o *Output) Kind() string {
	if o.json {
		return FormJSON
	}
	return o.Form.Value
}

// Renders reports whether the answer is shown as Markdown: at a terminal that can, unless it shall
// be plain.
func (c *CLI) Renders(out Output) bool {
	return out.Kind() == FormText && !out.Plain && terminal.IsTerminal(c.Stdout) && c.Getenv("TERM") != "dumb"
}

// Streams reports whether what the root's model says is shown while it says it. Without progress
// only the answer is shown.
func (c *CLI) Streams(out Output) bool { return c.Renders(out) && !out.Quiet }

// Screen returns a screen that shows progress on standard error, by the flags.
func (c *CLI) Screen(out Output) *terminal.Screen {
	return terminal.NewScreen(c.Stderr, terminal.Config{
		Quiet: out.Quiet, Verbose: out.Verbose, Plain: out.Plain, Streams: c.Streams(out), Asks: c.Interactive,
	}, c.Getenv)
}

// Print writes what a command found: the record, if form is that of an object, or else the text.
func (c *CLI) Print(form string, record any, text string) error {
	if form == FormText {
		return Write(c.Stdout, text)
	}
	return Encode(c.Stdout, record)
}

// Table returns rows, whose cells have tabs between them, in columns.
func Table(rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(w, row+"\n") // a builder takes everything
	}
	_ = w.Flush()
	return b.String()
}

// Encode writes a value as a line of JSON. Terminal control characters are written as \u escapes,
// so that the line is safe to show, and JSON readers still get every character.
func Encode(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Failed(fmt.Errorf("cannot write the output: %w", err))
	}
	return Send(w, plaintext.Escaped(line.String()))
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

// Write writes a text without terminal control characters, also to a pipe, because its reader may
// show the text.
func Write(w io.Writer, text string) error { return Send(w, plaintext.Printable(text)) }

// Send writes a text as it is.
func Send(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		if closed(w, err) {
			return hangsUp()
		}
		return Failed(fmt.Errorf("cannot write the output: %w", err))
	}
	return nil
}
