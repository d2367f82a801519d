package planreviseexecute

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// goals returns the goals of the items of a list, without blank ones.
func (r *textReader) goals(l *textList) []string {
	if l.data != nil {
		return l.data
	}
	var goals []string
	var blocks []int
	for k, item := range l.items {
		limit, allowed := len(r.lines), math.MaxInt
		if k+1 < len(l.items) {
			limit = l.items[k+1]
		} else {
			allowed = l.allowance(blocks)
		}
		end, n := r.extent(l, item, limit, allowed)
		blocks = append(blocks, n)
		if goal := r.goal(item, end); goal != "" {
			goals = append(goals, goal)
		}
	}
	return goals
}

// allowance returns how many loose blocks the last item takes of what follows it, given those of
// the other items: as many as each of them has at least. A section with a heading takes as many as
// any of them has.
func (l *textList) allowance(blocks []int) int {
	switch {
	case len(blocks) > 0 && l.rank <= rankHeading:
		return slices.Max(blocks)
	case len(blocks) > 0:
		return slices.Min(blocks)
	case l.rank < rankNumber: // the only step
		return math.MaxInt
	default:
		return 0
	}
}

// extent returns the end of an item, which is at most limit, and how many loose blocks it has,
// which are at most allowed. A loose block is what comes after a blank line and is not indented:
// nothing but the numbers around it tells that it is part of the item. What follows a colon is.
func (r *textReader) extent(l *textList, item, limit, allowed int) (end, blocks int) {
	listing := false // the block is a list
	last := item     // the last line that is not blank
	for i := item + 1; i < limit; i++ {
		x := &r.lines[i]
		if x.kind == textBlank {
			continue
		}
		if r.ends(l, x) {
			break
		}
		outside, isItem := x.indent < l.indent+2 && x.kind != textCode, x.kind == textItem
		if outside && last < i-1 && (!isItem || !listing) {
			colon := endsWithColon(r.lines[last].raw)
			if !colon && blocks >= allowed {
				break
			}
			if !colon || last == item {
				blocks++
			}
		}
		if outside || isItem {
			listing = isItem
		}
		last = i
	}
	end = last + 1
	for end > item+1 && r.leadsOver(l, end-1) {
		end--
	}
	return end, blocks
}

// leadsOver reports whether line i is the title of what comes after an item of l, or is blank.
func (r *textReader) leadsOver(l *textList, i int) bool {
	x := &r.lines[i]
	return x.kind == textBlank || x.kind == textTitle && (l.rank >= rankNumber || endsWithColon(x.raw))
}

// ends reports whether x cannot be part of an item of l.
func (r *textReader) ends(l *textList, x *textLine) bool {
	switch x.kind {
	case textBreak:
		return true
	case textTitle:
		return x.level <= levelHeading && (l.rank > rankHeading || x.level <= l.rank)
	case textItem:
		return !l.holds(x)
	default:
		return false
	}
}

// goal puts together the lines of an item. They lose the indentation that they have in common.
func (r *textReader) goal(item, end int) string {
	first := &r.lines[item]
	wraps := !first.titled && !breaksHard(first.raw) // the next line may go on with the sentence
	joined := make([]bool, end-item)
	common := math.MaxInt
	for i := item + 1; i < end; i++ {
		l := &r.lines[i]
		isProse := l.kind == textProse
		joined[i-item] = isProse && wraps && !startsAnew(r.lines[i-1].raw, strings.TrimSpace(l.raw))
		wraps = (isProse || l.kind == textItem) && !breaksHard(l.raw)
		if !joined[i-item] && strings.TrimSpace(l.raw) != "" {
			common = min(common, l.indent)
		}
	}
	var b strings.Builder
	b.WriteString(first.body)
	for i := item + 1; i < end; i++ {
		switch l := &r.lines[i]; {
		case l.kind == textBlank:
		case joined[i-item]:
			b.WriteString(" " + strings.TrimSpace(l.raw))
		default:
			b.WriteString("\n" + strings.TrimRight(outdent(l.raw, common), " \t"))
		}
	}
	return strings.TrimSpace(b.String())
}

// startsAnew reports whether a line is no continuation of the line before: it has the number or
// letter of a section, or a name and a colon, or it begins with a capital though its first word
// would have had room there.
func startsAnew(before, line string) bool {
	if textNamed.MatchString(line) {
		return true
	}
	word, _, _ := strings.Cut(line, " ")
	at := strings.IndexFunc(word, unicode.IsLetter)
	if at < 0 || len(strings.TrimSpace(before))+len(word) >= len(line) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(word[at:])
	return unicode.IsUpper(first)
}

var textNamed = regexp.MustCompile(`^\*{0,2}(?:\d{1,3}(?:\.\d{1,3})+[.)]?\*{0,2}\s|\(?(?:[a-z]|[ivx]{2,4})[.)]\*{0,2}\s|[A-Z][A-Za-z0-9. ]{0,30}:)`)

// breaksHard reports whether a line ends with a line break of Markdown.
func breaksHard(raw string) bool {
	return strings.HasSuffix(raw, "  ") || strings.HasSuffix(raw, `\`)
}
