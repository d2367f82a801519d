// Package terminal shows progress, prompts and pages to the user, and reads the keyboard.
package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
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

// FileOf returns the file that r reads, itself or by [Cancellable]; nil if it reads none.
func FileOf(r io.Reader) *os.File {
	switch r := r.(type) {
	case *os.File:
		return r
	case interface{ file() *os.File }:
		return r.file()
	default:
		return nil
	}
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
	mu        sync.Mutex
	w         io.Writer
	live      bool // it is a terminal: the last line may be rewritten
	color     bool
	quiet     bool
	verbose   bool
	streams   bool     // what the root says is shown elsewhere, while it is said
	waits     []string // ids of the waits that the progress has shown
	asks      bool     // somebody sees prompts for what the run waits for
	heard     hearing
	doing     activity
	open      string   // the open prompt; "" if there is none
	broken    bool     // other lines follow the open prompt
	taken     bool     // somebody else writes the last line
	held      []func() // show what comes after the prompt, or after the last line of somebody else
	hint      string   // which key there is; "" is none
	unwritten error    // of other output that was held; nil if there is none
}

// Config configures a [Screen].
type Config struct {
	Quiet   bool // no progress
	Verbose bool // more progress
	Plain   bool // nothing is written anew, nothing moves, and there are no colors
	Streams bool // what the root's model says is shown elsewhere, while it is said
	Asks    bool // somebody sees prompts for what the run waits for
}

// NewScreen returns a screen at w. The environment says whether the terminal is dumb, and whether
// to use colors.
func NewScreen(w io.Writer, cfg Config, getenv func(string) string) *Screen {
	terminal := IsTerminal(w)
	return &Screen{
		w:       w,
		live:    terminal && !cfg.Plain && getenv("TERM") != "dumb",
		color:   !cfg.Plain && colored(terminal, getenv),
		quiet:   cfg.Quiet,
		verbose: cfg.Verbose,
		streams: cfg.Streams,
		asks:    cfg.Asks,
		heard:   newHearing(),
	}
}

// ShowEvent shows an event. It ignores write errors: the run continues without progress.
func (s *Screen) ShowEvent(event machine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event.Detail.(type) {
	case machine.RunStarted, machine.RunResumed: // another run, as the next turn of a conversation
		s.heard, s.doing.spent, s.doing.begun, s.doing.asked = newHearing(), spent{}, time.Time{}, 0
	}
	s.heard.learn(event)
	if s.quiet {
		return
	}
	if s.doing.begun.IsZero() {
		s.doing.begun = time.Now()
	}
	e := happening{event, s.heard.agents[event.Frame]}
	said := s.heard.partialReply(event)
	s.lines(s.wrapped(s.described(e, said))...)
	s.follow(e, said)
	s.paint()
}

// described returns the lines of an event, and keeps what later ones need.
func (s *Screen) described(e happening, said partialReply) []Line {
	if s.prompted(e.Event) {
		return nil
	}
	if s.streams && e.Depth <= 1 {
		said.text = ""
	}
	lines := s.heard.missed(e, s.verbose)
	if !s.verbose {
		s.heard.hold(e, said)
	}
	if d, ok := e.Detail.(machine.WaitStarted); ok {
		s.waits = append(s.waits, d.Wait.ID)
	}
	return append(lines, describe(e, said, s.verbose)...)
}

// follow keeps the current activity.
func (s *Screen) follow(e happening, said partialReply) {
	switch d := e.Detail.(type) {
	case machine.RunResumed:
		s.doing.spent = spent{d.Cost, d.Unpriced}
	case machine.StepTaken:
		s.doing.spent = spent{s.doing.spent.cost.Add(d.Cost), s.doing.spent.unpriced + d.Unpriced}
	case machine.RunFinished:
		s.rest()
		return
	}
	if s.streams && e.Depth <= 1 { // the lines before stand above
		said.text = said.text[strings.LastIndexByte(said.text, '\n')+1:]
	}
	if now, ok := status(e, said, s.Size().Columns-len(s.doing.front())-1); ok {
		s.doing.now, s.doing.on = strings.TrimLeft(now, " "), true
	}
}

// ShowDoing shows what is being done on the last line of a terminal, with what it has cost, until
// [Screen.Clear].
func (s *Screen) ShowDoing(now string, cost messages.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doing.begun.IsZero() {
		s.doing.begun = time.Now()
	}
	s.doing.now, s.doing.on, s.doing.spent.cost = now, true, cost
	s.paint()
}

// wrapped breaks lines between words, so that they fit in the rows of a terminal. Each row but the
// first is indented below its line.
func (s *Screen) wrapped(lines []Line) []Line {
	if !s.live {
		return lines
	}
	var rows []Line
	for _, n := range lines {
		rows = append(rows, fitted(n, s.Size().Columns)...)
	}
	return rows
}

// prompted reports whether a prompt shows an event.
func (s *Screen) prompted(e machine.Event) bool {
	return s.asks && (e.Kind == machine.EventWaitStarted || e.Kind == machine.EventWaitEnded)
}

// Agent returns the name of the agent at a frame of the run; "" if it is the root, or a step of a
// plan.
func (s *Screen) Agent(frame string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.agents[frame]
}

// Warn shows a line at once, even if progress is off. It may be called from any goroutine.
func (s *Screen) Warn(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.wrapped([]Line{{Warn, "segue: " + line}})
	if s.holds(func() { s.put(shown...) }) {
		return
	}
	s.wipe()
	s.put(shown...)
	s.paint()
}

// ShowWaits shows the open waits at the end of a run, unless the progress has shown them. The
// progress of a resumed run has not: these waits began before.
func (s *Screen) ShowWaits(waits []machine.Wait) {
	for _, w := range waits {
		if !slices.Contains(s.waits, w.ID) {
			at := machine.Event{Frame: w.Frame, Seq: w.Seq}
			s.Warn(place(happening{at, s.Agent(w.Frame)}) + waitText(w, s.verbose))
		}
	}
}

// ShowProgress shows a line of progress.
func (s *Screen) ShowProgress(line string) {
	if !s.quiet {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines(s.wrapped([]Line{{Plain, line}})...)
	}
}

// Show shows lines, even if progress is off.
func (s *Screen) Show(lines ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines(lines...)
}

// ShowWrapped shows lines in words, even if progress is off.
func (s *Screen) ShowWrapped(lines ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines(s.wrapped(lines)...)
}

// Prompt shows lines, and a last line as a prompt. Progress is held back until [Screen.EndPrompt]
// is called. A prompt of "" is written by the caller: all other output is held back then.
func (s *Screen) Prompt(line string, above ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.put(s.wrapped(above)...)
	s.doing.ask()
	if s.taken = line == ""; s.taken {
		return
	}
	s.open, s.broken = s.dressed(Line{Bold, s.promptRows(line)}), false
	s.write(s.open)
}

// promptRows breaks a prompt between words, so that it fits in the rows of a terminal; not at a
// blank that allows no break, which is shown as any other.
func (s *Screen) promptRows(line string) string {
	columns := s.Size().Columns
	if !s.live || plaintext.CellsOf(line) < columns {
		return strings.ReplaceAll(line, noBreak, " ")
	}
	const mark = " > " // it stays with the word before it
	words := strings.TrimSuffix(line, mark)
	var all []string
	at := 0
	for _, end := range plaintext.Breaks(words, columns-len(mark)-1, false) {
		all = append(all, strings.TrimRight(words[at:end], " "))
		at = end
	}
	return strings.ReplaceAll(strings.Join(all, "\n")+line[len(words):], noBreak, " ")
}

const noBreak = "\u00a0"

// EndPrompt ends a prompt. If a line was entered, the terminal has begun a new one.
func (s *Screen) EndPrompt(entered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !entered {
		s.wipe()
	}
	s.open, s.taken = "", false
	s.doing.answered()
	s.flush()
	s.paint()
}

// lines writes complete lines, now or after the prompt.
func (s *Screen) lines(lines ...Line) {
	switch {
	case len(lines) == 0:
	case s.open != "" || s.taken:
		s.held = append(s.held, func() { s.put(lines...) })
	default:
		s.wipe()
		s.put(lines...)
	}
}

// Clear removes the line of the current activity, until the next event.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest()
	s.wipe()
}

// wipe makes room for a line: it removes the line of the current activity, but keeps a prompt.
func (s *Screen) wipe() {
	switch {
	case s.doing.shown:
		s.write(s.erased())
		s.doing.shown = false
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
