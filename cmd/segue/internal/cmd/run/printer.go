package run

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
)

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

// Printer writes a run to standard output.
type Printer struct {
	W        io.Writer
	Form     string
	Terminal bool
	Live     *LiveAnswer // shows the answer as Markdown; nil: it is written as it stands

	reply strings.Builder // text of the root's model in the current request, or in one that broke off
	over  bool            // the reply broke off: the next text belongs to another one
}

// writes reports whether the printer writes something for event e.
func (p *Printer) writes(e machine.Event) bool {
	return p.Form == cli.FormJSONL || e.Kind == machine.EventRunFinished
}

// Before writes what is shown of the answer before the progress of event e.
func (p *Printer) Before(s *terminal.Screen, e machine.Event) error {
	if p.Live == nil {
		return nil
	}
	text := p.Live.hear(e)
	if text == "" {
		return nil
	}
	return s.WriteBeside(func() error { return cli.Send(p.W, text) })
}

// Beside writes the output for event e, if s may be on the same terminal.
func (p *Printer) Beside(s *terminal.Screen, e machine.Event) error {
	if !p.Terminal || !p.writes(e) {
		return p.Event(e)
	}
	return s.WriteBeside(func() error { return p.Event(e) })
}

// Listen stores the text of the root's model until its reply is complete. If the root ends before
// that, this is its only result.
func (p *Printer) Listen(e machine.Event) {
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

// Answer returns the result of a run, or the partial result of one that broke off.
func (p *Printer) Answer(end machine.RunFinished) string {
	if end.Output.Result == nil && slices.Contains(partial, end.Status) {
		return p.reply.String()
	}
	return end.Output.Text()
}

// cutOff returns the partial answer of a run that was interrupted, and goes on without it; "" if
// there is none.
func (p *Printer) cutOff(end machine.RunFinished) string {
	if end.Status != machine.StatusInterrupted {
		return ""
	}
	return p.reply.String()
}

// Event writes the output for event e.
func (p *Printer) Event(e machine.Event) error {
	p.Listen(e)
	if !p.writes(e) {
		return nil
	}
	end, _ := e.Detail.(machine.RunFinished)
	switch p.Form {
	case cli.FormJSONL:
		return p.encode(e) // the JSON form of package orchestrator
	case cli.FormJSON:
		out := end.Output
		return p.encode(resultRecord{
			Run: e.Run, Status: end.Status, Result: out.Result, Data: out.Data, Metadata: out.Metadata, Usage: out.Usage,
			Elapsed: out.Elapsed, Error: out.Err, Waits: end.Waits, Messages: out.Messages,
		})
	default:
		return p.result(p.Answer(end))
	}
}

// result writes the answer, unless it was shown while it came.
func (p *Printer) result(answer string) error {
	switch {
	case p.Live == nil:
		return p.Text(answer)
	case p.Live.has(answer):
		return nil
	default:
		return cli.Send(p.W, p.Live.render(answer))
	}
}

func (p *Printer) encode(v any) error { return cli.Encode(p.W, v) }

// Text writes a text and ends its last line. It writes nothing for an empty text.
func (p *Printer) Text(s string) error {
	if s = plaintext.Printable(s); s == "" {
		return nil
	}
	if s[len(s)-1] != '\n' {
		s += "\n"
	}
	return cli.Write(p.W, s)
}
