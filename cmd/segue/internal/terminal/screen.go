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

// size is how large a terminal is.
type size struct{ columns, rows int }

// defaultSize is that of a terminal that does not tell its own.
var defaultSize = size{80, 24}

// isTerminal reports whether a reader or writer is a terminal, where somebody sits.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// sizeOfTerminal is that of the terminal at w.
func sizeOfTerminal(w io.Writer) size {
	if f, ok := w.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return size{columns, rows}
		}
	}
	return defaultSize
}

func (s *screen) size() size { return sizeOfTerminal(s.w) }

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

// screen shows progress: a line for each thing that happened and, on a terminal, a last one for
// what goes on now, or a prompt at which somebody types.
type screen struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool // a terminal, whose last line may be rewritten
	color   bool
	quiet   bool
	verbose bool
	asks    bool               // somebody sees prompts for what the run waits for
	said    map[string]*speech // what models say in their present steps, by frame
	shown   bool               // the last line is for what goes on now
	open    string             // the prompt at which somebody types; "" if there is none
	broken  bool               // the open prompt has other lines behind it
	held    []note             // that come when the prompt is answered
}

// speech is what a model says, as it comes.
type speech struct{ text, thought strings.Builder }

// screenConfig says how a screen shows.
type screenConfig struct {
	quiet   bool // no progress
	verbose bool // more progress
	asks    bool // somebody sees prompts for what the run waits for
}

// newScreen returns a screen at w. The environment says whether a terminal is a dumb one, and
// decides about colors.
func newScreen(w io.Writer, cfg screenConfig, getenv func(string) string) *screen {
	terminal := isTerminal(w)
	return &screen{
		w:       w,
		live:    terminal && getenv("TERM") != "dumb",
		color:   colored(terminal, getenv),
		quiet:   cfg.quiet,
		verbose: cfg.verbose,
		asks:    cfg.asks,
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
	if !s.prompted(e) {
		s.lines(describe(e, said, s.verbose)...)
	}
	if !s.live || s.open != "" {
		return
	}
	if now, ok := status(e, said, s.size().columns-1); ok {
		s.write("\r\x1b[K" + s.dressed(note{dim, now}))
		s.shown = true
	}
}

// prompted reports whether prompts tell of an event.
func (s *screen) prompted(e orchestrator.Event) bool {
	return s.asks && (e.Kind == orchestrator.EventWaitStarted || e.Kind == orchestrator.EventWaitEnded)
}

// listen keeps what the models say until their steps are taken, or their frames end without that.
func (s *screen) listen(e orchestrator.Event) heard {
	switch d := e.Detail.(type) {
	case nil:
		s.hear(e)
	case orchestrator.StepTaken, orchestrator.FrameLeft:
		defer delete(s.said, e.Frame)
	case orchestrator.RetryWaiting:
		if d.Discard {
			defer delete(s.said, e.Frame)
		}
	}
	if words, ok := s.said[e.Frame]; ok {
		return heard{text: words.text.String(), thought: words.thought.String()}
	}
	return heard{}
}

// hear takes the next piece of what a model says.
func (s *screen) hear(e orchestrator.Event) {
	words, ok := s.said[e.Frame]
	if !ok {
		words = &speech{}
		if s.said == nil {
			s.said = map[string]*speech{}
		}
		s.said[e.Frame] = words
	}
	if e.Kind == orchestrator.EventThoughtDelta {
		words.thought.WriteString(e.Text)
	} else {
		words.text.WriteString(e.Text)
	}
}

// say shows a line that is about no event, even if there is to be no progress, and at once. It may
// be called from any goroutine.
func (s *screen) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.put(note{warn, "segue: " + line})
}

// waits tells what a run waits for in the end, where the progress has not.
func (s *screen) waits(waits []orchestrator.Wait) {
	for _, w := range waits {
		if s.quiet || s.asks {
			s.say(describeWait(w, s.verbose))
		}
	}
}

// tell shows a line that is a part of the progress.
func (s *screen) tell(line string) {
	if !s.quiet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines(note{plain, line})
	}
}

// show shows lines that were asked for.
func (s *screen) show(notes ...note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines(notes...)
}

// prompt shows lines, and one more behind which somebody types. Progress is held back until
// answered is called.
func (s *screen) prompt(line string, above ...note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.put(above...)
	s.open, s.broken = s.dressed(note{bold, line}), false
	s.write(s.open)
}

// answered ends a prompt. If a line was entered, the terminal has begun a new one.
func (s *screen) answered(entered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !entered {
		s.wipe()
	}
	held := s.held
	s.open, s.held = "", nil
	s.lines(held...)
}

// beside has something else written to the same terminal.
func (s *screen) beside(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	err := write()
	if s.open != "" {
		s.write(s.open)
		s.broken = false
	}
	return err
}

// lines writes whole lines, now or when nobody types any more.
func (s *screen) lines(notes ...note) {
	switch {
	case len(notes) == 0:
	case s.open != "":
		s.held = append(s.held, notes...)
	default:
		s.wipe()
		s.put(notes...)
	}
}

// clear removes the line for what goes on now.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

// wipe makes room for a line: it removes the one for what goes on now, and leaves that of a prompt.
func (s *screen) wipe() {
	switch {
	case s.shown:
		s.write("\r\x1b[K")
		s.shown = false
	case s.open != "" && !s.broken:
		s.write("\n")
		s.broken = true
	}
}

func (s *screen) put(notes ...note) {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(s.dressed(n) + "\n")
	}
	s.write(b.String())
}

func (s *screen) dressed(n note) string {
	if !s.color || n.style == plain {
		return n.text
	}
	return "\x1b[" + string(n.style) + "m" + n.text + "\x1b[0m"
}

func (s *screen) write(text string) { _, _ = io.WriteString(s.w, text) }
