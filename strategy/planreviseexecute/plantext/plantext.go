package planreviseexecute

import (
	"regexp"
	"strings"
)

// TextError says why no plan could be read out of a text.
type TextError struct {
	Problem string // without the text, which may be long
}

// Error implements error.
func (e *TextError) Error() string { return "planreviseexecute: read plan: " + e.Problem }

// ReadSteps reads a plan out of what a model wrote in prose, and returns the goals of its steps in
// order. None is blank.
//
// A step is an item of a numbered list ("1. a", "2) b", "**1. a**", "### 1. a"), of a labelled one
// ("Step 1: a", "## Phase 1 - a"), of a list with bullets or check boxes, or of a JSON list of
// strings or objects, which may stand under a key such as "steps" or "plan", in a code fence or
// open in the text. What is in any other code fence is no step, nor is a row of a table.
//
// The first line of a goal is the item without its number, label, check box and the asterisks
// around its title. A line that wraps is joined to the line before it. What stands below an item
// (paragraphs, lists, sections such as 1.1, code) are the further lines of its goal, without blank
// lines. What stands before the first item and what follows the last one after a blank line is left
// out, unless the other items have such paragraphs too.
//
// Of several lists the best is taken: a list below a title like "Plan:" or of labelled steps before
// any other, and one below a title like "Notes:" after any other; then one of several items before
// a lone one; then a numbered list before JSON, and JSON before bullets; then the longer; then the
// first. Lists of the same kind below titles of the same level are the parts of one plan: their
// steps follow one another. A number that goes on where a list was left continues that list; a
// number 1 starts another. The words of titles and labels are English; lists below other titles are
// all alike.
//
// A text without a list is a plan of one step, the trimmed text. That holds for refusals and for
// questions too: whether a model declines is not for a reader of lists to say. An empty text, one
// of nothing but thoughts (<think>…</think>, which are always left out) and a JSON plan without
// steps are refused with a *TextError.
//
// Reading takes time in proportion to the length of the text. The number of steps is not bounded.
func ReadSteps(text string) ([]string, error) {
	text = withoutThoughts(textLineEnds.Replace(text))
	whole := strings.TrimSpace(text)
	if whole == "" {
		return nil, &TextError{Problem: "the text is empty"}
	}
	r := textReader{lines: readTextLines(unwrapMarkdown(text))}
	r.readJSON()
	if steps := r.read(); len(steps) > 0 {
		return steps, nil
	}
	plan := readInlineJSON(whole)
	switch {
	case len(plan.steps) > 0:
		return plan.steps, nil
	case plan.found, r.empty:
		return nil, &TextError{Problem: "the plan has no steps"}
	default:
		return []string{whole}, nil
	}
}

var textLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// textThoughts match what a reasoning model wrote before its answer: with both tags or only the
// first, and without the first, the second being alone on its line.
var textThoughts = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`),
	regexp.MustCompile(`(?s)^.*?\n[ \t]*</think(?:ing)?>[ \t]*(?:\n|$)`),
}

func withoutThoughts(text string) string {
	if !strings.Contains(text, "think>") && !strings.Contains(text, "thinking>") {
		return text
	}
	for _, thought := range textThoughts {
		if at := thought.FindStringIndex(text); at != nil {
			return text[at[1]:]
		}
	}
	return text
}

// textReader finds the lists of a text.
type textReader struct {
	lines    []textLine
	data     map[int]textPlan          // JSON plans that stand open in the text, by their first line
	empty    bool                      // there is a JSON plan without steps
	roots    []*textList               // the lists that are not part of an item, in order
	open     []*textList               // the lists that the next line can belong to, each inside the last item of the one before
	recent   [rankBullet + 1]*textList // the latest of roots by rank: numbers can go on after an interruption
	sections []textSection             // the titles that the next line stands below
	heading  int                       // the latest heading or break
	tight    bool                      // there was no blank line since the last item
}
