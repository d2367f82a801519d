package plantext

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// The keys of plans, of steps and of the parts of a step, in the order in which they are tried.
var (
	planKeys   = []string{"steps", "plan", "tasks", "arguments"} // arguments are those of a tool call
	goalKeys   = []string{"goal", "task", "step", "title", "name", "description", "text", "details"}
	afterKeys  = []string{"depends_on", "after", "dependencies", "needs", "requires", "dependsOn"}
	detailKeys = []string{"steps", "substeps", "subtasks"}
)

var (
	jsonBlock = regexp.MustCompile("(?s)```[^`\n]*\n(.*?)```")
	bareJSON  = regexp.MustCompile(`(?ms)^[ \t]*[\[{].*[\]}][ \t]*$`)
)

// readJSON reads the first plan in JSON: from a code block, or else from the first line that begins
// with a bracket to the last line that ends with one.
func readJSON(text string) (steps []Item, isPlan bool) {
	for _, block := range jsonBlock.FindAllStringSubmatch(text, -1) {
		if steps, isPlan = parseJSON(block[1]); isPlan {
			return steps, true
		}
	}
	return parseJSON(bareJSON.FindString(text))
}

func parseJSON(text string) (steps []Item, isPlan bool) {
	var v any
	_ = json.Unmarshal([]byte(text), &v) // invalid JSON is not a plan
	return planOf(v)
}

// planOf reads a list of steps, or an object that has one. A list with an element that is not a
// step is not a plan.
func planOf(v any) (steps []Item, isPlan bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			step, isStep := stepOf(e)
			if !isStep {
				return nil, false
			}
			if step.Goal != "" {
				steps = append(steps, step)
			}
		}
		return steps, true
	case map[string]any:
		for _, key := range planKeys {
			if steps, isPlan = planOf(v[key]); isPlan {
				return steps, true
			}
		}
	}
	return nil, false
}

// stepOf reads a step: a string, or an object whose texts are the lines of the goal.
func stepOf(v any) (step Item, isStep bool) {
	switch v := v.(type) {
	case string:
		return Item{Goal: strings.TrimSpace(v)}, true
	case map[string]any:
		var lines []string
		for _, key := range goalKeys {
			if text, _ := v[key].(string); strings.TrimSpace(text) != "" {
				lines = append(lines, strings.TrimSpace(text))
			}
		}
		for _, key := range detailKeys {
			details, _ := planOf(v[key])
			for _, d := range details {
				lines = append(lines, "- "+d.Goal)
			}
		}
		return Item{ID: nameOf(v["id"]), Goal: strings.Join(lines, "\n"), After: afterOf(v)}, len(lines) > 0
	default:
		return Item{}, false
	}
}

// afterOf reads the ids of the steps that a step waits for; nil if it does not say.
func afterOf(step map[string]any) []string {
	for _, key := range afterKeys {
		list, isList := step[key].([]any)
		if name := nameOf(step[key]); name != "" {
			list, isList = []any{name}, true
		}
		if !isList {
			continue
		}
		after := []string{}
		for _, e := range list {
			after = append(after, nameOf(e))
		}
		return after
	}
	return nil
}

// nameOf returns an id, which may be a number; "" if v is none.
func nameOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}
