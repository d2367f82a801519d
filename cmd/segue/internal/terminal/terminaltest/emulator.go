package terminaltest

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Emulator is what a terminal shows of the bytes that are written to it: enough of ECMA-48 for line
// editors and progress. It is safe for concurrent use.
type Emulator struct {
	mu       sync.Mutex
	columns  int
	rows     int
	gone     []string   // lines that have scrolled away
	cells    [][]string // of each row: what stands in each column; "" is the right half of a wide character
	row, col int        // of the cursor; col may be columns, before a line is wrapped
	rest     []byte     // an incomplete sequence
}

// NewEmulator returns an empty terminal.
func NewEmulator(columns, rows int) *Emulator {
	e := &Emulator{columns: columns, rows: rows}
	for range rows {
		e.cells = append(e.cells, nil)
	}
	return e
}

// Write shows b.
func (e *Emulator) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.rest, b...)
	for len(text) > 0 {
		n := e.take(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	e.rest = append([]byte(nil), text...)
	return len(b), nil
}

// take obeys the first character or sequence; 0 if it is not complete.
func (e *Emulator) take(text []byte) int {
	if text[0] == '\x1b' {
		return e.escape(text)
	}
	if !utf8.FullRune(text) {
		return 0
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == '\r':
		e.col = 0
	case r == '\n':
		e.down()
	case r == '\b':
		e.col = max(0, min(e.col, e.columns-1)-1)
	case r == '\t':
		e.col = min(e.columns-1, e.col/8*8+8)
	case unicode.IsControl(r):
	default:
		e.print(r)
	}
	return n
}

func (e *Emulator) down() {
	if e.row++; e.row == e.rows {
		e.row--
		e.gone = append(e.gone, line(e.cells[0]))
		e.cells = append(e.cells[1:], nil)
	}
}

func (e *Emulator) print(r rune) {
	width := plaintext.CellsOf(string(r))
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		width = 0
	}
	if width > 0 && e.col+width > e.columns {
		e.col = 0
		e.down()
	}
	row := e.cells[e.row]
	for len(row) < min(e.columns, e.col+width) {
		row = append(row, " ")
	}
	if width == 0 {
		if e.col > 0 {
			row[e.col-1] += string(r)
		}
		return
	}
	row[e.col] = string(r)
	for i := 1; i < width; i++ {
		row[e.col+i] = ""
	}
	e.cells[e.row] = row
	e.col += width
}

// escape obeys an escape sequence.
func (e *Emulator) escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] == 'D' {
		e.down()
	}
	if text[1] != '[' {
		return 2
	}
	for i := 2; i < len(text); i++ {
		if c := text[i]; c >= '@' && c <= '~' {
			e.control(c, string(text[2:i]))
			return i + 1
		}
	}
	return 0
}

func (e *Emulator) control(c byte, parameters string) {
	n, err := strconv.Atoi(parameters)
	if err != nil {
		n = 1
	}
	switch c {
	case 'A':
		e.row = max(0, e.row-n)
	case 'B':
		e.row = min(e.rows-1, e.row+n)
	case 'C':
		e.col = min(e.columns-1, e.col+n)
	case 'D':
		e.col = max(0, min(e.col, e.columns-1)-n)
	case 'K':
		e.erase(parameters)
	case 'J':
		e.erase(parameters)
		for i := e.row + 1; i < e.rows; i++ {
			e.cells[i] = nil
		}
	}
}

// erase erases the line of the cursor: behind it, before it, or all.
func (e *Emulator) erase(which string) {
	row := e.cells[e.row]
	switch which {
	case "", "0":
		e.cells[e.row] = row[:min(len(row), e.col)]
	case "1":
		for i := range min(len(row), e.col+1) {
			row[i] = " "
		}
	default:
		e.cells[e.row] = nil
	}
}

func line(row []string) string { return strings.TrimRight(strings.Join(row, ""), " ") }

// Text returns all that was shown, with what has scrolled away.
func (e *Emulator) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := append([]string(nil), e.gone...)
	for _, row := range e.cells {
		all = append(all, line(row))
	}
	return strings.TrimRight(strings.Join(all, "\n"), "\n") + "\n"
}
