package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// difference shows how two texts differ, line by line.
func difference(old, now string) []note {
	const header = 3 // lines that name the files
	lines := strings.Split(strings.TrimSuffix(string(diff.Diff("old", []byte(old), "new", []byte(now))), "\n"), "\n")
	var notes []note
	for _, line := range lines[min(header, len(lines)):] {
		looks := plain
		switch {
		case strings.HasPrefix(line, "+"):
			looks = good
		case strings.HasPrefix(line, "-"):
			looks = bad
		case strings.HasPrefix(line, "@"):
			looks = dim
		}
		notes = append(notes, note{looks, "  " + visible(line)})
	}
	return notes
}
