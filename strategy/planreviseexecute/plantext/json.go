package plantext

import (
	"encoding/json"
	"regexp"
	"strings"
)

// The keys of plans, of steps and of the parts of a step, in the order in which they are tried.
var (
	planKeys   = []string{"steps", "plan", "tasks", "arguments"} // arguments are those of a tool call
	goalKeys   = []string{"goal", "task", "step", "title", "name", "description", "text", "details"}
	detailKeys = []string{"steps", "substeps", "subtasks"}
)

var (
	jsonBlock = regexp.MustCompile("(?s)```[^`\n]*\n(.*?)```")
	bareJSON  = regexp.MustCompile(`(?ms)^[ \t]*[\[{].*[\]}][ \t]*$`)
)

// readJSON reads the first plan in JSON: from a code block, or else from the first line that begins
// with a bracket to the last line that ends with one.
func readJSON(text string) (steps []string, isPlan bool) {
	for _, block := range jsonBlock.FindAllStringSubmatch(text, -1) {
		if steps, isPlan = parseJSON(block[1]); isPlan {
			return steps, true
		}
	}
	return parseJSON(bareJSON.FindString(text))
}

func parseJSON(text string) (steps []string, isPlan bool) {
	var v any
	_ = json.Unmarshal([]byte(text), &v) // invalid JSON is not a plan
	return planOf(v)
}

// planOf reads a list of steps, or an object that has one. A list with an element that is not a
// step is not a plan.
func planOf(v any) (steps []string, isPlan bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			goal, isStep := goalOf(e)
			if !isStep {
				return nil, false
			}
			if goal != "" {
				steps = append(steps, goal)
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

// goalOf reads a step: a string, or an object whose texts are the lines of the goal.
func goalOf(v any) (goal string, isStep bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), true
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
				lines = append(lines, "- "+d)
			}
		}
		return strings.Join(lines, "\n"), len(lines) > 0
	default:
		return "", false
	}
}
