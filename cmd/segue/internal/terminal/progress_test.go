package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

func TestDescribe(t *testing.T) {
	const model, exec = nextstep.KindGetChatCompletion, nextstep.KindExecuteTools
	used := messages.Usage{Input: 12, Output: 5, Total: 17}
	said := heard{text: "I look.\nNow.", thought: "Hm."}
	read := messages.ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path":"a"}`}
	got := func(status messages.Status, reason, output string) orchestrator.ToolFinished {
		return orchestrator.ToolFinished{Output: messages.ToolOutput{CallID: "c1", ToolName: "read_file", Status: status, Reason: reason, Output: output}}
	}
	slow := got(messages.StatusUnknown, "timeout", "too slow")
	slow.Output.Elapsed = 61_040 * time.Millisecond
	broken := &delegation.Error{Code: "unavailable", Message: "llmclient: unavailable:\nno route"}

	for name, tt := range map[string]struct {
		event   orchestrator.Event
		said    heard
		terse   []note
		verbose []note // nil: as terse
	}{
		"run": {
			event: at("0", 0, "", orchestrator.RunStarted{Strategy: "s", Goal: "g"}),
			terse: []note{{dim, "run r"}},
		},
		"root": {
			event: at("0", 0, "", orchestrator.FrameEntered{Strategy: "complete-task", Goal: "Look\nat it"}),
			terse: []note{{bold, "[0] complete-task: Look at it"}},
		},
		"root without a goal": {
			event: at("0", 0, "", orchestrator.FrameEntered{Strategy: "complete-task"}),
			terse: []note{{bold, "[0] complete-task"}},
		},
		"long goal": {
			event:   at("0", 0, "", orchestrator.FrameEntered{Strategy: "s", Goal: strings.Repeat("x", 200)}),
			terse:   []note{{bold, "[0] s: " + strings.Repeat("x", 117) + "..."}},
			verbose: []note{{bold, "[0] s: " + strings.Repeat("x", 200)}},
		},
		"goal with results": {
			event:   at("0.1.2", 4, "", orchestrator.FrameEntered{Strategy: "s", Goal: "Part\nof it\n\nResults:\n- one"}),
			terse:   []note{{bold, "    [0.1.2 #4] s: Part of it (+2 lines)"}},
			verbose: []note{{bold, "    [0.1.2 #4] s: Part of it Results: - one"}},
		},
		"child": {
			event: at("0.1", 4, "", orchestrator.FrameEntered{Strategy: "complete-task", Goal: "Part"}),
			terse: []note{{bold, "  [0.1 #4] complete-task: Part"}},
		},
		"state": {
			event:   at("0", 1, "", orchestrator.StateChanged{From: "ready", To: "awaiting_model"}),
			verbose: []note{{dim, "[0 #1] ready -> awaiting_model"}},
		},
		"state of a plan": {
			event:   at("0.1", 3, "", orchestrator.StateChanged{From: "submitting_plan", To: "evaluating_plan"}),
			terse:   []note{{dim, "  [0.1 #3] -> evaluating_plan"}},
			verbose: []note{{dim, "  [0.1 #3] submitting_plan -> evaluating_plan"}},
		},
		"delta": {
			event: at("0", 1, "piece", nil),
			said:  said,
		},
		"calls": {
			event: at("0", 1, "", orchestrator.StepTaken{Kind: model, Model: "m", Usage: used, Calls: 2, Elapsed: 1234 * time.Millisecond}),
			said:  said,
			terse: []note{
				{plain, "[0 #1] model m: 2 calls, 12 tokens in, 5 out, 1.2s"},
				{plain, "[0 #1] says: I look. Now."},
			},
			verbose: []note{
				{plain, "[0 #1] model m: 2 calls, 12 tokens in, 5 out, 1.2s"},
				{dim, "[0 #1] thinks: Hm."},
				{plain, "[0 #1] says: I look. Now."},
			},
		},
		"answer": {
			event:   at("0", 1, "", orchestrator.StepTaken{Kind: model, Elapsed: 99 * time.Millisecond}),
			said:    heard{text: "42"},
			terse:   []note{{plain, "[0 #1] model: an answer"}},
			verbose: []note{{plain, "[0 #1] model: an answer"}, {plain, "[0 #1] says: 42"}},
		},
		"failed step": {
			event: at("0", 1, "", orchestrator.StepTaken{Kind: model, Err: broken}),
			said:  said,
			terse: []note{{bad, "[0 #1] model failed (unavailable): llmclient: unavailable: no route"}},
		},
		"tools": {
			event:   at("0", 2, "", orchestrator.StepTaken{Kind: exec, Calls: 1, Elapsed: 2 * time.Second}),
			verbose: []note{{dim, "[0 #2] tools: 1 call, 2s"}},
		},
		"remote": {
			event: at("0", 2, "", orchestrator.StepTaken{Kind: nextstep.KindDelegate, Err: broken}),
			terse: []note{{bad, "[0 #2] delegate failed (unavailable): llmclient: unavailable: no route"}},
		},
		"call": {
			event:   at("0", 2, "", orchestrator.ToolStarted{Call: read}),
			terse:   []note{{plain, `[0 #2] read_file {"path":"a"}`}},
			verbose: []note{{plain, `[0 #2] read_file c1 {"path":"a"}`}},
		},
		"call with odd arguments": {
			event:   at("0", 2, "", orchestrator.ToolStarted{Call: messages.ToolCall{ID: "c\x1b[2J1", Name: "t", Arguments: "{\x1b]0;x\a\u202e\n}"}}),
			terse:   []note{{plain, "[0 #2] t { ]0;x }"}},
			verbose: []note{{plain, "[0 #2] t c [2J1 { ]0;x }"}},
		},
		"tool says": {
			event:   at("0", 2, "half\nway", orchestrator.ToolProgress{CallID: "c1", ToolName: "read_file"}),
			terse:   []note{{dim, "[0 #2] read_file: half way"}},
			verbose: []note{{dim, "[0 #2] read_file c1: half way"}},
		},
		"result": {
			event: at("0", 2, "", got(messages.StatusOK, "", "# Notes\n\n- \x1b[31mone\r\n")),
			terse: []note{{dim, "[0 #2] read_file ok: # Notes (+2 lines)"}},
			verbose: []note{
				{dim, "[0 #2] read_file c1 ok"},
				{dim, "    # Notes"},
				{dim, "    - [31mone"},
			},
		},
		"result in a child": {
			event:   at("0.1", 2, "", got(messages.StatusOK, "", "one\ntwo")),
			terse:   []note{{dim, "  [0.1 #2] read_file ok: one (+1 line)"}},
			verbose: []note{{dim, "  [0.1 #2] read_file c1 ok"}, {dim, "      one"}, {dim, "      two"}},
		},
		"empty result": {
			event:   at("0", 2, "", got("", "", "")),
			terse:   []note{{dim, "[0 #2] read_file ok"}},
			verbose: []note{{dim, "[0 #2] read_file c1 ok"}},
		},
		"failed result": {
			event:   at("0", 2, "", got(messages.StatusFailed, "arguments", "wrong arguments:\n- missing \"path\"")),
			terse:   []note{{bad, `[0 #2] read_file failed (arguments): wrong arguments: - missing "path"`}},
			verbose: []note{{bad, "[0 #2] read_file c1 failed (arguments)"}, {dim, "    wrong arguments:"}, {dim, `    - missing "path"`}},
		},
		"unknown result": {
			event:   at("0", 2, "", slow),
			terse:   []note{{bad, "[0 #2] read_file unknown (timeout) 1m1s: too slow"}},
			verbose: []note{{bad, "[0 #2] read_file c1 unknown (timeout) 1m1s"}, {dim, "    too slow"}},
		},
		"result of a call to an odd name": {
			event: at("0", 2, "", orchestrator.ToolFinished{Output: messages.ToolOutput{ToolName: "x\x1b[2J\ny", Status: messages.StatusFailed, Reason: "not_offered"}}),
			terse: []note{{bad, "[0 #2] x [2J y failed (not_offered)"}},
		},
		"retry": {
			event: at("0", 1, "", orchestrator.RetryWaiting{Kind: llmclient.NoticeRetry, Model: "m", Attempt: 1, Wait: 1500 * time.Millisecond, Error: "llmclient: rate_limited"}),
			terse: []note{{warn, "[0 #1] retry after attempt 1 in 1.5s: llmclient: rate_limited"}},
		},
		"held back": {
			event: at("0", 1, "", orchestrator.RetryWaiting{Kind: llmclient.NoticeRateLimit, Wait: time.Second}),
			terse: []note{{warn, "[0 #1] rate limit in 1s"}},
		},
		"wait": {
			event: at("0.1", 2, "", orchestrator.WaitStarted{Wait: orchestrator.Wait{Frame: "0.1", Seq: 2, Kind: "approval", Tool: "t", Arguments: "{}"}}),
			terse: []note{{warn, "  [0.1 #2] waits for approval: t {}"}},
		},
		"wait for what is known": {
			event: at("0.1", 2, "", orchestrator.WaitStarted{Wait: orchestrator.Wait{Frame: "0.1", Seq: 2, Kind: "unknown", Tool: "t", Arguments: "{}"}}),
			terse: []note{{warn, "  [0.1 #2] waits for what is known of a call that was cut off: t {}"}},
		},
		"note": {
			event: at("0", 2, "", orchestrator.Noting{Text: "it\nrains"}),
			terse: []note{{plain, "note: it rains"}},
		},
		"drift": {
			event: at("0.1", 2, "", orchestrator.Drifted{What: "step 2 is not asked for in the same words"}),
			terse: []note{{warn, "  [0.1 #2] not as it was recorded: step 2 is not asked for in the same words"}},
		},
		"wait is over": {
			event: at("0.1", 2, "", orchestrator.WaitEnded{WaitID: "w"}),
			terse: []note{{dim, "  [0.1 #2] waits no more"}},
		},
		"approved": {
			event: at("0", 2, "", orchestrator.WaitEnded{Reply: &orchestrator.Reply{Approve: true}}),
			terse: []note{{good, "[0 #2] approved"}},
		},
		"answered": {
			event: at("0", 2, "", orchestrator.WaitEnded{Reply: &orchestrator.Reply{Text: "the\nfirst"}}),
			terse: []note{{plain, `[0 #2] answered: the\nfirst`}},
		},
		"refused": {
			event: at("0", 2, "", orchestrator.WaitEnded{Reply: &orchestrator.Reply{}}),
			terse: []note{{warn, "[0 #2] refused"}},
		},
		"refused, and why": {
			event: at("0", 2, "", orchestrator.WaitEnded{Reply: &orchestrator.Reply{Reason: "too much"}}),
			terse: []note{{warn, "[0 #2] refused: too much"}},
		},
		"run goes on": {
			event: at("0", 2, "", orchestrator.RunResumed{}),
			terse: []note{{dim, "run r goes on"}},
		},
		"done": {
			event: at("0", 3, "", orchestrator.FrameLeft{Strategy: "complete-task", Usage: used, Elapsed: time.Minute}),
			terse: []note{{good, "[0 #3] complete-task done: 12 tokens in, 5 out, 1m0s"}},
		},
		"root failed": {
			event: at("0", 3, "", orchestrator.FrameLeft{Strategy: "complete-task", Err: broken}),
			terse: []note{{bad, "[0 #3] complete-task failed (unavailable)"}},
		},
		"child failed": {
			event: at("0.1", 3, "", orchestrator.FrameLeft{Strategy: "complete-task", Err: broken}),
			terse: []note{{bad, "  [0.1 #3] complete-task failed (unavailable): llmclient: unavailable: no route"}},
		},
		"child done": {
			event: at("0.1", 3, "", orchestrator.FrameLeft{Strategy: "s", Result: new("It is\nso."), Usage: used}),
			terse: []note{{plain, "  [0.1 #3] result: It is so."}, {good, "  [0.1 #3] s done: 12 tokens in, 5 out"}},
		},
		"child failed, with a part of a result": {
			event: at("0.1", 3, "", orchestrator.FrameLeft{Strategy: "s", Result: new("It"), Err: broken}),
			terse: []note{{plain, "  [0.1 #3] result: It"}, {bad, "  [0.1 #3] s failed (unavailable): llmclient: unavailable: no route"}},
		},
		"root done": {
			event: at("0", 3, "", orchestrator.FrameLeft{Strategy: "s", Result: new("It is so.")}),
			terse: []note{{good, "[0 #3] s done"}},
		},
		"run done":    {event: at("0", 3, "", orchestrator.RunFinished{Status: orchestrator.StatusDone}), terse: []note{{good, "run r done"}}},
		"run waiting": {event: at("0", 3, "", orchestrator.RunFinished{Status: orchestrator.StatusWaiting}), terse: []note{{warn, "run r waiting"}}},
		"run limit":   {event: at("0", 3, "", orchestrator.RunFinished{Status: orchestrator.StatusLimit}), terse: []note{{bad, "run r limit"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.terse, describe(tt.event, tt.said, false))
			if tt.verbose == nil {
				tt.verbose = tt.terse
			}
			require.Equal(t, tt.verbose, describe(tt.event, tt.said, true))
		})
	}
}

func TestStatus(t *testing.T) {
	text := orchestrator.Event{Frame: "0", Seq: 1, Kind: orchestrator.EventTextDelta}
	thought := orchestrator.Event{Frame: "0", Seq: 1, Kind: orchestrator.EventThoughtDelta}
	for name, tt := range map[string]struct {
		event orchestrator.Event
		said  heard
		want  string
	}{
		"awaits":        {event: at("0", 1, "", orchestrator.StateChanged{To: "awaiting_model"}), want: "[0 #1] awaiting model..."},
		"text":          {event: text, said: heard{text: "one\ntwo"}, want: "[0 #1] one two"},
		"thought":       {event: thought, said: heard{text: "one", thought: "two"}, want: "[0 #1] two"},
		"end of a long": {event: text, said: heard{text: "0123456789 the end"}, want: "[0 #1] 3456789 the end"},
		"wide":          {event: text, said: heard{text: strings.Repeat("日本語", 50)}, want: "[0 #1] 語日本語日本語"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := status(tt.event, tt.said, 22)
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
	_, ok := status(at("0", 1, "", orchestrator.StepTaken{}), heard{}, 22)
	require.False(t, ok)
}
