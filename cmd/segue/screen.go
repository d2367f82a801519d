package main

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/segue-go/segue/orchestrator"
)

// style is how a line looks where there are colors.
type style string

// The styles, as the parameters of ECMA-48's "select graphic rendition".
const (
	plain style = ""
	dim   style = "2"
	bold  style = "1"
	good  style = "32"
	bad   style = "31"
	warn  style = "33"
)

// defaultColumns is the width of a terminal that does not tell its own.
const defaultColumns = 80

// isTerminal reports whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of the terminal at w.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return defaultColumns
}

// colored decides about colors. NO_COLOR (https://no-color.org) is stronger than CLICOLOR_FORCE
// (https://bixense.com/clicolors).
func colored(terminal bool, getenv func(string) string) bool {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	default:
		return terminal && getenv("TERM") != "dumb"
	}
}

// screen shows progress: a line for each thing that happened and, on a terminal, a last one for what goes on now.
type screen struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool // a terminal, whose last line may be rewritten
	color   bool
	quiet   bool
	verbose bool
	text    strings.Builder // that the model says in this step
	thought strings.Builder
	shown   bool // the last line is for what goes on now
}

func (c *cli) screen(out output) *screen {
	terminal := isTerminal(c.stderr)
	return &screen{
		w:       c.stderr,
		live:    terminal && c.getenv("TERM") != "dumb",
		color:   colored(terminal, c.getenv),
		quiet:   out.quiet,
		verbose: out.verbose,
	}
}

// event shows an event. Errors of writing are nobody's concern: the run goes on unwatched.
func (s *screen) event(e orchestrator.Event) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.listen(e)
	s.lines(describe(e, said, s.verbose)...)
	if !s.live {
		return
	}
	if now, ok := status(e, said, columns(s.w)-1); ok {
		s.write("\r\x1b[K" + s.dressed(note{dim, now}))
		s.shown = true
	}
}

// listen keeps what the model says until its step is taken.
func (s *screen) listen(e orchestrator.Event) heard {
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind == orchestrator.EventThoughtDelta {
			s.thought.WriteString(e.Text)
		} else {
			s.text.WriteString(e.Text)
		}
	case orchestrator.StepTaken:
		defer s.forget()
	case orchestrator.RetryWaiting:
		if d.Discard {
			defer s.forget()
		}
	}
	return heard{text: s.text.String(), thought: s.thought.String()}
}

func (s *screen) forget() {
	s.text.Reset()
	s.thought.Reset()
}

// say shows a line that is about no event, even if there is to be no progress. It may be called from any goroutine.
func (s *screen) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines(note{warn, "segue: " + line})
}

// tell shows a line that is a part of the progress.
func (s *screen) tell(line string) {
	if !s.quiet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines(note{plain, line})
	}
}

// lines writes whole lines, over the one for what goes on now.
func (s *screen) lines(notes ...note) {
	if len(notes) == 0 {
		return
	}
	var b strings.Builder
	if s.shown {
		b.WriteString("\r\x1b[K")
		s.shown = false
	}
	for _, n := range notes {
		b.WriteString(s.dressed(n) + "\n")
	}
	s.write(b.String())
}

// clear removes the line for what goes on now.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		s.write("\r\x1b[K")
		s.shown = false
	}
}

func (s *screen) dressed(n note) string {
	if !s.color || n.style == plain {
		return n.text
	}
	return "\x1b[" + string(n.style) + "m" + n.text + "\x1b[0m"
}

func (s *screen) write(text string) { _, _ = io.WriteString(s.w, text) }
