package run

import (
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/markdown"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// LiveAnswer shows what the root's model says as Markdown, while it says it: each block once it is
// complete. Nothing is written anew.
type LiveAnswer struct {
	Page    func() markdown.Settings
	Streams bool // it is shown while it comes; otherwise only in the end

	stream markdown.Stream
	said   strings.Builder // the reply in progress
	begun  bool            // a part of it was shown
	last   string          // the reply that was shown last
}

// live returns what shows the answer as Markdown; nil if it is not.
func live(c *cli.CLI, out cli.Output) *LiveAnswer {
	if !c.Renders(out) {
		return nil
	}
	color := c.Getenv("NO_COLOR") == ""
	return &LiveAnswer{
		Page: func() markdown.Settings {
			return markdown.Settings{Columns: terminal.SizeOf(c.Stdout).Columns, Color: color}
		},
		Streams: c.Streams(out),
	}
}

// render returns a whole text.
func (l *LiveAnswer) render(text string) string { return markdown.Render(text, l.Page()) }

// has reports whether an answer was shown.
func (l *LiveAnswer) has(answer string) bool {
	return l.Streams && strings.TrimSpace(answer) == strings.TrimSpace(l.last)
}

// hear returns what is to be shown before event e, with a blank line before and after each reply.
func (l *LiveAnswer) hear(e machine.Event) string {
	if !l.Streams || e.Depth > 1 {
		return ""
	}
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind != machine.EventTextDelta {
			return ""
		}
		l.said.WriteString(e.Text)
		return l.shown(l.stream.Write(e.Text, l.Page()))
	case machine.StepTaken, machine.FrameLeft, machine.RunFinished:
		return l.over()
	case machine.RetryWaiting:
		if d.Discard {
			l.said.Reset()
			l.stream, l.begun = markdown.Stream{}, false
		}
	}
	return ""
}

// over ends a reply.
func (l *LiveAnswer) over() string {
	if l.said.Len() == 0 {
		return ""
	}
	text := l.shown(l.stream.Close(l.Page()))
	if l.begun {
		text += "\n"
	}
	l.last, l.begun = l.said.String(), false
	l.said.Reset()
	return text
}

func (l *LiveAnswer) shown(text string) string {
	if text != "" && !l.begun {
		l.begun = true
		return "\n" + text
	}
	return text
}
