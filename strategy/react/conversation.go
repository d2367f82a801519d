package react

import (
	"fmt"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// equip tells the policy the tools.
func (s *react) equip() {
	if t, ok := s.policy.(markdownpolicy.Tooled); ok {
		if p, ok := t.WithTools(s.Search.Callable()).(Policy); ok {
			s.policy = p
		}
	}
}

// idsIn returns the ids of the calls in a conversation.
func idsIn(h messages.History) map[string]bool {
	ids := map[string]bool{}
	for _, m := range h {
		if a, ok := m.(messages.Assistant); ok {
			for _, c := range a.Calls() {
				ids[c.ID] = true
			}
		}
	}
	return ids
}

// openText renders the conversation so far as text, with the policy's instructions in the system
// prompt.
func (s *react) openText() error {
	text, err := s.policy.FormatQuery(s.History.Clip())
	if err != nil {
		return fmt.Errorf("react: the conversation cannot be put into text: %w", err)
	}
	s.text = text
	instructions := s.policy.FormatInstructions(s.Search.Offered())
	if instructions == "" {
		return nil
	}
	if len(text) == 0 || text[0].Role() != messages.RoleSystem {
		s.text = append(messages.History{messages.System{Text: instructions}}, text...)
		return nil
	}
	system := text[0].(messages.System)
	if strings.Contains(system.Text, instructions) {
		return nil
	}
	system.Text += "\n\n" + instructions
	s.text = append(messages.History{system}, text[1:]...)
	return nil
}

// newID returns an id that no call of the conversation has.
func (s *react) newID() string {
	for {
		s.call++
		if id := fmt.Sprintf("call_%d", s.call); !s.ids[id] {
			return id
		}
	}
}

// observe shows the model the result of the action in a turn.
func (s *react) observe(turn messages.Assistant, out messages.ToolOutput) error {
	_, observation, err := s.written(turn, out)
	if err == nil {
		s.text = append(s.text, observation)
	}
	return err
}

// written returns an acting turn and the result of its action, in the policy's format.
func (s *react) written(turn messages.Assistant, out messages.ToolOutput) (said string, observation messages.User, err error) {
	for _, c := range turn.Calls() { // exactly one
		out.CallID, out.ToolName = c.ID, c.Name
	}
	text, err := s.policy.FormatQuery(messages.History{turn, messages.Tool{ToolOutput: out}})
	if err != nil {
		return "", observation, fmt.Errorf("react: an action cannot be put into text: %w", err)
	}
	if len(text) == 2 {
		a, isTurn := text[0].(messages.Assistant)
		u, isResult := text[1].(messages.User)
		if isTurn && isResult {
			return a.Text(), u, nil
		}
	}
	return "", observation, fmt.Errorf("react: the policy %T does not write an action as one reply and one message after it", s.policy)
}

// say adds a prompt to the conversation.
func (s *react) say(prompt string, data PromptData) error {
	text, err := s.prompt(prompt, data)
	if err == nil {
		s.text = append(s.text, messages.UserText(text))
		s.aside++
	}
	return err
}

// prompt fills in a template.
func (s *react) prompt(name string, data PromptData) (string, error) {
	data.Steps, data.MaxSteps = s.steps, s.MaxSteps
	for _, d := range s.Search.Offered() {
		data.Known = append(data.Known, d.Name)
	}
	return s.Texts.Fill(name, data)
}
