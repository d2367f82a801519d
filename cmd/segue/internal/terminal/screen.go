// Package terminal shows progress, prompts and pages to the user, and reads the keyboard.
package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/segue-go/segue/orchestrator"
)

// Size is the size of a terminal.
type Size struct{ Columns, Rows int }

// DefaultSize is the size that is assumed if a terminal does not report its own.
var DefaultSize = Size{80, 24}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// SizeOf returns the size of the terminal at w.
func SizeOf(w io.Writer) Size {
	if f, ok := w.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return Size{columns, rows}
		}
	}
	return DefaultSize
}

// Size returns the size of the screen's terminal.
func (s *Screen) Size() Size { return SizeOf(s.w) }

// colored reports whether to use colors. NO_COLOR (https://no-color.org) overrides CLICOLOR_FORCE
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

// Screen shows progress: a line for each event and, on a terminal, a last line with the current
// activity or a prompt.
type Screen struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool // it is a terminal: the last line may be rewritten
	color   bool
	quiet   bool
	verbose bool
	waits   []string                // ids of the waits that the progress has shown
	asks    bool                    // somebody sees prompts for what the run waits for
	replies map[string]*replyPieces // text of models in their current steps, by frame
	shown   bool                    // the last line shows the current activity
	open    string                  // the open prompt; "" if there is none
	broken  bool                    // other lines follow the open prompt
	held    []Line                  // lines to show when the prompt has been answered
}

// replyPieces is the partial reply of a model.
type replyPieces struct{ text, thought strings.Builder }

// Config configures a [Screen].
type Config struct {
	Quiet   bool // no progress
	Verbose bool // more progress
	Asks    bool // somebody sees prompts for what the run waits for
}

// NewScreen returns a screen at w. The environment says whether the terminal is dumb, and whether
// to use colors.
func NewScreen(w io.Writer, cfg Config, getenv func(string) string) *Screen {
	terminal := IsTerminal(w)
	return &Screen{
		w:       w,
		live:    terminal && getenv("TERM") != "dumb",
		color:   colored(terminal, getenv),
		quiet:   cfg.Quiet,
		verbose: cfg.Verbose,
		asks:    cfg.Asks,
	}
}

// ShowEvent shows an event. It ignores write errors: the run continues without progress.
func (s *Screen) ShowEvent(e orchestrator.Event) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.partialReply(e)
	if !s.prompted(e) {
		s.lines(describe(e, said, s.verbose)...)
		if d, ok := e.Detail.(orchestrator.WaitStarted); ok {
			s.waits = append(s.waits, d.Wait.ID)
		}
	}
	if !s.live || s.open != "" {
		return
	}
	if now, ok := status(e, said, s.Size().Columns-1); ok {
		s.write("\r\x1b[K" + s.dressed(Line{Dim, now}))
		s.shown = true
	}
}

// prompted reports whether a prompt shows an event.
func (s *Screen) prompted(e orchestrator.Event) bool {
	return s.asks && (e.Kind == orchestrator.EventWaitStarted || e.Kind == orchestrator.EventWaitEnded)
}

// partialReply stores the text of models until their steps or frames end. It returns the text of
// the frame's model so far.
func (s *Screen) partialReply(e orchestrator.Event) partialReply {
	switch d := e.Detail.(type) {
	case nil:
		s.addDelta(e)
	case orchestrator.StepTaken, orchestrator.FrameLeft:
		defer delete(s.replies, e.Frame)
	case orchestrator.RetryWaiting:
		if d.Discard {
			defer delete(s.replies, e.Frame)
		}
	}
	if words, ok := s.replies[e.Frame]; ok {
		return partialReply{text: words.text.String(), thought: words.thought.String()}
	}
	return partialReply{}
}

// addDelta stores a delta of a model.
func (s *Screen) addDelta(e orchestrator.Event) {
	words, ok := s.replies[e.Frame]
	if !ok {
		words = &replyPieces{}
		if s.replies == nil {
			s.replies = map[string]*replyPieces{}
		}
		s.replies[e.Frame] = words
	}
	if e.Kind == orchestrator.EventThoughtDelta {
		words.thought.WriteString(e.Text)
	} else {
		words.text.WriteString(e.Text)
	}
}

// Warn shows a line at once, even if progress is off. It may be called from any goroutine.
func (s *Screen) Warn(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.put(Line{Warn, "segue: " + line})
}

// ShowWaits shows the open waits at the end of a run, unless the progress has shown them. The
// progress of a resumed run has not: these waits began before.
func (s *Screen) ShowWaits(waits []orchestrator.Wait) {
	for _, w := range waits {
		if !slices.Contains(s.waits, w.ID) {
			s.Warn(DescribeWait(w, s.verbose))
		}
	}
}

// ShowProgress shows a line of progress.
func (s *Screen) ShowProgress(line string) {
	if !s.quiet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines(Line{Plain, line})
	}
}

// Show shows lines, even if progress is off.
func (s *Screen) Show(lines ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines(lines...)
}

// Prompt shows lines, and a last line as a prompt. Progress is held back until [Screen.EndPrompt]
// is called.
func (s *Screen) Prompt(line string, above ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.put(above...)
	s.open, s.broken = s.dressed(Line{Bold, line}), false
	s.write(s.open)
}

// EndPrompt ends a prompt. If a line was entered, the terminal has begun a new one.
func (s *Screen) EndPrompt(entered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !entered {
		s.wipe()
	}
	held := s.held
	s.open, s.held = "", nil
	s.lines(held...)
}

// WriteBeside calls write, which writes other output to the same terminal.
func (s *Screen) WriteBeside(write func() error) error {
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

// lines writes complete lines, now or after the prompt.
func (s *Screen) lines(lines ...Line) {
	switch {
	case len(lines) == 0:
	case s.open != "":
		s.held = append(s.held, lines...)
	default:
		s.wipe()
		s.put(lines...)
	}
}

// Clear removes the line of the current activity.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

// wipe makes room for a line: it removes the line of the current activity, but keeps a prompt.
func (s *Screen) wipe() {
	switch {
	case s.shown:
		s.write("\r\x1b[K")
		s.shown = false
	case s.open != "" && !s.broken:
		s.write("\n")
		s.broken = true
	}
}

func (s *Screen) put(lines ...Line) {
	var b strings.Builder
	for _, n := range lines {
		b.WriteString(s.dressed(n) + "\n")
	}
	s.write(b.String())
}

func (s *Screen) dressed(n Line) string {
	if !s.color || n.Style == Plain {
		return n.Text
	}
	return "\x1b[" + string(n.Style) + "m" + n.Text + "\x1b[0m"
}

func (s *Screen) write(text string) { _, _ = io.WriteString(s.w, text) }
