package strategytest_test

import (
	"slices"
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

const (
	ready, asking, acting, waiting, over, lost strategy.State = "ready", "asking", "acting", "waiting", "over", "lost"
)

var table = &strategy.Table{
	Name:    "sound",
	Initial: ready,
	States: []strategy.StateRule{
		{Name: ready},
		{Name: asking, Awaits: nextstep.KindGetChatCompletion},
		{Name: acting, Awaits: nextstep.KindExecuteTools},
		{Name: waiting, Awaits: nextstep.KindDelegate},
		{Name: over, Awaits: nextstep.KindComplete},
		{Name: lost, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{ready}, On: "start", To: asking},
		{From: []strategy.State{asking}, On: "call", To: acting},
		{From: []strategy.State{acting}, On: "hand_over", To: waiting},
		{From: []strategy.State{asking}, On: "answered", To: over},
		{From: []strategy.State{waiting}, On: "resumed", To: over},
		{From: []strategy.State{waiting}, On: "failed", To: lost},
	},
}

// sound asks once, runs the calls, delegates to a child, and ends. The fields make it go wrong.
type sound struct {
	strategy.Defaults
	fsm     *strategy.FSM
	history messages.History
	flaw    string
}

// counter is state that strategies must not share.
var counter int

func subject(flaw string) strategytest.Subject {
	shared := &sound{fsm: table.New(nil)}
	return strategytest.Subject{
		New: func() strategy.Strategy {
			if flaw == "shares itself" {
				return shared
			}
			return &sound{fsm: table.New(nil), flaw: flaw}
		},
		Tools:    []tools.Definition{{Name: "look"}},
		Children: []string{"child"},
	}
}

func (s *sound) FSM() *strategy.FSM { return s.fsm }

func (s *sound) Initialize(in delegation.Input) nextstep.NextStep {
	given, _ := in.Conversation("")
	if s.flaw == "ignores messages" {
		given = messages.History{messages.UserText(in.Goal)}
	}
	s.history = append(append(make(messages.History, 0, 16), given...), messages.UserText("Take"), messages.UserText("your time."))
	req := llmclient.Request{Messages: s.history.Clip(), Tools: []tools.Definition{{Name: "look"}}}
	if s.flaw == "shares a counter" {
		counter++
		req.MaxTokens = counter
	}
	return s.fsm.Then("start", nextstep.GetChatCompletion{Request: req})
}

func (s *sound) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.flaw == "panics" && r.Finish == llmclient.FinishLength {
		panic("oops")
	}
	if s.flaw == "takes anything" && s.fsm.State() == acting {
		return nextstep.Complete{}
	}
	calls := r.Message.Calls()
	if len(calls) == 0 {
		return s.end("answered")
	}
	if s.flaw == "changes a request" {
		s.history[0] = messages.UserText("rewritten")
	}
	if s.flaw == "trims in place" {
		s.history = slices.Delete(s.history, 1, 2)
	}
	return s.fsm.Then("call", nextstep.ExecuteTools{Calls: calls})
}

func (s *sound) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	if s.flaw == "leaves calls open" && len(r) > 0 {
		return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: append(s.history, messages.Assistant{
			Content: []messages.AssistantContent{messages.ToolCall{ID: "x", Name: "look"}},
		})}}
	}
	return s.fsm.Then("hand_over", nextstep.Delegate{Strategy: "child"})
}

func (s *sound) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	if s.flaw == "returns nothing" {
		return nil
	}
	if out.Err != nil {
		return s.fsm.Then("failed", nextstep.ReportError{Err: out.Err})
	}
	return s.end("resumed")
}

func (s *sound) end(on strategy.Trigger) nextstep.NextStep {
	return s.fsm.Then(on, nextstep.Complete{})
}

func TestConform_sound(t *testing.T) { strategytest.Conform(t, subject("")) }

func TestCheck_finds(t *testing.T) {
	for flaw, want := range map[string]string{
		"shares itself":     "its factory returned the same twice",
		"shares a counter":  "the same answers give the same steps: after []: the second time it asks for #1 model",
		"panics":            "after [#1 cut off text]: frame 0 of \"subject\": machine: frame 0: strategy \"subject\": ProcessAPIResponse failed: panicked with a string: oops",
		"takes anything":    "while execute_tools is open it took an answer to get_chat_completion",
		"changes a request": "a step does not change after it was returned: after [#1 unknown call]",
		"trims in place":    "a step does not change after it was returned: after [#1 unknown call]",
		"leaves calls open": "while get_chat_completion is open it took an answer to execute_tools",
		"ignores messages":  "given messages without a goal: its first request does not hold what the user said last",
		"returns nothing":   "while get_chat_completion is open it took an answer to delegate",
	} {
		t.Run(flaw, func(t *testing.T) {
			require.ErrorContains(t, strategytest.Check(subject(flaw)), want)
		})
	}
	require.ErrorContains(t, strategytest.Check(strategytest.Subject{}), "Subject.New is nil")
	require.ErrorContains(t, strategytest.Check(strategytest.Subject{New: func() strategy.Strategy { return nil }}), "the strategy cannot be started")
}
