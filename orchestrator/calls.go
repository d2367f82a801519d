package orchestrator

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/messages"
)

// idSet notes ids. The first few take no memory of their own: most replies have no more calls.
type idSet struct {
	few  [8]string
	n    int
	many map[string]bool
}

// add notes an id and reports whether it is new.
func (s *idSet) add(id string) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], id) {
			return false
		}
		if s.n < len(s.few) {
			s.few[s.n] = id
			s.n++
			return true
		}
		s.many = make(map[string]bool, 4*len(s.few))
		for _, known := range s.few {
			s.many[known] = true
		}
	}
	if s.many[id] {
		return false
	}
	s.many[id] = true
	return true
}

// unsound says what is wrong with a reply that could not stand in a history; "" if nothing is.
func unsound(a messages.Assistant) string {
	var ids idSet
	for _, part := range a.Content {
		switch c := part.(type) {
		case messages.Text, messages.Thought:
		case messages.ToolCall:
			if c.ID == "" {
				return "holds a call without an id"
			}
			if !ids.add(c.ID) {
				return fmt.Sprintf("holds two calls with the id %.64q", c.ID)
			}
		default:
			return fmt.Sprintf("holds a %T, which is no part as a value", part)
		}
	}
	return ""
}

// placed returns where the results of calls stand in a list, by the ids of the calls; of two
// results the first.
func placed(results []messages.ToolOutput) map[string]int {
	places := make(map[string]int, len(results))
	for i := range results {
		if _, twice := places[results[i].CallID]; !twice {
			places[results[i].CallID] = i
		}
	}
	return places
}

// numbered returns where calls stand in a batch, by their ids.
func numbered(calls []messages.ToolCall) map[string]int {
	places := make(map[string]int, len(calls))
	for i := range calls {
		places[calls[i].ID] = i
	}
	return places
}
