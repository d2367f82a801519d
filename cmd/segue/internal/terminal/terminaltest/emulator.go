package terminaltest

import (
	"strings"
	"sync"

	"github.com/charmbracelet/x/vt"
)

// Emulator is what a terminal shows of the bytes that are written to it, with all that has scrolled
// away. It is safe for concurrent use.
type Emulator struct {
	mu   sync.Mutex
	term *vt.Emulator
}

// NewEmulator returns an empty terminal.
func NewEmulator(columns, rows int) *Emulator {
	return &Emulator{term: vt.NewEmulator(columns, rows)}
}

// Write shows b.
func (e *Emulator) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term.Write(b)
}

// Text returns all that was shown.
func (e *Emulator) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all strings.Builder
	for _, line := range e.term.Scrollback().Lines() {
		all.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	for line := range strings.SplitSeq(e.term.String(), "\n") {
		all.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(all.String(), "\n") + "\n"
}

// Played returns what a terminal of so many columns shows of an output, which may end its lines
// without the beginning of the next.
func Played(output string, columns int) string {
	e := NewEmulator(columns, 24)
	_, _ = e.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n")))
	return e.Text()
}
