package plantext

import (
	"regexp"
	"slices"
	"strings"
)

// list is items of the same rank.
type list struct {
	rank    int
	indent  int
	at      int   // its index in roots
	last    int   // the number of the last item
	items   []int // the lines of the items
	section section
}

// section is a title and what follows it.
type section struct {
	line  int // of the title; -1 before the first
	rank  int
	short bool // a title, not a sentence
}

var sentenceEnd = regexp.MustCompile(`[.,:;!?]\s*$`)

// finder finds the lists of a text.
type finder struct {
	lines   []line
	roots   []*list               // those that are not part of an item, in order
	open    []*list               // those that the next line can belong to, each inside the last item of the one before
	latest  [rankBullet + 1]*list // of roots, by rank
	section section               // of the latest title
	tight   bool                  // no blank line since the last item
}

// findLists returns the lists that are not part of an item, in order.
func findLists(lines []line) []*list {
	f := finder{lines: lines, section: section{line: -1}}
	for i := range lines {
		l := &lines[i]
		if l.kind == prose && f.leads(i) {
			l.kind, l.rank = title, rankLead
		}
		switch l.kind {
		case blank:
			f.tight = false
		case item:
			list := f.listOf(l)
			list.items, list.last = append(list.items, i), l.number
			f.tight = true
		case end:
			f.open = nil
		case title:
			f.addTitle(i)
		default: // prose, code
		}
	}
	return f.roots
}

// leads reports whether line i introduces a list: it ends with a colon, or the next line has a
// bullet.
func (f *finder) leads(i int) bool {
	if f.tight || f.lines[i].indent > 1 {
		return false
	}
	return endsWithColon(f.lines[i].raw) || i+1 < len(f.lines) && f.lines[i+1].kind == item && f.lines[i+1].rank == rankBullet
}

func endsWithColon(s string) bool { return strings.HasSuffix(strings.TrimRight(s, " \t*_"), ":") }

func (f *finder) addTitle(i int) {
	l := &f.lines[i]
	words := len(strings.Fields(l.raw))
	f.section = section{line: i, rank: l.rank, short: l.rank < rankLead || words <= 3 || words <= 8 && !sentenceEnd.MatchString(l.raw)}
	f.open = slices.DeleteFunc(f.open, func(o *list) bool { return o.rank > rankHeading || o.rank >= l.rank })
}

// listOf returns the list that an item belongs to, which may be new.
func (f *finder) listOf(x *line) *list {
	for len(f.open) > 0 {
		l := f.open[len(f.open)-1]
		if l.takes(x) {
			return l
		}
		if l.holds(x) {
			break
		}
		f.open = f.open[:len(f.open)-1]
	}
	l := &list{rank: x.rank, indent: x.indent, section: f.section}
	if len(f.open) == 0 {
		if left := f.left(x); left != nil { // the lines between are part of its last item
			l, f.roots = left, f.roots[:left.at]
		}
		l.at = len(f.roots)
		f.roots = append(f.roots, l)
		f.latest[x.rank] = l
	}
	f.open = append(f.open, l)
	return l
}

// left returns the latest list of its rank whose numbers x continues, or nil.
func (f *finder) left(x *line) *list {
	l := f.latest[x.rank]
	if l == nil || !l.precedes(x) || l.at >= len(f.roots) || f.roots[l.at] != l { // it has become part of an item
		return nil
	}
	return l
}

// takes reports whether x is the next item of l. All items may have the number 1.
func (l *list) takes(x *line) bool {
	near := x.indent-l.indent < 2 && l.indent-x.indent < 2
	return l.rank == x.rank && near && (x.number != 1 || l.last == 1) || l.precedes(x) && x.indent >= l.indent
}

// precedes reports whether the number of x follows the last number of l.
func (l *list) precedes(x *line) bool {
	return l.rank == x.rank && x.number > 1 && x.number == l.last+1
}

// holds reports whether x is part of the last item of l.
func (l *list) holds(x *line) bool { return x.indent >= l.indent+2 || x.rank > l.rank }

// better reports whether l is more likely the plan than m, which comes before it. A list of several
// items is better, then a numbered one, then the longer one.
func (l *list) better(m *list) bool {
	lone, bullets := len(l.items) == 1, l.rank == rankBullet
	switch {
	case lone != (len(m.items) == 1):
		return !lone
	case bullets != (m.rank == rankBullet):
		return !bullets
	default:
		return len(l.items) > len(m.items)
	}
}

// bestOf returns the list that is most likely the plan, or nil if there are none.
func bestOf(lists []*list) *list {
	var best *list
	for _, l := range lists {
		if best == nil || l.better(best) {
			best = l
		}
	}
	return best
}

// parts returns the lists that form a plan together with l: the best of each section of the same
// rank.
func (l *list) parts(lists []*list) []*list {
	if !l.section.short {
		return []*list{l}
	}
	var parts []*list
	for _, m := range lists {
		last := len(parts) - 1
		switch {
		case (m.rank == rankBullet) != (l.rank == rankBullet) || !m.section.short || m.section.rank != l.section.rank:
		case last < 0 || parts[last].section.line != m.section.line:
			parts = append(parts, m)
		case m.better(parts[last]):
			parts[last] = m
		}
	}
	return parts
}
