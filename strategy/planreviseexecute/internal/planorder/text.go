package planorder

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/strategy/planreviseexecute/internal/plantext"
)

// Numbers of steps: "1, 2 and 4-6"; or a word for none.
const (
	numbers = `(?:steps?\s+)?#?\d{1,3}(?:\s*(?:,|;|&|\+|-|–|—|to|and|through|,\s*and)\s*(?:steps?\s+)?#?\d{1,3})*`
	none    = `none|nothing|no\s+(?:other\s+)?steps?|n/a|-|–|—`
	waits   = `(?:to\s+be\s+done\s+|only\s+|runs?\s+|starts?\s+)?(?:after|depends?(?:\s+only)?\s+on|depends|dependenc(?:y|ies)|needs|requires|prerequisites?)`
)

var (
	inBrackets  = regexp.MustCompile(`(?i)[ \t]*[(\[]\s*` + waits + `\s*:?\s*(` + numbers + `|` + none + `)\s*[)\]]`)
	independent = regexp.MustCompile(`(?i)[ \t]*[(\[]\s*(?:no\s+(?:dependenc(?:y|ies)|prerequisites?)|independent)\s*[)\]]`)
	onItsLine   = regexp.MustCompile(`(?im)\n[ \t]*(?:[-*+•][ \t]+)?[*_]*` + waits + `[*_]*\s*:?[*_]*[ \t]*(` + numbers + `|` + none + `)[*_]*\.?[ \t]*$`)
	numberRange = regexp.MustCompile(`(?i)(\d+)(?:\s*(?:-|–|—|to|through)\s*(?:steps?\s+)?#?(\d+))?`)
)

// Stated reads what a goal says about the steps that it waits for: "Compare them (after 1, 2)", or
// "[depends on steps 1-3]", or "needs: none" on a line of its own. It returns the goal without
// that, and the numbers: nil if the goal says nothing, and empty if it waits for no step.
func Stated(goal string) (rest string, after []int) {
	for _, form := range []*regexp.Regexp{inBrackets, onItsLine, independent} {
		at := form.FindStringSubmatchIndex(goal)
		if at == nil {
			continue
		}
		after = []int{}
		if len(at) > 2 {
			after = numbersIn(goal[at[2]:at[3]])
		}
		return strings.TrimSpace(goal[:at[0]] + goal[at[1]:]), after
	}
	return goal, nil
}

// numbersIn returns the numbers of a list, and those between the ends of a range.
func numbersIn(list string) []int {
	found := []int{}
	for _, m := range numberRange.FindAllStringSubmatch(list, -1) {
		first, _ := strconv.Atoi(m[1]) // digits alone, and few
		last := first
		if m[2] != "" {
			last, _ = strconv.Atoi(m[2])
		}
		for n := min(first, last); n <= max(first, last) && len(found) < mostItems; n++ {
			found = append(found, n)
		}
	}
	return found
}

// mostItems is the number of steps from which on nothing is read of the order of a plan.
const mostItems = 1000

// Written returns the plan that a text lists, to replace the open steps of p. The goals of the
// steps lose what they say about their order. What they say and cannot be (a step that does not
// exist, the step itself, steps that wait for each other) is in Unread, and such a step says
// nothing.
func (p Plan) Written(items []plantext.Item) Plan {
	w := &written{old: p, ids: map[string]string{}}
	for i := range items {
		if len(items) > mostItems {
			w.plan.Steps = append(w.plan.Steps, Step{Goal: items[i].Goal})
			continue
		}
		w.add(i, items[i])
	}
	if len(items) > mostItems {
		return w.plan
	}
	for i := range w.plan.Steps {
		w.order(i)
	}
	for {
		cycle := w.check().cycle()
		if cycle == nil {
			return w.plan
		}
		w.plan.Unread = append(w.plan.Unread, "steps wait for each other: "+strings.Join(cycle, " -> "))
		for i := range w.plan.Steps {
			if slices.Contains(cycle, w.idOf(i)) {
				w.plan.Steps[i].DependsOn = nil
			}
		}
	}
}

// written is a plan that is read from a text.
type written struct {
	old   Plan
	plan  Plan
	names []string          // of each step in the text
	after [][]string        // names, of each step; nil: it says nothing
	ids   map[string]string // by name
	last  int               // the last number that became an id
}

// add adds a step. One that is done keeps its id, and Revise leaves it out.
func (w *written) add(i int, item plantext.Item) {
	goal, stated := Stated(item.Goal)
	after := item.After
	if after == nil && stated != nil {
		after = []string{}
		for _, n := range stated {
			after = append(after, strconv.Itoa(n))
		}
	}
	number := item.Number
	if number == 0 || w.ids[strconv.Itoa(number)] != "" { // the parts of a plan may count anew
		number = i + 1
	}
	step := Step{Goal: strings.TrimSpace(goal)}
	id := ""
	if done := slices.IndexFunc(w.old.Steps, func(s Step) bool { return s.Status == StepDone && s.Goal == step.Goal }); done >= 0 {
		id = w.old.Steps[done].ID
	} else {
		step.ID = w.free(item.ID)
		id = step.ID
	}
	name := strconv.Itoa(number)
	for _, n := range []string{item.ID, name} {
		if n != "" && w.ids[n] == "" {
			w.ids[n] = id
		}
	}
	w.plan.Steps, w.names, w.after = append(w.plan.Steps, step), append(w.names, name), append(w.after, after)
}

// free returns the id that a text gives a step, or the next number, that no other step has.
func (w *written) free(id string) string {
	taken := func(id string) bool {
		j := w.old.Index(id)
		return w.plan.Index(id) >= 0 || j >= 0 && w.old.Steps[j].Status == StepDone
	}
	for id == "" || taken(id) {
		w.last++
		id = strconv.Itoa(w.last)
	}
	return id
}

// idOf returns the id of a step, or that of the done step that it is.
func (w *written) idOf(i int) string {
	if id := w.plan.Steps[i].ID; id != "" {
		return id
	}
	return w.old.Steps[slices.IndexFunc(w.old.Steps, func(s Step) bool { return s.Status == StepDone && s.Goal == w.plan.Steps[i].Goal })].ID
}

// order sets what a step waits for.
func (w *written) order(i int) {
	step := &w.plan.Steps[i]
	if step.ID == "" || w.after[i] == nil {
		return
	}
	after := []string{}
	for _, name := range w.after[i] {
		id := w.ids[name]
		if j := w.old.Index(name); id == "" && j >= 0 && w.old.Steps[j].Status == StepDone {
			id = name
		}
		problem := ""
		switch id {
		case "":
			problem = "which is no step"
		case step.ID:
			problem = "which is the step itself"
		}
		if problem != "" {
			w.plan.Unread = append(w.plan.Unread, fmt.Sprintf("step %q waits for %.64q, %s", step.ID, name, problem))
			return
		}
		if !slices.Contains(after, id) {
			after = append(after, id)
		}
	}
	step.DependsOn = after
}

// check returns the plan as Revise makes it, to look for cycles.
func (w *written) check() Plan {
	all := Plan{}
	for _, s := range w.old.Steps {
		if s.Status == StepDone {
			all.Steps = append(all.Steps, s)
		}
	}
	for _, s := range w.plan.Steps {
		if s.ID != "" {
			all.Steps = append(all.Steps, s)
		}
	}
	return all
}
