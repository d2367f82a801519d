package markdown

import (
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// wrap breaks a text into lines of so many columns, where the rules of Unicode allow it. An address
// is divided only if strict: then no line is longer.
func (r *renderer) wrap(spans []span, columns int, strict bool) []string {
	rows := rowsOf(spans, columns, strict)
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, r.row(row))
	}
	return lines
}

// row writes the spans of one line.
func (r *renderer) row(row []span) string {
	var b strings.Builder
	for _, s := range row {
		b.WriteString(r.dressed(s.text, s.style))
	}
	return b.String()
}

// rowsOf divides spans into rows of so many columns.
func rowsOf(spans []span, columns int, strict bool) [][]span {
	var rows [][]span
	at := 0 // bytes of the spans that are in rows
	for _, end := range plaintext.Breaks(textOf(spans), columns, strict) {
		var row []span
		row, spans = cut(spans, end-at)
		at = end
		rows = append(rows, trimmed(row))
	}
	return rows
}

// textOf returns the text of spans.
func textOf(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// cut divides spans after so many bytes.
func cut(spans []span, bytes int) (head, rest []span) {
	for i, s := range spans {
		if len(s.text) >= bytes {
			head = append(head, span{s.text[:bytes], s.style})
			return head, append([]span{{s.text[bytes:], s.style}}, spans[i+1:]...)
		}
		head = append(head, s)
		bytes -= len(s.text)
	}
	return head, nil
}

// trimmed returns a row without the blanks around it.
func trimmed(row []span) []span {
	for i := len(row) - 1; i >= 0; i-- {
		row[i].text = strings.TrimRight(row[i].text, " \n")
		if row[i].text != "" {
			break
		}
		row = row[:i]
	}
	for i := range row {
		row[i].text = strings.TrimLeft(row[i].text, " ")
		if row[i].text != "" {
			break
		}
	}
	return row
}

// cellsOf returns the columns of a row.
func cellsOf(row []span) int { return plaintext.CellsOf(textOf(row)) }
