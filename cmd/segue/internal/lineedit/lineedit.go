// Package lineedit has a text edited at a terminal, with keys as in Emacs, a history that can be
// searched, and completion. It writes nothing but the text and what helps to type it: the terminal
// is asked nothing, so that no answer of its is taken for a key later.
package lineedit

import (
	"errors"
	"io"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// How an editing ends without a text.
var (
	ErrCancelled = errors.New("the line was cancelled") // at Ctrl-C
	ErrEscaped   = errors.New("the line was left")      // at Esc or Ctrl-D, for one line only; it is removed
)

// What a [Terminal] returns instead of a key.
var (
	ErrNoKey   = errors.New("no key was pressed")
	ErrResized = errors.New("the terminal has another size")
	ErrAnew    = errors.New("other programs have written to the terminal") // the cursor is in an empty row
)

// Config configures an [Editor].
type Config struct {
	Prompt   string
	More     string                             // the prompt of further lines, as wide as the first
	GoesOn   func(typed string) (string, bool)  // Enter begins a new line after this text; nil: it is one line
	Complete func(before string) (words []Word) // what the word before the cursor may become; nil: nothing
	Typed    func() []string                    // what was typed before, the oldest first; nil: nothing
}

// Word is a completion.
type Word struct {
	Text  string
	About string
	Goes  bool // more of the word may follow, as after a folder
}

// Terminal is where a text is edited.
type Terminal struct {
	Out  io.Writer
	Size func() (columns, rows int)
	Next func(patience <-chan time.Time) (byte, error) // the next byte that is typed; ErrNoKey when patience ends
}

// Editor edits texts. It is not safe for concurrent use.
type Editor struct {
	cfg  Config
	area textarea.Model
	at   Terminal

	shown  []string // rows, without blanks at their ends
	below  []string // rows that help, under the text
	row    int      // of the cursor, in shown
	column int

	past   []string
	line   int    // of the past; len(past) is the text that is new
	draft  string // the new text, while another is shown
	search bool   // what is typed is looked for in the past
	query  string
	words  []Word // that the word before the cursor may become
	chosen int    // of words; -1: none
	killed string // what was deleted last, more than a character
}

// New returns an editor. Alt-Enter begins a new line, and so does Enter after a backslash, which
// goes away. What is pasted is inserted as it is, with its line breaks; in one line they are
// blanks.
func New(cfg Config) *Editor {
	e := &Editor{cfg: cfg, area: textarea.New()}
	a := &e.area
	a.SetStyles(textarea.Styles{})
	a.SetVirtualCursor(false)
	a.ShowLineNumbers = false
	a.CharLimit, a.MaxWidth, a.MaxContentHeight, a.DynamicHeight = 0, 0, 1<<30, true
	a.KeyMap.Paste.SetEnabled(false)
	a.KeyMap.InsertNewline.SetEnabled(false)
	e.prompt(len(cfg.Prompt))
	a.Focus()
	return e
}

// prompt has the prompts shown, which take so many columns.
func (e *Editor) prompt(columns int) {
	e.area.SetPromptFunc(columns, func(at textarea.PromptInfo) string {
		switch {
		case at.LineNumber == 0:
			return e.cfg.Prompt
		case strings.Contains(e.area.Value(), "\n"):
			return e.cfg.More
		default:
			return ""
		}
	})
}

// Edit has a text edited that begins like this, and returns it as far as it was typed. The error is
// ErrCancelled, ErrEscaped, [io.EOF] at Ctrl-D in an empty text, or that of the terminal.
func (e *Editor) Edit(at Terminal, text string) (string, error) {
	e.at, e.shown, e.row, e.past, e.draft, e.search = at, nil, 0, nil, "", false
	if e.cfg.Typed != nil {
		e.past = e.cfg.Typed()
	}
	e.line = len(e.past)
	e.set(text)
	e.forget()
	e.write(pasteMarks)
	defer e.write(noPasteMarks)
	for {
		key, err := e.next()
		if err == nil {
			err = e.press(key)
		}
		switch {
		case err == nil, errors.Is(err, ErrResized):
		case errors.Is(err, ErrAnew):
			e.shown, e.row, e.column = nil, 0, 0
			e.write(pasteMarks)
			e.paint()
		case errors.Is(err, ErrEscaped):
			e.write(e.wiped())
			return "", err
		default:
			e.leave()
			if errors.Is(err, errEntered) {
				err = nil
			}
			return e.text(), err
		}
	}
}

// errEntered says that Enter has ended the text.
var errEntered = errors.New("the text is complete")

// press obeys a key.
func (e *Editor) press(key tea.Msg) error {
	k, ok := key.(tea.KeyPressMsg)
	if !ok {
		if pasted, ok := key.(tea.PasteMsg); ok {
			e.forget()
			e.insert(pasted.Content)
		}
		return nil
	}
	name := k.String()
	if e.search && e.seek(k) {
		return nil
	}
	if name == "tab" {
		e.complete()
		return nil
	}
	e.forget()
	switch {
	case name == "enter" || name == "ctrl+j":
		return e.enter()
	case name == "ctrl+c":
		return ErrCancelled
	case e.oneLine() && (name == "esc" || name == "alt+esc" || name == "ctrl+d" && e.area.Length() == 0):
		return ErrEscaped
	case name == "ctrl+d" && e.area.Length() == 0:
		return io.EOF
	case name == "ctrl+r" && len(e.past) > 0:
		e.begin()
	case name == "ctrl+l":
		e.write("\x1b[H\x1b[2J")
		e.shown, e.row, e.column = nil, 0, 0
	case (name == "up" || name == "ctrl+p") && e.area.Line() == 0 && e.area.LineInfo().RowOffset == 0:
		e.recall(e.line - 1)
	case (name == "down" || name == "ctrl+n") && e.atEnd():
		e.recall(e.line + 1)
	case !e.oneLine() && (name == "alt+enter" || name == "shift+enter" || name == "ctrl+alt+j"):
		e.insert("\n")
	case k.Text == "" && (strings.Contains(name, "shift+") || name == "ctrl+g"): // it would select, which nothing shows
	case name == "ctrl+y":
		e.insert(e.killed)
	default:
		before := e.text()
		e.area, _ = e.area.Update(k)
		e.keep(before, e.text())
	}
	return nil
}

// keep keeps what was deleted, to be inserted again.
func (e *Editor) keep(before, now string) {
	if len(before) < len(now)+2 {
		return
	}
	same := 0
	for same < len(now) && before[same] == now[same] {
		same++
	}
	e.killed = before[same : same+len(before)-len(now)]
}

// enter ends the text, or begins a new line of it.
func (e *Editor) enter() error {
	if e.oneLine() {
		return errEntered
	}
	begun, goesOn := e.cfg.GoesOn(e.text())
	if !goesOn {
		return errEntered
	}
	e.set(begun + "\n")
	return nil
}

func (e *Editor) oneLine() bool { return e.cfg.GoesOn == nil }

// atEnd reports whether the cursor is in the last row.
func (e *Editor) atEnd() bool {
	at := e.area.LineInfo()
	return e.area.Line() == e.area.LineCount()-1 && at.RowOffset == at.Height-1
}

// tab stands for a tab in the textarea, which would make blanks of it.
const tab = "\ue009"

// text returns what was typed.
func (e *Editor) text() string { return strings.ReplaceAll(e.area.Value(), tab, "\t") }

// set puts a text in the place of what was typed.
func (e *Editor) set(text string) {
	e.area.Reset()
	e.insert(text)
}

// insert inserts a text at the cursor.
func (e *Editor) insert(text string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", tab).Replace(text)
	if e.oneLine() {
		text = strings.NewReplacer("\n", " ", tab, " ").Replace(text)
	}
	e.area.InsertString(text)
}

func (e *Editor) write(text string) { _, _ = io.WriteString(e.at.Out, text) }
