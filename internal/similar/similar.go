// Package similar finds the name that somebody meant who misspelt it.
package similar

import "strings"

// Nearest returns the name that is most similar to a misspelt one; "" if none is similar: at most
// one letter in three differs, or one of a short name. Where none is, it returns the only name that
// begins so.
func Nearest(name string, names []string) string {
	best, least := "", min(1+max(1, len(name)/3), len(name))
	for _, n := range names {
		if d := edits(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	if best != "" || len(name) < leastBegin {
		return best
	}
	for _, n := range names {
		switch {
		case !strings.HasPrefix(strings.ToLower(n), strings.ToLower(name)):
		case best != "":
			return ""
		default:
			best = n
		}
	}
	return best
}

// leastBegin is the least number of letters by which a name is known from its beginning.
const leastBegin = 3

// Hint returns a question about the most similar name, to end a message with; "" if none is
// similar.
func Hint(name string, names []string) string {
	near := Nearest(name, names)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// Aside is like Hint, to stand within a message, before what names there are.
func Aside(name string, names []string) string {
	near := Nearest(name, names)
	if near == "" {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// edits returns how many letters are to be inserted, deleted, replaced, or exchanged with the next
// one, to make b of a.
func edits(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
