package main

import (
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/markdown"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// liveAnswer shows what the root's model says as Markdown, while it says it: each block once it is
// complete. Nothing is written anew.
type liveAnswer struct {
	page    func() markdown.Settings
	streams bool // it is shown while it comes; otherwise only in the end

	stream markdown.Stream
	said   strings.Builder // the reply in progress
	begun  bool            // a part of it was shown
	last   string          // the reply that was shown last
}

// renders reports whether the answer is shown as Markdown: at a terminal that can, unless it shall
// be plain.
func (c *cli) renders(out output) bool {
	return out.kind() == formText && !out.plain && terminal.IsTerminal(c.stdout) && c.getenv("TERM") != "dumb"
}

// streams reports whether what the root's model says is shown while it says it. Without progress
// only the answer is shown.
func (c *cli) streams(out output) bool { return c.renders(out) && !out.quiet }

// live returns what shows the answer as Markdown; nil if it is not.
func (c *cli) live(out output) *liveAnswer {
	if !c.renders(out) {
		return nil
	}
	color := c.getenv("NO_COLOR") == ""
	return &liveAnswer{
		page: func() markdown.Settings {
			return markdown.Settings{Columns: terminal.SizeOf(c.stdout).Columns, Color: color}
		},
		streams: c.streams(out),
	}
}

// render returns a whole text.
func (l *liveAnswer) render(text string) string { return markdown.Render(text, l.page()) }

// has reports whether an answer was shown.
func (l *liveAnswer) has(answer string) bool {
	return l.streams && strings.TrimSpace(answer) == strings.TrimSpace(l.last)
}

// hear returns what is to be shown before event e, with a blank line before and after each reply.
func (l *liveAnswer) hear(e machine.Event) string {
	if !l.streams || e.Depth > 1 {
		return ""
	}
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind != machine.EventTextDelta {
			return ""
		}
		l.said.WriteString(e.Text)
		return l.shown(l.stream.Write(e.Text, l.page()))
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
func (l *liveAnswer) over() string {
	if l.said.Len() == 0 {
		return ""
	}
	text := l.shown(l.stream.Close(l.page()))
	if l.begun {
		text += "\n"
	}
	l.last, l.begun = l.said.String(), false
	l.said.Reset()
	return text
}

func (l *liveAnswer) shown(text string) string {
	if text != "" && !l.begun {
		l.begun = true
		return "\n" + text
	}
	return text
}
