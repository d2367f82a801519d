package crash

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// history is what happened in a run, actor by actor: what actors do side by side has no order. An
// actor is a frame, by a name that does not depend on which of several frames began first: that of
// the actor above it, the tool call that it answers, and how many have answered such a call.
type history struct {
	lines    map[string][]string // by actor: the kind of an event, and what it tells
	waits    map[string]bool     // what people were asked
	children map[string]int
}

func newHistory() history {
	return history{lines: map[string][]string{}, waits: map[string]bool{}, children: map[string]int{}}
}

// actor names the next actor below another one; above is "" for the first of a run.
func (h *history) actor(above, call string) string {
	if above == "" {
		return "0"
	}
	key := above + "/" + call
	h.children[key]++
	return key + "." + strconv.Itoa(h.children[key])
}

// requestOf names a request of an actor.
func requestOf(actor string, number int) string { return actor + "#" + strconv.Itoa(number) }

// add adds an event.
func (h *history) add(actor string, kind machine.EventKind, detail machine.Detail) {
	h.lines[actor] = append(h.lines[actor], string(kind)+" "+textOf(detail))
}

// waited notes what a person was asked. How often somebody is asked the same depends on who died
// meanwhile.
func (h *history) waited(actor string, w *machine.Wait) {
	h.waits[fmt.Sprintf("%s %s %s %s: %s %q", actor, w.Kind, w.Tool, w.Arguments, w.Text, w.Options)] = true
}

// textOf is a value as text, without what is no part of what happened: how long it took, and what
// was left of limits, which depends on what others have used meanwhile.
func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		return err.Error()
	}
	prune(all)
	text, err = json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"elapsed", "left", "limits"} {
			delete(v, name)
		}
		if metadata, ok := v["metadata"].(map[string]any); ok { // the machine's own
			if delete(metadata, delegation.MetadataRun); len(metadata) == 0 {
				delete(v, "metadata")
			}
		}
		for _, inner := range v {
			prune(inner)
		}
	case []any:
		for _, inner := range v {
			prune(inner)
		}
	}
}

// ordered returns the lines of an actor with those of one batch sorted: its calls may begin and end
// in any order.
func ordered(lines []string) []string {
	lines = slices.Clone(lines)
	isCall := func(line string) bool { return strings.HasPrefix(line, "tool_") }
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && isCall(lines[end]) {
			end++
		}
		slices.Sort(lines[i:end])
		i = max(i, end-1)
	}
	return lines
}

// differs says where another history is not this one; "" if it is the same.
func (h *history) differs(other *history) string {
	for _, actor := range slices.Sorted(maps.Keys(h.lines)) {
		want, got := ordered(h.lines[actor]), ordered(other.lines[actor])
		for i := range max(len(want), len(got)) {
			if expected, actual := at(want, i), at(got, i); expected != actual {
				return fmt.Sprintf("event %d of %s\n%s", i+1, actor, twoLines(expected, actual))
			}
		}
	}
	for _, actor := range slices.Sorted(maps.Keys(other.lines)) {
		if h.lines[actor] == nil {
			return fmt.Sprintf("event 1 of %s\n%s", actor, twoLines("nothing", other.lines[actor][0]))
		}
	}
	if want, got := slices.Sorted(maps.Keys(h.waits)), slices.Sorted(maps.Keys(other.waits)); !slices.Equal(want, got) {
		return "what people were asked\n" + twoLines(strings.Join(want, "; "), strings.Join(got, "; "))
	}
	return ""
}

// departs says where another history is not this one before it tells of a call whose outcome is
// unknown, actor by actor; "" if it is the same until then.
func (h *history) departs(other *history) string {
	unknown := func(line string) bool { return strings.Contains(line, `"status":"unknown"`) }
	isCall := func(line string) bool { return strings.HasPrefix(line, "tool_") }
	for _, actor := range slices.Sorted(maps.Keys(other.lines)) {
		got := other.lines[actor]
		if n := slices.IndexFunc(got, unknown); n >= 0 {
			for n > 0 && isCall(got[n-1]) { // of the same batch
				n--
			}
			got = got[:n]
			want := h.lines[actor]
			want = want[:min(len(want), n)]
			for i, line := range ordered(got) {
				if expected := at(ordered(want), i); expected != line {
					return fmt.Sprintf("event %d of %s\n%s", i+1, actor, twoLines(expected, line))
				}
			}
		}
	}
	return ""
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// twoLines shows two texts from shortly before where they begin to differ.
func twoLines(expected, actual string) string {
	const before, most = 60, 400
	same := 0
	for same < min(len(expected), len(actual)) && expected[same] == actual[same] {
		same++
	}
	cut := func(text string) string {
		from := max(0, same-before)
		shown := text[from:min(len(text), from+most)]
		if from > 0 {
			shown = "…" + shown
		}
		if from+most < len(text) {
			shown += "…"
		}
		return strings.ToValidUTF8(shown, "")
	}
	return "  expected: " + cut(expected) + "\n  actual:   " + cut(actual)
}
