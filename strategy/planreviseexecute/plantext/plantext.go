// Package plantext reads plans out of texts that models write: numbered lists, bullets, headings
// and JSON.
package plantext

import (
	"regexp"
	"strings"
)

// Error says why no plan could be read out of a text.
type Error struct {
	Problem string // without the text, which may be long
}

// Error implements error.
func (e *Error) Error() string { return "plantext: " + e.Problem }

// Parse reads a plan out of what a model wrote, and returns the goals of its steps in order. There
// is at least one, and none is blank.
//
// A step is an item of a numbered list ("1. a", "2) b", "**1. a**", "### 1. a"), of a labelled one
// ("Step 1: a", "## Phase 1 - a"), of a list with bullets or check boxes, or of a JSON list of
// strings or objects. JSON may be a code block or begin and end on lines of its own; the list may
// stand under a key such as "steps" or "plan". What is in any other code block is no step, nor is a
// row of a table.
//
// The first line of a goal is the item without its number, label, bullet and the asterisks around
// its title. What stands below an item (paragraphs, lists, sections such as 1.1, code) are the
// further lines of its goal, without blank lines; a line that goes on with a small letter is joined
// to the line before it. What stands before the first item is left out. So is what follows the last
// item after a blank line, unless the other items have such paragraphs too.
//
// Of several lists the best is taken: one of several items before a lone one; a numbered list
// before JSON, and JSON before bullets; then the longer; then the first. Lists of the same kind
// below short titles of the same level are the parts of one plan: their steps follow one another. A
// number that goes on where a list was left continues that list; a number 1 starts another.
//
// A text without a list is a plan of one step, the trimmed text. That holds for refusals and for
// questions too: whether a model declines is not for a reader of lists to say. An empty text, one
// of nothing but thoughts (<think>…</think>, which are left out) and a JSON plan without steps are
// refused with a [*Error].
//
// Parse is pure, and takes time in proportion to the length of the text. The number of steps is not
// bounded.
func Parse(text string) ([]string, error) {
	text = thoughts.ReplaceAllString(lineEnds.Replace(text), "")
	whole := strings.TrimSpace(text)
	if whole == "" {
		return nil, &Error{Problem: "the text is empty"}
	}
	if inside, ok := strings.CutPrefix(whole, "```markdown\n"); ok {
		text = strings.TrimSuffix(inside, "```")
	}
	lines := readLines(firstInline.ReplaceAllString(text, "$1\n$2"))
	steps, isPlan := readJSON(text)
	lists := findLists(lines)
	if best := bestOf(lists); best != nil && (best.rank != rankBullet || !isPlan && len(best.items) > 1) {
		if goals := goals(lines, best.parts(lists)); len(goals) > 0 {
			return goals, nil
		}
	}
	switch {
	case len(steps) > 0:
		return steps, nil
	case isPlan:
		return nil, &Error{Problem: "the plan has no steps"}
	default:
		return []string{whole}, nil
	}
}

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

	// firstInline is the first item of a list behind the words that lead over to it.
	firstInline = regexp.MustCompile(`(\S[:.])[ \t]+(1[.)][ \t]+\S.*\n\s*2[.)][ \t])`)

	// thoughts are what a reasoning model wrote before its answer.
	thoughts = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
)
