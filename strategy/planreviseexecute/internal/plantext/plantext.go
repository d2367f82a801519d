// Package plantext reads plans from texts that models write: numbered lists, bullets, headings and
// JSON.
package plantext

import (
	"regexp"
	"strings"
)

// Error says why no plan could be read from a text.
type Error struct {
	Problem string // without the text, which may be long
}

// Error implements error.
func (e *Error) Error() string { return "plantext: " + e.Problem }

// Parse reads a plan from a model's text, and returns the goals of its steps in order. There is at
// least one goal, and none is blank.
//
// A step is an item of a numbered list ("1. a", "2) b", "**1. a**", "### 1. a"), of a labelled list
// ("Step 1: a", "## Phase 1 - a"), of a list with bullets or check boxes, or of a JSON list of
// strings or objects. JSON may be in a code block, or begin and end on lines of its own; the list
// may be the value of a key such as "steps" or "plan". Other code blocks and rows of tables are not
// steps.
//
// The first line of a goal is the item without its number, label, bullet and the asterisks around
// its title. The text under an item (paragraphs, lists, sections such as 1.1, code) forms the
// further lines of its goal, without blank lines. A line that begins with a lower-case letter is
// joined to the line before it. Text before the first item is left out. Text after a blank line
// after the last item is left out too, unless the other items have such paragraphs.
//
// Of several lists the best one is used: one with several items before one with a single item; a
// numbered list before JSON, and JSON before bullets; then the longer; then the first. Lists of the
// same kind under short titles of the same level are the parts of one plan: their steps follow one
// another. A number that follows the last number of a list continues that list; a number 1 starts a
// new list.
//
// A text without a list is a plan of one step, the trimmed text. This is also so for refusals and
// questions, because the package cannot know whether a model declines. Parse returns an [*Error]
// for an empty text, a text that has only thoughts (<think>…</think>, which are left out), and a
// JSON plan without steps.
//
// Parse is pure. Its time is proportional to the length of the text. The number of steps is not
// limited.
func Parse(text string) ([]string, error) {
	items, err := ParseItems(text)
	var goals []string
	for _, i := range items {
		goals = append(goals, i.Goal)
	}
	return goals, err
}

// Item is a step as a text lists it.
type Item struct {
	Number int      // before the step; 0: none
	ID     string   // of a step in JSON, the value of "id"; "": none
	Goal   string   // as Parse returns it
	After  []string // of a step in JSON: the ids or numbers of the steps that it waits for, the value of a key such as "depends_on"; nil: it does not say
}

// ParseItems is Parse with what the text says about each step besides its goal.
func ParseItems(text string) ([]Item, error) {
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
		return []Item{{Goal: whole}}, nil
	}
}

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

	// firstInline is the first item of a list after the words that introduce it.
	firstInline = regexp.MustCompile(`(\S[:.])[ \t]+(1[.)][ \t]+\S.*\n\s*2[.)][ \t])`)

	// thoughts are what a reasoning model wrote before its answer.
	thoughts = regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
)
