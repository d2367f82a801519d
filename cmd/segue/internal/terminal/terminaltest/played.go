package terminaltest

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// control matches what segue tells a terminal: a style, to clear the rest of a row, and whether to
// wrap.
var control = regexp.MustCompile("^\x1b\\[([0-9;]*m|K|\\?7[lh])")

// Played returns what a terminal of so many columns shows of an output, with all that has scrolled
// away. What it does not know it shows as it stands.
func Played(output string, columns int) string {
	rows := [][]string{nil}
	x, wraps := 0, true
	for output != "" {
		if m := control.FindString(output); m != "" {
			output = output[len(m):]
			last := len(rows) - 1
			switch {
			case strings.HasSuffix(m, "K"):
				rows[last] = rows[last][:min(x, len(rows[last]))]
			case strings.HasPrefix(m, "\x1b[?7"):
				wraps = strings.HasSuffix(m, "h")
			}
			continue
		}
		var c string
		var wide int
		c, output, wide, _ = uniseg.FirstGraphemeClusterInString(output, -1)
		switch c {
		case "\r":
			x = 0
		case "\n", "\r\n":
			rows, x = append(rows, nil), 0
		default:
			if x+wide > columns && wraps {
				rows, x = append(rows, nil), 0
			}
			if x+wide <= columns {
				rows[len(rows)-1] = put(rows[len(rows)-1], x, c, wide)
				x += wide
			}
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// put writes a character into a row of cells. The second cell of a wide one is empty.
func put(row []string, x int, c string, wide int) []string {
	for len(row) < x+wide {
		row = append(row, " ")
	}
	row[x] = c
	for i := 1; i < wide; i++ {
		row[x+i] = ""
	}
	return row
}
