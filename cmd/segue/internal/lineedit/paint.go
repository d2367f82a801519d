package lineedit

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// paint shows the text where it was shown before, and the cursor in it.
func (e *Editor) paint() {
	columns, rows := e.at.Size()
	wiped := e.wiped()
	e.below = e.below[:min(len(e.below), max(0, rows-2))]
	for i, row := range e.below {
		e.below[i] = plaintext.Head(row, columns-1)
	}
	e.area.MaxHeight = max(1, rows-1-len(e.below))
	e.shown = append(e.rows(columns), e.below...)
	e.write(wiped + strings.Join(e.shown, "\r\n") + e.back())
}

// rows returns the rows of the text that are in view, and keeps where the cursor is.
func (e *Editor) rows(columns int) []string {
	// The textarea makes a row one column too long where a wide character crosses its width, and
	// then cuts the character off: its width is one column less than what it shows. A full row
	// would wrap at the terminal.
	e.prompt(len(e.cfg.Prompt) + 1)
	e.area.SetWidth(columns - 1)
	e.prompt(len(e.cfg.Prompt))
	e.area, _ = e.area.Update(nil)
	rows := strings.Split(plaintext.Printable(strings.ReplaceAll(e.area.View(), tab, " ")), "\n")
	cursor := e.area.Cursor()
	e.row, e.column = cursor.Y, cursor.X
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
		if i == e.row {
			rows[i] += strings.Repeat(" ", max(0, e.column-plaintext.CellsOf(rows[i])))
		}
	}
	return rows
}

// back moves the cursor from the end of what is shown to its place.
func (e *Editor) back() string {
	last := len(e.shown) - 1
	if e.row == last && e.column == plaintext.CellsOf(e.shown[last]) {
		return ""
	}
	return up(last-e.row) + "\r" + moved(e.column, 'C')
}

// wiped removes what is shown, also where a narrower terminal has broken its rows.
func (e *Editor) wiped() string {
	columns, _ := e.at.Size()
	above := 0
	if len(e.shown) > 0 {
		for _, row := range e.shown[:e.row] {
			above += max(1, (plaintext.CellsOf(row)+columns-1)/columns)
		}
		above += e.column / columns
	}
	return up(above) + "\r\x1b[J"
}

// leave shows all of the text, and goes on below it.
func (e *Editor) leave() {
	columns, _ := e.at.Size()
	wiped := e.wiped()
	e.area.MaxHeight = 0
	e.area.MoveToEnd()
	e.write(wiped + strings.Join(e.rows(columns), "\r\n") + "\r\n")
}

func up(rows int) string { return moved(rows, 'A') }

// moved moves the cursor.
func moved(by int, where rune) string {
	if by == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%d%c", by, where)
}
