package strategytest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// forgetful asks twice. Between both requests it changes what it remembers.
type forgetful struct {
	strategy.Defaults
	change  func(s *forgetful)
	anew    *string // of the second request
	asked   bool
	history messages.History
	tools   []tools.Definition
}

func (s *forgetful) UseTools(defs []tools.Definition) { s.tools = defs }

func (s *forgetful) Initialize(in delegation.Input) nextstep.NextStep {
	s.history, _ = in.Conversation("Be brief.")
	return s.ask()
}

func (s *forgetful) ask() nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: s.history.Clip(), Tools: s.tools}}
}

func (s *forgetful) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if s.asked || s.history == nil {
		return nextstep.ReportError{Output: delegation.Output{Messages: s.history.Clip()}}
	}
	s.asked = true
	s.history = append(s.history, messages.AssistantText("so: "+resp.Message.Text()), messages.UserText("And?"))
	s.change(s)
	step := s.ask()
	step.Anew = s.anew
	return step
}

func (s *forgetful) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return nextstep.ReportError{}
}

// A request that does not begin with the last one costs up to ten times more, so it must be meant.
func TestCheck_prefix(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *forgetful)
		why    string
	}{
		"nothing": {func(*forgetful) {}, ""},
		"another first message": {func(s *forgetful) {
			s.history = append(messages.History{messages.System{Text: "Be very brief."}}, s.history[1:]...)
		}, "message 1 of 4 is not as in the earlier one"},
		"a dropped message": {func(s *forgetful) {
			s.history = append(messages.History(nil), s.history[1:]...)
		}, "message 1 of 3 is not as in the earlier one"},
		"reordered tools": {func(s *forgetful) {
			s.tools = []tools.Definition{s.tools[1], s.tools[0]}
		}, `it offers the tools ["pay" "look"], and the earlier one ["look" "pay"]`},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(anew *string) error {
				return strategytest.Check(strategytest.Subject{
					New: func() strategy.Strategy { return &forgetful{change: c.change, anew: anew} }, Steps: 1,
					Tools: []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay"}},
				})
			}
			require.NoError(t, check(new("the conversation was cut")))
			err := check(nil)
			if c.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "request #2 of frame 0 does not begin with the last one, and its Anew is nil: "+c.why)
		})
	}
}
