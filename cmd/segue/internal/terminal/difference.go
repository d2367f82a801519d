package terminal

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// Difference shows how two texts differ, line by line.
func Difference(old, now string) []Line {
	const header = 3 // lines that name the files
	lines := strings.Split(strings.TrimSuffix(string(diff.Diff("old", []byte(old), "new", []byte(now))), "\n"), "\n")
	var notes []Line
	for _, line := range lines[min(header, len(lines)):] {
		looks := Plain
		switch {
		case strings.HasPrefix(line, "+"):
			looks = Good
		case strings.HasPrefix(line, "-"):
			looks = Bad
		case strings.HasPrefix(line, "@"):
			looks = Dim
		}
		notes = append(notes, Line{looks, "  " + plaintext.Visible(line)})
	}
	return notes
}
