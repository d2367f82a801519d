package completetask

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/tools"
)

// Handoff is a strategy that the model may hand the conversation over to, by calling a tool. The
// call ends the work of this strategy, and the other takes its place, see [nextstep.Handoff].
// Other calls of the same reply are not run.
type Handoff struct {
	Strategy    string         `json:"strategy"`              // its name in the strategy.Set
	Tool        string         `json:"tool,omitempty"`        // the tool's name; "" means "transfer_to_" and the Strategy
	Description string         `json:"description,omitempty"` // when to hand over, for the model; "" names the strategy alone
	History     HandoffHistory `json:"history,omitempty"`     // what it is given of the conversation; "" means HistoryAll
}

// HandoffHistory selects what a successor is given of the conversation.
type HandoffHistory string

// What a successor is given.
const (
	HistoryAll  HandoffHistory = "all"  // the whole conversation, the call that hands over included
	HistoryGoal HandoffHistory = "goal" // the goal of this strategy, and the message of the call
	HistoryLast HandoffHistory = "last" // the last user message and what came after it
)

// tool returns the name of the tool.
func (h *Handoff) tool() string { return cmp.Or(h.Tool, "transfer_to_"+h.Strategy) }

// handoffParameters are the parameters of each tool.
var handoffParameters = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"what the one who takes over has to know"}}}`)

// definition returns the tool.
func (h *Handoff) definition() tools.Definition {
	return tools.Definition{
		Name:        h.tool(),
		Description: cmp.Or(h.Description, "Hands the conversation over to "+h.Strategy+", which goes on in your place."),
		Parameters:  handoffParameters,
		ReadOnly:    true,
	}
}

// checkHandoffs returns what is wrong with the handoffs of a Config.
func checkHandoffs(list []Handoff) error {
	var problems []error
	var named []string
	for i := range list {
		h := &list[i]
		problem := func(text string) {
			problems = append(problems, fmt.Errorf("completetask: Handoffs: number %d %s", i+1, text))
		}
		if h.Strategy == "" {
			problem("names no Strategy")
			continue
		}
		if name := h.tool(); !schemaName.MatchString(name) {
			problem(fmt.Sprintf(`needs a Tool: %.80q is not 1 to 64 of letters, digits, "_" and "-"`, name))
		}
		problems = append(problems, frame.OneOf("completetask", "Handoffs", &h.History, HistoryAll, HistoryGoal, HistoryLast))
		named = append(named, h.tool())
	}
	return errors.Join(append(problems, frame.Distinct("completetask", "Handoffs", named))...)
}

// goalToKeep returns the goal if a successor may be given it.
func (s *completeTask) goalToKeep() string {
	if slices.ContainsFunc(s.Handoffs, func(h Handoff) bool { return h.History == HistoryGoal }) {
		return s.goal
	}
	return ""
}

// addHandoffs adds the tools that hand over to those that are offered.
func (s *completeTask) addHandoffs() {
	if len(s.Handoffs) == 0 {
		return
	}
	s.Defs = slices.Clip(s.Defs)
	for i := range s.Handoffs {
		def := s.Handoffs[i].definition()
		taken := slices.ContainsFunc(s.Defs, func(d tools.Definition) bool { return d.Name == def.Name })
		if taken || def.Name == FinalTool && s.schema != nil {
			s.ToolsErr = errors.Join(s.ToolsErr, fmt.Errorf("completetask: Handoffs: there is another tool %q: give the handoff another Tool", def.Name))
		}
		s.Defs = append(s.Defs, def)
	}
}

// handoff returns the index of the first call that hands over, and to whom; -1 if there is none.
func (s *completeTask) handoff(calls []messages.ToolCall) (at int, to *Handoff) {
	for at, c := range calls {
		for i := range s.Handoffs {
			if s.Handoffs[i].tool() == c.Name {
				return at, &s.Handoffs[i]
			}
		}
	}
	return -1, nil
}

// handsOff reports whether one of the calls hands over.
func (s *completeTask) handsOff(calls []messages.ToolCall) bool {
	_, to := s.handoff(calls)
	return to != nil
}

// handOver ends by handing over, as the first such call says.
func (s *completeTask) handOver(calls []messages.ToolCall) nextstep.NextStep {
	at, to := s.handoff(calls)
	data := map[string]any{"Strategy": to.Strategy}
	for i, c := range calls {
		if i == at {
			s.History = append(s.History, messages.Tool{ToolOutput: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Status: messages.StatusOK, Output: s.prompt("HandedOver", data)}})
			continue
		}
		s.drop(c, "LeftBehind", data)
	}
	news := s.Untold()
	s.History = s.Told(s.History)
	return s.Then(handed, nextstep.Complete{Output: s.Reached(), Handoff: &nextstep.Handoff{
		Strategy: to.Strategy, Input: s.handedOver(to, calls[at], news),
	}})
}

// handedOver returns the input of a successor.
func (s *completeTask) handedOver(to *Handoff, call messages.ToolCall, news []string) delegation.Input {
	switch to.History {
	case HistoryGoal:
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal([]byte(call.Arguments), &said) // no message if this fails
		parts := slices.DeleteFunc(append([]string{s.goal, said.Message}, news...), func(text string) bool { return strings.TrimSpace(text) == "" })
		return delegation.Input{Goal: strings.Join(parts, "\n\n")}
	case HistoryLast:
		from := len(s.History) - len(news) - 1
		for from > 0 && s.History[from].Role() != messages.RoleUser {
			from--
		}
		return delegation.Input{Messages: slices.Clone(s.History[from:])}
	default:
		return delegation.Input{Messages: s.History.Clip()}
	}
}
