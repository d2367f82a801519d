package planreviseexecute

import (
	"regexp"
	"slices"
	"strings"
)

// read returns the goals of the best list, nil if there is none.
func (r *textReader) read() []string {
	r.findLists()
	if len(r.roots) == 0 {
		return nil
	}
	best := r.roots[0]
	for _, l := range r.roots[1:] {
		if l.better(best) {
			best = l
		}
	}
	var steps []string
	for _, l := range r.parts(best) {
		steps = append(steps, r.goals(l)...)
	}
	if len(steps) == 1 && !r.standsAlone(best) {
		return nil
	}
	return steps
}

// better reports whether l is more likely the plan than m, which comes before it.
func (l *textList) better(m *textList) bool {
	lone := l.size() == 1
	switch {
	case l.area != m.area:
		return l.area > m.area
	case lone != (m.size() == 1):
		return !lone
	case l.class() != m.class():
		return l.class() > m.class()
	default:
		return l.size() > m.size()
	}
}

// parts returns the lists that make up a plan with best: the best of each section.
func (r *textReader) parts(best *textList) []*textList {
	if !best.section.short || best.area == textAside {
		return []*textList{best}
	}
	var parts []*textList
	for _, l := range r.roots {
		s, last := l.section, len(parts)-1
		switch {
		case l.area != best.area || l.class() != best.class() || !s.short || s.level != best.section.level:
		case last < 0 || parts[last].section.line != s.line:
			parts = append(parts, l)
		case l.better(parts[last]):
			parts[last] = l
		}
	}
	return parts
}

// standsAlone reports whether a list of one item is a plan: a bullet, or a line that begins with
// some number, in the midst of prose is not.
func (r *textReader) standsAlone(l *textList) bool {
	first := slices.IndexFunc(r.lines, func(l textLine) bool { return l.kind != textBlank })
	return l.area >= textPlanned || l.data != nil || r.lines[l.first].number == 1 || l.first == first
}

// What titles say. Their words are English; a list below any other title is plain.
var (
	textPlanTitle = regexp.MustCompile(`(?i)^(?:(?:here|here['’]s|is|are|the|this|these|a|an|my|our|all|following|revised|updated|new|final|proposed|` +
		`action|execution|implementation|detailed|step-by-step|overall|high-level|current|complete|full|project|work|main|required)\s+)*` +
		`(?:plan|steps|tasks|instructions|roadmap|procedure|to-?do|to-?do list|action items)(?:\W*$|\s+(?:of|for|to|is|are)\b)`)
	textPlanLead   = regexp.MustCompile(`(?i)\b(?:plan|steps|step-by-step|tasks|instructions)\b(?:\W+\w+)?\W*$`) // at the end of a sentence
	textAsideTitle = regexp.MustCompile(`(?i)^(?:(?:the|some|a|few|quick|important|key|general|other|additional|useful|final|further|open|possible|` +
		`potential|known|practical|safety|main|success|acceptance|table|of)\s+)*(?:examples?\b|(?:notes?|tips?|risks?|ingredients?|requirements?|` +
		`prerequisites?|assumptions?|references?|sources?|questions?|alternatives?|options?|considerations?|caveats?|warnings?|contents|background|` +
		`context|summary|rollback(?: plan)?|constraints?|criteria)(?:\W*$|\s+(?:about|and|or|for|of|on|to)\b))`)
	textSentenceEnd = regexp.MustCompile(`[.,:;!?]$`)
)

// judgeTitle tells what is below a title, in a section of the area around.
func judgeTitle(l *textLine, around textArea) textSection {
	title := strings.TrimSpace(l.body[strings.LastIndex(l.body, ". ")+1:]) // the last sentence
	words := len(strings.Fields(title))
	s := textSection{level: l.level, area: around, short: l.level < levelLead || words <= 3 || words <= 8 && !textSentenceEnd.MatchString(title)}
	switch {
	case textPlanTitle.MatchString(title):
		s.area = around.plan()
	case textAsideTitle.MatchString(title):
		s.area = textAside
	case !s.short && textPlanLead.MatchString(title):
		s.area = around.plan()
	}
	return s
}
