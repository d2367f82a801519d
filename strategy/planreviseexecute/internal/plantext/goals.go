package plantext

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// goals returns the steps that list items are, without blank ones.
func goals(lines []line, lists []*list) []Item {
	var goals []Item
	for j, l := range lists {
		end := len(lines)
		if j+1 < len(lists) {
			end = lists[j+1].section.line
		}
		var blocks []int
		for k, at := range l.items {
			limit, allowed := end, 0
			switch {
			case k+1 < len(l.items):
				limit, allowed = l.items[k+1], math.MaxInt
			case k > 0: // the last item may have as many blocks as the others
				allowed = slices.Min(blocks)
			case l.rank < rankNumber: // the only step
				allowed = math.MaxInt
			}
			stop, n := l.extent(lines[:limit], at, allowed)
			blocks = append(blocks, n)
			if goal := goal(lines[at:stop]); goal != "" {
				goals = append(goals, Item{Number: lines[at].number, Goal: goal})
			}
		}
	}
	return goals
}

// extent returns where the item at a line ends, and its number of loose blocks, at most allowed. A
// loose block follows a blank line and is not indented: only the numbers around it, or a colon
// before it, show that it belongs to the item.
func (l *list) extent(lines []line, at, allowed int) (stop, blocks int) {
	listing := false // the block is a list
	last := at       // the last line that is not blank
	for i := at + 1; i < len(lines); i++ {
		x := &lines[i]
		if x.kind == blank {
			continue
		}
		if l.ends(x) {
			break
		}
		outside, isItem := x.indent < l.indent+2 && (x.kind != code || lines[i-1].kind != code), x.kind == item
		if outside && last < i-1 && (!isItem || !listing) {
			if blocks >= allowed && !endsWithColon(lines[last].raw) {
				break
			}
			blocks++
		}
		if outside || isItem {
			listing = isItem
		}
		last = i
	}
	return last + 1, blocks
}

// ends reports whether x cannot be part of an item of l.
func (l *list) ends(x *line) bool {
	switch x.kind {
	case end:
		return true
	case title:
		return x.rank <= rankHeading && (l.rank > rankHeading || x.rank <= l.rank)
	case item:
		return !l.holds(x)
	default:
		return false
	}
}

// goal joins the lines of an item, without blank lines and common indentation. A line that begins
// with a lower-case letter continues the sentence of the line before.
func goal(lines []line) string {
	common := math.MaxInt
	for i, l := range lines[1:] {
		if strings.TrimSpace(l.raw) != "" && !l.wraps(lines[i]) {
			common = min(common, l.indent)
		}
	}
	var b strings.Builder
	b.WriteString(lines[0].body)
	for i, l := range lines[1:] {
		switch {
		case l.kind == blank:
		case l.wraps(lines[i]):
			b.WriteString(" " + strings.TrimSpace(l.raw))
		default:
			b.WriteString("\n" + strings.TrimRight(outdent(l.raw, common), " \t"))
		}
	}
	return strings.TrimSpace(b.String())
}

// wraps reports whether l continues the sentence of the line before.
func (l *line) wraps(before line) bool {
	return l.kind == prose && (before.kind == prose || before.kind == item) && smallWord.MatchString(l.raw)
}

var smallWord = regexp.MustCompile(`^\s*\p{Ll}[\p{L}\s]`)
