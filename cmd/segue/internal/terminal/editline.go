package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
)

// Edit has a text typed at standard input and output, which begins with what was typed ahead, as
// the terminal sent it. It returns what is typed beyond the text, for the next reader. In any case
// the terminal is then as it was.
func Edit(ctx context.Context, e *lineedit.Editor, ahead []byte) (typed string, beyond []byte, err error) {
	until, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	keys := openKeys(os.Stdin, true)
	if keys == nil {
		typed, err = NewKeyboard(os.Stdin).edit(ctx, e, os.Stdout, "")
		return typed, nil, err
	}
	defer keys.Close()
	keys.rest = ahead
	typed, err = e.Edit(keys.at(until, os.Stdout), "")
	if until.Err() != nil && ctx.Err() == nil {
		err = lineedit.ErrCancelled
	}
	keys.Close()
	return typed, keys.Ahead(), err
}

// EditLine lets the user edit a line at the terminal out, behind a prompt, and returns it without
// its newline. Ctrl-C, Ctrl-D and Esc return io.EOF. It returns when ctx ends; as for ReadLine, the
// keys that are typed until the next line are dropped then.
func (k *Keyboard) EditLine(ctx context.Context, out io.Writer, prompt, line string) (string, error) {
	e := lineedit.New(lineedit.Config{Prompt: prompt})
	var err error
	if keys := openKeys(k.source, true); keys != nil {
		defer keys.Close()
		line, err = e.Edit(keys.at(ctx, out), line)
	} else {
		line, err = k.edit(ctx, e, out, line)
	}
	if errors.Is(err, lineedit.ErrCancelled) || errors.Is(err, lineedit.ErrEscaped) {
		err = io.EOF
	}
	return line, err
}

// edit has a text edited that begins like this.
func (k *Keyboard) edit(ctx context.Context, e *lineedit.Editor, out io.Writer, text string) (string, error) {
	restore := func() {}
	if f := FileOf(k.source); f != nil && term.IsTerminal(int(f.Fd())) {
		state, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return "", err
		}
		restore = sync.OnceFunc(func() { _ = term.Restore(int(f.Fd()), state) })
	}
	defer restore()
	k.reading = true
	go func() {
		defer restore()
		typed, err := e.Edit(lineedit.Terminal{Out: out, Size: sizeOf(out), Next: k.next}, text)
		k.typed <- typedLine{line: typed, err: err}
	}()
	return k.await(ctx)
}

// next returns the next byte that is typed. It cannot wait for so long: what has not come with what
// is there is none.
func (k *Keyboard) next(patience <-chan time.Time) (byte, error) {
	if patience != nil && k.r.Buffered() == 0 {
		return 0, lineedit.ErrNoKey
	}
	return k.r.ReadByte()
}

func sizeOf(out io.Writer) func() (columns, rows int) {
	return func() (columns, rows int) {
		size := SizeOf(out)
		return size.Columns, size.Rows
	}
}

// HoldLine leaves the last line to the caller, who writes to the terminal itself: all else is held
// until FreeLine. The run goes on meanwhile, unlike at a prompt.
func (s *Screen) HoldLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.taken = true
}

// FreeLine shows what was held. The cursor must be at the beginning of an empty line.
func (s *Screen) FreeLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
	s.flush()
	s.paint()
}

// Hint has the line of the current activity say which key there is, if there is room for it; "" is
// none.
func (s *Screen) Hint(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hint = key
}

// Live reports whether the line of the current activity is shown.
func (s *Screen) Live() bool { return s.live && !s.quiet }

// flush shows what was held.
func (s *Screen) flush() {
	held := s.held
	s.held = nil
	for _, show := range held {
		s.wipe()
		show()
	}
}

// holds keeps something to be shown later, if somebody has the last line.
func (s *Screen) holds(show func()) bool {
	if s.taken {
		s.held = append(s.held, show)
	}
	return s.taken
}

// WriteBeside calls write, which writes other output to the same terminal. If that has to wait, the
// next call returns its error.
func (s *Screen) WriteBeside(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unwritten; err != nil {
		s.unwritten = nil
		return err
	}
	if s.holds(func() {
		if err := write(); err != nil && s.unwritten == nil {
			s.unwritten = err
		}
	}) {
		return nil
	}
	s.wipe()
	err := write()
	if s.open != "" {
		s.write(s.open)
		s.broken = false
	}
	s.paint()
	return err
}

func (s *Screen) write(text string) { _, _ = io.WriteString(s.w, text) }
