package planreviseexecute

import (
	"slices"
	"strings"
)

// textList is a list of items of the same rank, or a JSON plan.
type textList struct {
	rank    int
	indent  int
	last    int      // the number of the last item
	first   int      // the first line
	items   []int    // the lines of the items
	data    []string // the steps of a JSON plan, which has no items
	area    textArea
	section textSection
}

// textArea says what the titles above a list make of it.
type textArea int

const (
	textAside textArea = iota // notes, ingredients, examples
	textPlain
	textPlanned // and more, for a plan within a plan
)

// plan is the area of a plan within a.
func (a textArea) plan() textArea { return max(a, textPlain) + 1 }

// textSection is a title with what stands below it.
type textSection struct {
	line  int
	level int
	area  textArea
	short bool // a title rather than a sentence
}

// The classes of lists, the likelier plan last.
const (
	textBulleted = iota
	textJSON
	textNumbered
)

func (l *textList) class() int {
	switch {
	case l.data != nil:
		return textJSON
	case l.rank == rankBullet:
		return textBulleted
	default:
		return textNumbered
	}
}

func (l *textList) size() int { return len(l.items) + len(l.data) }

func (l *textList) add(line, number int) {
	l.items = append(l.items, line)
	l.last = number
}

// takes reports whether x is the next item of l though its number need not follow. All items may
// have the number 1.
func (l *textList) takes(x *textLine) bool {
	return l.rank == x.rank && x.indent-l.indent < 2 && l.indent-x.indent < 2 &&
		(x.number != 1 || l.last == 1)
}

// holds reports whether x is part of the last item of l.
func (l *textList) holds(x *textLine) bool {
	return x.indent >= l.indent+2 || x.rank > l.rank
}

// findLists finds the lists and the titles above them.
func (r *textReader) findLists() {
	for i := range r.lines {
		l := &r.lines[i]
		if plan, ok := r.data[i]; ok {
			r.addData(i, plan)
			continue
		}
		switch l.kind {
		case textBlank:
			r.tight = false
		case textItem:
			r.addItem(i)
			r.tight = true
		case textBreak:
			r.open, r.heading = nil, i
		case textTitle:
			r.addTitle(i)
		case textProse:
			if r.leads(i) {
				l.kind, l.level, l.body = textTitle, levelLead, strings.TrimSpace(l.raw)
				r.addTitle(i)
			}
		default: // code, tables
		}
	}
}

// leads reports whether line i leads over to what follows: it ends with a colon, or a bullet stands
// on the next line.
func (r *textReader) leads(i int) bool {
	l := &r.lines[i]
	if r.tight || l.indent > 1 {
		return false
	}
	next := i + 1
	return endsWithColon(l.raw) || next < len(r.lines) && r.lines[next].kind == textItem && r.lines[next].rank == rankBullet
}

func endsWithColon(s string) bool { return strings.HasSuffix(strings.TrimRight(s, " \t*_"), ":") }

func (r *textReader) addItem(i int) {
	x := &r.lines[i]
	if x.rank <= rankHeading {
		r.leaveSections(x.rank)
		r.heading = i
	}
	if l := r.continued(x); l != nil {
		l.add(i, x.number)
		return
	}
	for len(r.open) > 0 {
		l := r.open[len(r.open)-1]
		if l.takes(x) {
			l.add(i, x.number)
			return
		}
		if l.holds(x) {
			break
		}
		r.open = r.open[:len(r.open)-1]
	}
	l := &textList{rank: x.rank, indent: x.indent, first: i}
	l.add(i, x.number)
	if len(r.open) == 0 {
		r.addRoot(l, x.label)
		r.recent[x.rank] = l
	}
	r.open = append(r.open, l)
}

func (r *textReader) addRoot(l *textList, planned bool) {
	l.section = r.section()
	if l.area = l.section.area; planned && l.area > textAside {
		l.area = l.area.plan()
	}
	r.roots = append(r.roots, l)
}

// continued returns the list whose last number x follows: of the open ones that which is indented
// most like x, else the latest one of the rank of x, and what came in between is then part of its
// last item.
func (r *textReader) continued(x *textLine) *textList {
	if x.number < 2 {
		return nil
	}
	at, far := -1, 0
	for i, l := range r.open {
		if d := max(l.indent-x.indent, x.indent-l.indent); l.rank == x.rank && l.last+1 == x.number && (at < 0 || d <= far) {
			at, far = i, d
		}
	}
	if at >= 0 {
		r.open = r.open[:at+1]
		return r.open[at]
	}
	l := r.recent[x.rank]
	if l == nil || l.last+1 != x.number || len(r.open) > 0 && r.open[0].rank < x.rank {
		return nil
	}
	r.open = append(r.open[:0], l)
	if last := l.items[len(l.items)-1]; r.heading <= last {
		for r.roots[len(r.roots)-1].first > last {
			r.roots = r.roots[:len(r.roots)-1]
		}
	}
	return l
}

func (r *textReader) addTitle(i int) {
	l := &r.lines[i]
	r.leaveSections(l.level)
	s := judgeTitle(l, r.section().area)
	s.line = i
	r.sections = append(r.sections, s)
	if l.level <= levelHeading {
		r.heading = i
	}
	r.open = slices.DeleteFunc(r.open, func(o *textList) bool { return o.rank > rankHeading || o.rank >= l.level })
}

func (r *textReader) leaveSections(level int) {
	for len(r.sections) > 0 && r.section().level >= level {
		r.sections = r.sections[:len(r.sections)-1]
	}
}

// section returns the innermost title.
func (r *textReader) section() textSection {
	if n := len(r.sections); n > 0 {
		return r.sections[n-1]
	}
	return textSection{line: -1, area: textPlain}
}

// addData takes note of a JSON plan, unless it is part of an item.
func (r *textReader) addData(i int, plan textPlan) {
	if len(r.open) > 0 && (r.tight || r.lines[i].indent > 1) {
		return
	}
	if len(plan.steps) == 0 {
		r.empty = r.empty || plan.keyed
		return
	}
	r.open = nil
	r.addRoot(&textList{first: i, data: plan.steps}, plan.keyed)
}
