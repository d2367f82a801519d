package planreviseexecute

import (
	"encoding/json"
	"strings"
)

// textPlan is a plan in JSON.
type textPlan struct {
	steps []string
	keyed bool // it stands under a key that says what it is
	found bool
}

// Keys of plans and steps, in the order in which they are looked for.
var (
	planKeys   = []string{"steps", "plan", "tasks"}
	callKeys   = []string{"arguments", "parameters"} // of a tool call
	goalKeys   = []string{"goal", "task", "step", "title", "name"}
	detailKeys = []string{"description", "text", "details", "steps", "substeps", "subtasks"}
)

// readJSON finds the JSON plans that begin a line: in each code block, and from the first bracket
// to the last.
func (r *textReader) readJSON() {
	r.data = map[int]textPlan{}
	first, last := -1, -1
	for i := range r.lines {
		switch l := &r.lines[i]; l.kind {
		case textFence:
			end := i + 1
			for end < len(r.lines) && r.lines[end].kind == textCode {
				end++
			}
			if plan := r.parseLines(i+1, end); plan.found {
				r.data[i] = plan
			}
		case textProse:
			s := strings.TrimSpace(l.raw)
			if first < 0 && strings.Contains("[{", s[:1]) {
				first = i
			}
			if strings.Contains("]}", s[len(s)-1:]) {
				last = i
			}
		default:
		}
	}
	if first < 0 || last < first {
		return
	}
	if plan := r.parseLines(first, last+1); plan.found {
		r.data[first] = plan
		for i := first; i <= last; i++ {
			r.lines[i].kind = textCode
		}
	}
}

// parseLines reads lines as a plan; the fence that ends code is no part of it.
func (r *textReader) parseLines(from, to int) textPlan {
	var b strings.Builder
	for _, l := range r.lines[from:to] {
		b.WriteString(l.raw)
		b.WriteByte('\n')
	}
	s := strings.TrimSpace(b.String())
	return parsePlan(strings.TrimSpace(strings.TrimRight(s, "`~")))
}

// readInlineJSON reads a text that is JSON, or has in the midst of a line an object with a key that says what it is.
func readInlineJSON(text string) textPlan {
	if plan := parsePlan(text); plan.found {
		return plan
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return textPlan{}
	}
	return parsePlan(text[from : to+1])
}

// parsePlan reads a text that is JSON.
func parsePlan(data string) textPlan {
	var v any
	if data == "" || !strings.Contains("[{", data[:1]) || json.Unmarshal([]byte(data), &v) != nil {
		return textPlan{}
	}
	return planOf(v)
}

// planOf reads a list of steps, or an object that has one. A list with an element that is no step is none.
func planOf(v any) textPlan {
	switch v := v.(type) {
	case []any:
		plan := textPlan{found: true, steps: make([]string, 0, len(v))}
		for _, e := range v {
			goal, ok := goalOf(e)
			if !ok {
				return textPlan{}
			}
			if goal != "" {
				plan.steps = append(plan.steps, goal)
			}
		}
		return plan
	case map[string]any:
		for _, key := range planKeys {
			if plan := planAt(v[key]); plan.found {
				return plan
			}
		}
		for _, key := range callKeys {
			if text, ok := v[key].(string); ok {
				return parsePlan(text)
			}
			if arguments, ok := v[key].(map[string]any); ok {
				return planOf(arguments)
			}
		}
	}
	return textPlan{}
}

// planAt reads the value of one of planKeys, which may be a text.
func planAt(v any) textPlan {
	text, ok := v.(string)
	if !ok {
		plan := planOf(v)
		plan.keyed = plan.found
		return plan
	}
	if plan := parsePlan(text); plan.found {
		plan.keyed = true
		return plan
	}
	plan := textPlan{found: true, keyed: true}
	if text = strings.TrimSpace(text); text != "" {
		r := textReader{lines: readTextLines(text)}
		if plan.steps = r.read(); len(plan.steps) == 0 {
			plan.steps = []string{text}
		}
	}
	return plan
}

// goalOf reads a step: a string, or an object with a goal, details, or both.
func goalOf(v any) (goal string, ok bool) {
	switch v := v.(type) {
	case string:
		return unmarked(v), true
	case map[string]any:
		var lines []string
		for _, key := range goalKeys {
			if goal, _ := goalOf(v[key]); goal != "" {
				lines = append(lines, goal)
				break
			}
		}
		for _, key := range detailKeys {
			lines = append(lines, detailsOf(v[key])...)
		}
		return strings.Join(lines, "\n"), len(lines) > 0
	default:
		return "", false
	}
}

// detailsOf reads what stands below a goal.
func detailsOf(v any) []string {
	if text, ok := v.(string); ok && strings.TrimSpace(text) != "" {
		return []string{strings.TrimSpace(text)}
	}
	if list, ok := v.([]any); ok {
		var lines []string
		for _, e := range list {
			if goal, ok := goalOf(e); ok && goal != "" {
				lines = append(lines, "- "+goal)
			}
		}
		return lines
	}
	return nil
}

// unmarked returns a goal without the number that a model wrote into its string.
func unmarked(s string) string {
	s = strings.TrimSpace(s)
	m, ok := readTextOrdinal(s)
	if body := strings.TrimSpace(m.body); ok && body != "" {
		return body
	}
	return s
}
