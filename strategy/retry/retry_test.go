package retry_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/retry"
)

var goal = delegation.Input{Goal: "Do it."}

func start(cfg retry.Config, in delegation.Input) (strategy.Strategy, nextstep.NextStep) {
	s := retry.New(cfg)()
	return s, s.Initialize(in)
}

func good(text string) delegation.Output {
	return delegation.Output{Result: &text, Messages: messages.History{messages.UserText("q"), messages.AssistantText(text)}}
}

func bad(code delegation.Code, message string) delegation.Output {
	return delegation.Output{Err: &delegation.Error{Code: code, Message: message}, Usage: messages.Usage{Input: 7}}
}

func attempts(t *testing.T, out delegation.Output) []retry.Attempt {
	t.Helper()
	var list []retry.Attempt
	found, err := out.Metadata.Decode("attempts", &list)
	require.True(t, found)
	require.NoError(t, err)
	return list
}

func TestS1_28_promptNamesTheFailure(t *testing.T) {
	in := delegation.Input{Goal: "Do it.", Messages: messages.History{messages.UserText("hello")}, Data: json.RawMessage(`{"n":1}`)}
	limits := delegation.Limits{Steps: 5}
	s, step := start(retry.Config{Strategy: "work", Tools: []string{"look"}, Limits: limits}, in)
	require.Equal(t, nextstep.Delegate{Strategy: "work", Input: in, Tools: []string{"look"}, Limits: limits}, step)
	again := s.ProcessDelegationResult(bad(delegation.CodeFailed, "the door is locked")).(nextstep.Delegate)
	require.True(t, strings.HasPrefix(again.Input.Goal, "Do it.\n"))
	require.Contains(t, again.Input.Goal, "the door is locked")
	in.Goal = again.Input.Goal
	require.Equal(t, nextstep.Delegate{Strategy: "work", Input: in, Tools: []string{"look"}, Limits: limits}, again, "all else is as it was")
}

// A run that is stopped during the second attempt has the output of the first, and makes no further
// attempt.
func TestS1_28_stopBetweenAttempts(t *testing.T) {
	partial := good("half of it")
	partial.Err = &delegation.Error{Code: delegation.CodeFailed, Message: "Some error"}
	partial.Counts.Steps = 1 // a child that reports nothing counts with all its limits
	m := machine.New(&machine.Config{
		Strategies: strategy.Set{"r": retry.New(retry.Config{Strategy: "elsewhere"})}, Remote: []string{"elsewhere"},
	})
	apply := func(r machine.Record) {
		require.NoError(t, m.Apply(r))
		for _, intent := range slices.Clone(m.Ready().Intents) {
			require.NoError(t, m.Apply(intent))
		}
	}
	apply(machine.Started{Run: "run", Input: goal})
	first := m.Open()[0]
	apply(first.Answered(nextstep.DelegationResult{Output: partial}, time.Time{}, 0))
	second := m.Open()[0]
	require.Equal(t, machine.EffectRemote, second.Kind)
	require.NoError(t, m.Apply(machine.Stopped{Reason: "enough", Now: true}))
	require.NoError(t, m.Apply(second.Answered(nextstep.Failure{Code: delegation.CodeStopped}, time.Time{}, 0)))
	require.True(t, m.Done())
	out := m.Output()
	require.Equal(t, delegation.CodeStopped, out.Err.Code)
	require.Equal(t, "half of it", out.Text())
	require.Equal(t, []string{"half of it"}, out.Texts())
	require.Len(t, attempts(t, out), 1)
}

// A failure that another attempt cannot correct is returned unchanged; a failure of the work itself
// is tried again.
func TestS1_28_final(t *testing.T) {
	for code, final := range map[delegation.Code]bool{
		delegation.CodeFailed:    false,
		delegation.CodeInvalid:   false,
		delegation.CodeTruncated: false,
		"of its own":             false,
		"":                       false,
		delegation.CodeLimit:     true,
		delegation.CodeStopped:   true,
		delegation.CodeUnknown:   true,
		delegation.CodePanic:     true,
		delegation.CodeDefect:    true,
		delegation.CodeStorage:   true,

		delegation.Code(llmclient.CodeMalformedToolCall): false,
		delegation.Code(llmclient.CodeRateLimited):       true,
		delegation.Code(llmclient.CodeUnavailable):       true,
		delegation.Code(llmclient.CodeTimeout):           true,
		delegation.Code(llmclient.CodeContextLength):     true,
		delegation.Code(llmclient.CodeAuth):              true,
		delegation.Code(llmclient.CodeQuota):             true,
		delegation.Code(llmclient.CodeNotFound):          true,
		delegation.Code(llmclient.CodeBadRequest):        true,
		delegation.Code(llmclient.CodeContentFilter):     true,
		delegation.Code(llmclient.CodeBadResponse):       true,
		delegation.Code(llmclient.CodeCanceled):          true,
	} {
		require.Equal(t, final, retry.Final(code), "%q", code)
		asked := false
		s, _ := start(retry.Config{Detect: func(delegation.Output) (bool, string) { asked = true; return true, "so" }}, goal)
		out := bad(code, "Some error")
		step := s.ProcessDelegationResult(out)
		require.Equal(t, !final, asked, "%q", code)
		if final {
			require.Same(t, out.Err, step.(nextstep.ReportError).Err)
		} else {
			require.IsType(t, nextstep.Delegate{}, step)
		}
	}
}

// An attempt that succeeds without a result has none, whatever failed ones returned; with an error
// the latest result is returned.
func TestResult(t *testing.T) {
	long := retry.Config{MaxRetries: 1, Detect: func(out delegation.Output) (bool, string) { return out.Err != nil || out.Text() == "no", "" }}
	s, _ := start(long, goal)
	s.ProcessDelegationResult(good("no"))
	require.Nil(t, s.ProcessDelegationResult(delegation.Output{}).(nextstep.Complete).Output.Result)

	s, _ = start(long, goal)
	no := good("no")
	no.Data = json.RawMessage(`1`)
	again := s.ProcessDelegationResult(no).(nextstep.Delegate)
	require.Contains(t, again.Input.Goal, "not good enough")
	failed := s.ProcessDelegationResult(bad(delegation.CodeFailed, "Some error")).(nextstep.ReportError)
	require.EqualError(t, failed.Err, "Some error")
	require.Equal(t, "no", failed.Output.Text())
	require.JSONEq(t, `1`, string(failed.Output.Data))
}

// An error that Detect does not count as a failure is not tried again, and stays an error.
func TestDetect_errorThatIsNone(t *testing.T) {
	s, _ := start(retry.Config{Detect: func(delegation.Output) (bool, string) { return false, "" }}, goal)
	require.EqualError(t, s.ProcessDelegationResult(bad(delegation.CodeFailed, "Some error")).(nextstep.ReportError).Err, "Some error")
}

func TestDetect_panics(t *testing.T) {
	s, _ := start(retry.Config{Detect: func(delegation.Output) (bool, string) { panic("a secret") }}, goal)
	step := s.ProcessDelegationResult(good("fine")).(nextstep.ReportError)
	require.EqualError(t, step.Err, "retry: Detect panicked with a string")
	require.Equal(t, delegation.CodePanic, delegation.AsError(step.Err).Code)
	require.Equal(t, "fine", step.Output.Text())
}

// A tool that may have had its effect is not a reason to repeat it.
func TestStrict_unknownIsNoFailure(t *testing.T) {
	out := good("fine")
	out.Messages = append(out.Messages, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "pay", Status: messages.StatusUnknown}})
	s, _ := start(retry.Config{Detector: retry.DetectStrict}, goal)
	require.IsType(t, nextstep.Complete{}, s.ProcessDelegationResult(out))
	out.Messages = append(out.Messages, messages.Tool{ToolOutput: messages.ToolOutput{CallID: "2", ToolName: "pay", Status: messages.StatusFailed, Output: "no money"}})
	s, _ = start(retry.Config{Detector: retry.DetectStrict}, goal)
	require.Contains(t, s.ProcessDelegationResult(out).(nextstep.Delegate).Input.Goal, `the tool "pay" failed: no money`)
}

// A long failure is cut in the prompt, at a character boundary, and kept whole in the error.
func TestLongFailure(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	s, _ := start(retry.Config{MaxRetries: 1}, goal)
	again := s.ProcessDelegationResult(bad(delegation.CodeFailed, "x"+long)).(nextstep.Delegate)
	require.Less(t, len(again.Input.Goal), 4096+200)
	require.True(t, utf8.ValidString(again.Input.Goal))
	require.Contains(t, again.Input.Goal, "[cut off here")
	require.EqualError(t, s.ProcessDelegationResult(bad(delegation.CodeFailed, long)).(nextstep.ReportError).Err, long)
}

// An attempt made elsewhere may have metadata that is not JSON; the attempts are still listed.
func TestBrokenMetadata(t *testing.T) {
	out := bad(delegation.CodeFailed, "Some error")
	out.Metadata = delegation.Metadata{"x": json.RawMessage(`{`)}
	s, _ := start(retry.Config{}, goal)
	s.ProcessDelegationResult(out)
	require.Len(t, attempts(t, s.ProcessDelegationResult(good("fine")).(nextstep.Complete).Output), 2)
}

func TestConfig_Check(t *testing.T) {
	for want, cfg := range map[string]retry.Config{
		`retry: Detector: "x" is not one of`:        {Detector: "x"},
		`retry: Detector and Detect are both set`:   {Detector: retry.DetectStrict, Detect: func(delegation.Output) (bool, string) { return false, "" }},
		`retry: OnEmpty: "x" is not one of`:         {OnEmpty: "x"},
		`retry: OnEmpty and Detect are both set`:    {OnEmpty: retry.EmptyFail, Detect: func(delegation.Output) (bool, string) { return false, "" }},
		`retry: Tools: names ["a"] more than once`:  {Tools: []string{"a", "a"}},
		`retry: Prompts: template: Retry:1:2: exec`: {Prompts: retry.Prompts{Retry: "{{.Nothing}}"}},
	} {
		s, step := start(cfg, goal)
		require.ErrorContains(t, s.(strategy.Checker).Check(), want)
		require.ErrorContains(t, step.(nextstep.ReportError).Err, want, "and without a check it cannot be started")
	}
	_, step := start(retry.Config{}, delegation.Input{})
	require.ErrorContains(t, step.(nextstep.ReportError).Err, "nothing to do")
}

func TestPrompts(t *testing.T) {
	s, _ := start(retry.Config{
		Detect:  func(out delegation.Output) (bool, string) { return true, out.Text() + " is wrong" },
		Prompts: retry.Prompts{Retry: "{{.Attempt}}/{{.MaxAttempts}} {{.Goal}} {{.Failure}}; it was {{.Result}}{{if eq .Attempt 3}}{{index .Goal 99}}{{end}}"},
	}, goal)
	require.Equal(t, "2/3 Do it. five is wrong; it was five", s.ProcessDelegationResult(good("five")).(nextstep.Delegate).Input.Goal)
	broken := s.ProcessDelegationResult(good("six")).(nextstep.ReportError)
	require.ErrorContains(t, broken.Err, "retry: prompt Retry")
	require.Equal(t, "six", broken.Output.Text())

	prompts := retry.Prompts{Retry: "{{.Failure}}", ToolFailed: "{{.Tool}} said {{.Result}}", NoReason: "who knows", CutFailure: "[more]"}
	out := good("five")
	out.Messages = append(out.Messages,
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "look"}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c", ToolName: "look", Status: messages.StatusFailed, Output: "dark"}})
	s, _ = start(retry.Config{Detector: retry.DetectStrict, Prompts: prompts}, goal)
	require.Equal(t, "look said dark", s.ProcessDelegationResult(out).(nextstep.Delegate).Input.Goal)
	require.True(t, strings.HasSuffix(s.ProcessDelegationResult(bad(delegation.CodeFailed, strings.Repeat("x", 5000))).(nextstep.Delegate).Input.Goal, "x\n[more]"))
	s, _ = start(retry.Config{Detect: func(delegation.Output) (bool, string) { return true, "" }, Prompts: prompts}, goal)
	require.Equal(t, "who knows", s.ProcessDelegationResult(good("five")).(nextstep.Delegate).Input.Goal)
}

// An attempt with an unknown strategy is not repeated, at whatever depth the strategy is missing.
func TestNotTriedAgain_unknownStrategy(t *testing.T) {
	delegates := func() strategy.Strategy { return delegator{} }
	for name, attempt := range map[string]func() strategy.Strategy{"missing itself": nil, "missing below": delegates} {
		strategies := strategy.Set{"retry": retry.New(retry.Config{Strategy: "tried"})}
		if attempt != nil {
			strategies["tried"] = attempt
		}
		m := machine.New(&machine.Config{Strategies: strategies})
		require.NoError(t, m.Apply(machine.Started{Run: "r", Strategy: "retry", Input: goal}), name)
		require.True(t, m.Done(), name)
		require.ErrorContains(t, m.Output().Err, "no strategy", name)
		require.LessOrEqual(t, m.Output().Counts.Steps, 2, "%s: nothing is tried twice", name)
	}
}

// delegator delegates to an unknown strategy.
type delegator struct{ strategy.Defaults }

func (delegator) Initialize(delegation.Input) nextstep.NextStep {
	return nextstep.Delegate{Strategy: "nobody"}
}
