package explore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// talker asks three times, and changes its second request.
type talker struct {
	strategy.Defaults
	change  func(r *llmclient.Request, turn int)
	anew    *string // of the second request
	turn    int
	history messages.History
	tools   []tools.Definition
}

func (s *talker) UseTools(defs []tools.Definition) { s.tools = defs }

func (s *talker) Initialize(in delegation.Input) nextstep.NextStep {
	s.history = messages.History{messages.System{Text: "Be brief."}, messages.UserText(in.Goal)}
	return s.ask()
}

func (s *talker) ask() nextstep.NextStep {
	s.turn++
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: s.history.Clip(), Tools: s.tools}}
	s.change(&step.Request, s.turn)
	if s.turn == 2 {
		step.Anew = s.anew
	}
	return step
}

func (s *talker) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if s.turn == 3 {
		return nextstep.Complete{Output: delegation.Output{Messages: s.history.Clip()}}
	}
	s.history = append(s.history, messages.AssistantText("so: "+resp.Message.Text()), messages.UserText("And?"))
	return s.ask()
}

func (s *talker) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return nextstep.ReportError{}
}

func TestRun_prefix(t *testing.T) {
	two := []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay"}}
	only := func(f func(r *llmclient.Request)) func(*llmclient.Request, int) {
		return func(r *llmclient.Request, turn int) {
			if turn > 1 {
				f(r)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*llmclient.Request, int)
		why    string
	}{
		"the same request again": {func(r *llmclient.Request, _ int) { r.Messages = r.Messages[:2] }, ""},
		"messages of equal text": {func(r *llmclient.Request, _ int) {
			r.Messages = append(messages.History{messages.System{Text: "Be brief."}, messages.UserText("a task")}, r.Messages[2:]...)
		}, ""},
		"another system prompt": {only(func(r *llmclient.Request) {
			r.Messages = append(messages.History{messages.System{Text: "Be very brief."}}, r.Messages[1:]...)
		}), "message 1 of 4 is not as in the earlier one"},
		"a date in the system prompt": {func(r *llmclient.Request, turn int) {
			r.Messages = append(messages.History{messages.System{Text: fmt.Sprintf("It is the %d.", turn)}}, r.Messages[1:]...)
		}, "message 1 of 4 is not as in the earlier one"},
		"a dropped message":    {only(func(r *llmclient.Request) { r.Messages = r.Messages[1:] }), "message 1 of 3 is not as in the earlier one"},
		"a prompt for one use": {func(r *llmclient.Request, _ int) { r.Messages = append(r.Messages, messages.UserText("Go on.")) }, "message 3 of 5 is not"},
		"fewer messages":       {only(func(r *llmclient.Request) { r.Messages = r.Messages[:1] }), "it has 1 messages, and the earlier one 2"},
		"reordered tools": {only(func(r *llmclient.Request) {
			r.Tools = []tools.Definition{r.Tools[1], r.Tools[0]}
		}), `it offers the tools ["pay" "look"], and the earlier one ["look" "pay"]`},
		"another description": {only(func(r *llmclient.Request) {
			r.Tools = []tools.Definition{two[0], {Name: "pay", Description: "pays"}}
		}), "described otherwise"},
		"no tools":       {only(func(r *llmclient.Request) { r.Tools = nil }), `it offers the tools []`},
		"another schema": {only(func(r *llmclient.Request) { r.Schema = &llmclient.Schema{Name: "answer"} }), "another schema"},
		"tools in the text": {func(r *llmclient.Request, turn int) {
			if r.ToolFormat = llmclient.ToolsText; turn > 1 {
				r.Tools = nil
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(anew *string) []explore.Violation {
				r, err := explore.Run(func() strategy.Strategy {
					return &talker{change: c.change, anew: anew}
				}, explore.Options{Tools: append([]tools.Definition(nil), two...), Depth: 1})
				require.NoError(t, err)
				return r.Violations
			}
			require.Empty(t, run(new("it was cut")), "it is declared")
			found := run(nil)
			if c.why == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, "within a frame a request extends the last one, or declares that it does not", found[0].Law)
			require.Contains(t, found[0].Problem, c.why)
			require.Len(t, found[0].Path, 1)
		})
	}
}
