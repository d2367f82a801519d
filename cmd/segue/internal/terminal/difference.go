package terminal

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Difference shows how two texts differ, line by line.
func Difference(old, now string) []Line {
	const header = 3 // lines that name the files
	rows := strings.Split(strings.TrimSuffix(string(diff.Diff("old", []byte(old), "new", []byte(now))), "\n"), "\n")
	var lines []Line
	for _, line := range rows[min(header, len(rows)):] {
		looks := Plain
		switch {
		case strings.HasPrefix(line, "+"):
			looks = Good
		case strings.HasPrefix(line, "-"):
			looks = Bad
		case strings.HasPrefix(line, "@"):
			looks = Dim
		}
		lines = append(lines, Line{looks, "  " + plaintext.Visible(line)})
	}
	return lines
}
