package markdown

import (
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

const (
	between    = " | "
	mostColumn = 24 // columns that a word gets in a narrowed column of a table; a longer one is divided
)

// table returns a table with aligned columns, or, where it is too narrow for them, the rows one
// after another, each cell after the name of its column.
func (r *renderer) table(n *extast.Table, columns int) []string {
	var rows [][][]span
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell))
		}
		for len(cells) < len(n.Alignments) {
			cells = append(cells, nil)
		}
		rows = append(rows, cells)
	}
	natural, least := limits(rows, len(n.Alignments))
	widths, ok := share(natural, least, columns-len(between)*(len(n.Alignments)-1))
	if !ok {
		return r.records(rows, columns)
	}
	var lines []string
	for i, cells := range rows {
		if i == 0 {
			cells = r.bold(cells)
		}
		lines = append(lines, r.cells(cells, widths, n.Alignments)...)
		if i == 0 {
			lines = append(lines, ruler(widths))
		}
	}
	return lines
}

// limits returns the widths of columns in which nothing is wrapped, and in which no word is
// divided.
func limits(rows [][][]span, columns int) (natural, least []int) {
	natural, least = make([]int, columns), make([]int, columns)
	for _, cells := range rows {
		for i, cell := range cells {
			natural[i] = max(natural[i], cellsOf(cell))
			least[i] = max(least[i], plaintext.LongestWord(textOf(cell), mostColumn))
		}
	}
	return natural, least
}

// share narrows the widest columns until all fit in so many columns; false if they become too
// narrow.
func share(widths, least []int, columns int) ([]int, bool) {
	total := 0
	for _, w := range widths {
		total += w
	}
	for ; total > columns; total-- {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

// cells returns the lines of a row of a table.
func (r *renderer) cells(cells [][]span, widths []int, aligned []extast.Alignment) []string {
	wrapped, height := make([][][]span, len(cells)), 1
	for i, cell := range cells {
		wrapped[i] = rowsOf(cell, widths[i], true)
		height = max(height, len(wrapped[i]))
	}
	lines := make([]string, 0, height)
	for y := range height {
		var b strings.Builder
		for i, rows := range wrapped {
			if i > 0 {
				b.WriteString(between)
			}
			var row []span
			if y < len(rows) {
				row = rows[y]
			}
			before, after := padding(aligned[i], widths[i]-cellsOf(row))
			b.WriteString(strings.Repeat(" ", before) + r.row(row) + strings.Repeat(" ", after))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// padding divides the room beside a text.
func padding(aligned extast.Alignment, room int) (before, after int) {
	room = max(room, 0) // a character can be wider than its column
	switch aligned {
	case extast.AlignRight:
		return room, 0
	case extast.AlignCenter:
		return room / 2, room - room/2
	default:
		return 0, room
	}
}

func ruler(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("-", w)
	}
	return strings.Join(parts, "-+-")
}

// records returns the rows of a table one after another.
func (r *renderer) records(rows [][][]span, columns int) []string {
	var lines []string
	heads := r.bold(rows[0])
	for i, cells := range rows[1:] {
		if i > 0 {
			lines = append(lines, "")
		}
		for x, cell := range cells {
			if len(cell) == 0 {
				continue
			}
			line := append(append([]span{}, heads[x]...), span{text: ": "})
			line = append(line, cell...)
			wrapped := r.wrap(line, columns-2, false)
			lines = append(lines, prefixed("", "  ", wrapped, 0)...)
		}
	}
	if len(rows) == 1 {
		for _, head := range heads {
			lines = append(lines, r.wrap(head, columns, true)...)
		}
	}
	return lines
}

// bold returns cells in bold, if there are colors.
func (r *renderer) bold(cells [][]span) [][]span {
	all := make([][]span, len(cells))
	for i, cell := range cells {
		all[i] = append([]span{}, cell...)
		if r.color {
			all[i] = r.marked("", styleBold, all[i])
		}
	}
	return all
}
