package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/textcut"
)

// Limits of a diff: equal lines shown around a change, lines shown in all, bytes shown of a line,
// and lines of each side that are compared, apart from common ones at the beginning and the end.
const (
	diffContext  = 2
	diffLines    = 60
	diffWidth    = 160
	diffCompared = 600
)

// change is one line of a diff.
type change struct {
	op   byte // ' ' for a line of both, '-' for one of the first, '+' for one of the second
	text string
	at   int // where it differs first from the line that replaces it
}

// diff shows the changes from a to b, line by line, with a few equal lines around each.
func diff(a, b []string) string {
	changes := compare(a, b)
	pair(changes)
	var out strings.Builder
	shown, skipped := 0, false
	for i, c := range changes {
		if c.op == ' ' && !nearChange(changes, i) {
			skipped = true
			continue
		}
		if shown++; shown > diffLines {
			out.WriteString("  …more changes are left out\n")
			break
		}
		if skipped {
			out.WriteString("  …\n")
			skipped = false
		}
		fmt.Fprintf(&out, "%c %s\n", c.op, around(c.text, c.at))
	}
	return out.String()
}

func nearChange(changes []change, i int) bool {
	for _, c := range changes[max(0, i-diffContext):min(len(changes), i+diffContext+1)] {
		if c.op != ' ' {
			return true
		}
	}
	return false
}

// compare returns the lines of both: equal ones at the beginning and the end, and between them
// those of a longest common subsequence. If the middle is too long, all of it counts as changed.
func compare(a, b []string) []change {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	changes := same(nil, a[:head])
	changes = append(changes, subsequence(a[head:len(a)-tail], b[head:len(b)-tail])...)
	return same(changes, a[len(a)-tail:])
}

func same(changes []change, lines []string) []change {
	for _, l := range lines {
		changes = append(changes, change{op: ' ', text: l})
	}
	return changes
}

func subsequence(a, b []string) []change {
	a, b = a[:min(len(a), diffCompared)], b[:min(len(b), diffCompared)]
	// longest[i][j] is the length for a[i:] and b[j:].
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var changes []change
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			changes = append(changes, change{op: ' ', text: a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || longest[i+1][j] >= longest[i][j+1]):
			changes = append(changes, change{op: '-', text: a[i]})
			i++
		default:
			changes = append(changes, change{op: '+', text: b[j]})
			j++
		}
	}
	return changes
}

// pair finds lines of which one replaces the other, and records where they first differ.
func pair(changes []change) {
	for i := 0; i < len(changes); {
		removed := run(changes[i:], '-')
		added := run(changes[i+removed:], '+')
		for n := range min(removed, added) {
			x, y := &changes[i+n], &changes[i+removed+n]
			for x.at < min(len(x.text), len(y.text)) && x.text[x.at] == y.text[x.at] {
				x.at++
			}
			y.at = x.at
		}
		i += max(removed+added, 1)
	}
}

func run(changes []change, op byte) int {
	n := slices.IndexFunc(changes, func(c change) bool { return c.op != op })
	if n < 0 {
		return len(changes)
	}
	return n
}

// around returns the part of a long line around the byte at i.
func around(s string, i int) string {
	if len(s) <= diffWidth {
		return s
	}
	begin := textcut.Before(s, max(0, min(i-diffWidth/4, len(s)-diffWidth)))
	end := textcut.Before(s, min(len(s), begin+diffWidth))
	out := s[begin:end]
	if begin > 0 {
		out = "…" + out
	}
	if end < len(s) {
		out += "…"
	}
	return out
}
