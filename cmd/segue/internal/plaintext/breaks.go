package plaintext

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Breaks returns where the rows of a text end, in bytes, if each may have so many columns and
// breaks where the rules of Unicode allow it, also at each line break. A word that is longer is
// divided; but a web address, which nobody could copy then, only if strict. Blanks at the end of a
// row do not count.
func Breaks(s string, columns int, strict bool) []int {
	var ends []int
	at, full := 0, 0 // the end, and the columns of the row so far
	begun := false
	for _, part := range words(s) {
		word := strings.TrimRight(part, " \n")
		wide := CellsOf(word)
		if begun && full+wide > columns {
			ends = append(ends, at)
			full = 0
		}
		for wide > columns && (strict || !isAddress(word)) {
			head, _ := Split(word, columns)
			if head == "" { // one character that is wider than a row has one to itself
				if head, _, _, _ = uniseg.FirstGraphemeClusterInString(word, -1); head == word {
					break
				}
			}
			at += len(head)
			ends = append(ends, at)
			word, part = word[len(head):], part[len(head):]
			wide = CellsOf(word)
		}
		at += len(part)
		full += wide + CellsOf(strings.TrimRight(part[len(word):], "\n"))
		begun = true
		if strings.HasSuffix(part, "\n") {
			ends = append(ends, at)
			full, begun = 0, false
		}
	}
	if begun || len(ends) == 0 {
		ends = append(ends, at)
	}
	return ends
}

// words divides a text where a row may end, each word with the blanks after it. Addresses, paths
// and names with hyphens stay whole, so that they can be copied, and so does each character: the
// columns of a text are those of its words together.
func words(s string) []string {
	var all []string
	for rest, state := s, -1; rest != ""; {
		var bounds int
		_, rest, bounds, state = uniseg.StepString(rest, state)
		if bounds&uniseg.MaskLine == uniseg.LineDontBreak {
			continue
		}
		part := s[:len(s)-len(rest)]
		s = rest
		if n := len(all); n > 0 && isName(all[n-1]) {
			all[n-1] += part
			continue
		}
		all = append(all, part)
	}
	return all
}

// isName reports whether what follows belongs to the same word.
func isName(begin string) bool {
	return !strings.HasSuffix(begin, " ") && !strings.HasSuffix(begin, "\n") && (strings.Contains(begin, "/") || strings.HasSuffix(begin, "-"))
}

// LongestWord returns the columns of the longest word of a text, which is all of it that must be in
// one row. Other than addresses, no word counts for more than most.
func LongestWord(s string, most int) int {
	longest := 0
	for _, word := range words(s) {
		word = strings.TrimRight(word, " \n")
		wide := CellsOf(word)
		if !isAddress(word) {
			wide = min(wide, most)
		}
		longest = max(longest, wide)
	}
	return longest
}

// isAddress reports whether a word has the address of a page in the web.
func isAddress(word string) bool { return strings.Contains(word, "://") }
