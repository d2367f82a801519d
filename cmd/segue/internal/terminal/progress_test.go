package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

func TestDescribe(t *testing.T) {
	const model, exec = nextstep.KindGetChatCompletion, nextstep.KindExecuteTools
	used := messages.Usage{Input: 12, Output: 5, Total: 17}
	said := partialReply{text: "I look.\nNow.", thought: "Hm."}
	read := messages.ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path":"a"}`}
	got := func(status messages.Status, reason, output string) machine.ToolFinished {
		return machine.ToolFinished{Output: messages.ToolOutput{CallID: "c1", ToolName: "read_file", Status: status, Reason: reason, Output: output}}
	}
	slow := got(messages.StatusUnknown, "timeout", "too slow")
	slow.Output.Elapsed = 61_040 * time.Millisecond
	broken := &delegation.Error{Code: "unavailable", Message: "llmclient: unavailable:\nno route"}

	for name, tt := range map[string]struct {
		event   machine.Event
		said    partialReply
		terse   []Line
		verbose []Line // nil: as terse
	}{
		"run": {
			event: terminaltest.Event("0", 0, "", machine.RunStarted{Strategy: "s", Goal: "g"}),
			terse: []Line{{Dim, "run r"}},
		},
		"root": {
			event: terminaltest.Event("0", 0, "", machine.FrameEntered{Strategy: "complete-task", Goal: "Look\nat it"}),
			terse: []Line{{Bold, "[0] complete-task: Look at it"}},
		},
		"root without a goal": {
			event: terminaltest.Event("0", 0, "", machine.FrameEntered{Strategy: "complete-task"}),
			terse: []Line{{Bold, "[0] complete-task"}},
		},
		"long goal": {
			event:   terminaltest.Event("0", 0, "", machine.FrameEntered{Strategy: "s", Goal: strings.Repeat("x", 200)}),
			terse:   []Line{{Bold, "[0] s: " + strings.Repeat("x", 117) + "..."}},
			verbose: []Line{{Bold, "[0] s: " + strings.Repeat("x", 200)}},
		},
		"goal with results": {
			event:   terminaltest.Event("0.1.2", 4, "", machine.FrameEntered{Strategy: "s", Goal: "Part\nof it\n\nResults:\n- one"}),
			terse:   []Line{{Bold, "    [0.1.2 #4] s: Part of it (+2 lines)"}},
			verbose: []Line{{Bold, "    [0.1.2 #4] s: Part of it Results: - one"}},
		},
		"child": {
			event: terminaltest.Event("0.1", 4, "", machine.FrameEntered{Strategy: "complete-task", Goal: "Part"}),
			terse: []Line{{Bold, "  [0.1 #4] complete-task: Part"}},
		},
		"state": {
			event:   terminaltest.Event("0", 1, "", machine.StateChanged{From: "ready", To: "awaiting_model"}),
			verbose: []Line{{Dim, "[0 #1] ready -> awaiting_model"}},
		},
		"state of a plan": {
			event:   terminaltest.Event("0.1", 3, "", machine.StateChanged{From: "submitting_plan", To: "evaluating_plan"}),
			terse:   []Line{{Dim, "  [0.1 #3] -> evaluating_plan"}},
			verbose: []Line{{Dim, "  [0.1 #3] submitting_plan -> evaluating_plan"}},
		},
		"same state": {
			event:   terminaltest.Event("0.1", 3, "", machine.StateChanged{From: "executing_step", To: "executing_step", On: "approved"}),
			verbose: []Line{{Dim, "  [0.1 #3] executing_step -> executing_step"}},
		},
		"delta": {
			event: terminaltest.Event("0", 1, "piece", nil),
			said:  said,
		},
		"calls": {
			event: terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Model: "m", Usage: used, Calls: 2, Elapsed: 1234 * time.Millisecond}),
			said:  said,
			terse: []Line{
				{Plain, "[0 #1] model m: 2 calls, 12 tokens in, 5 out, 1.2s"},
				{Plain, "[0 #1] says: I look. Now."},
			},
			verbose: []Line{
				{Plain, "[0 #1] model m: 2 calls, 12 tokens in, 5 out, 1.2s"},
				{Dim, "[0 #1] thinks: Hm."},
				{Plain, "[0 #1] says: I look. Now."},
			},
		},
		"answer": {
			event:   terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Elapsed: 99 * time.Millisecond}),
			said:    partialReply{text: "42"},
			terse:   []Line{{Plain, "[0 #1] model: an answer"}},
			verbose: []Line{{Plain, "[0 #1] model: an answer"}, {Plain, "[0 #1] says: 42"}},
		},
		"failed step": {
			event: terminaltest.Event("0", 1, "", machine.StepTaken{Kind: model, Err: broken}),
			said:  said,
			terse: []Line{{Bad, "[0 #1] model failed (unavailable): the server cannot be reached, or is down: no route"}},
		},
		"tools": {
			event:   terminaltest.Event("0", 2, "", machine.StepTaken{Kind: exec, Calls: 1, Elapsed: 2 * time.Second}),
			verbose: []Line{{Dim, "[0 #2] tools: 1 call, 2s"}},
		},
		"remote": {
			event: terminaltest.Event("0", 2, "", machine.StepTaken{Kind: nextstep.KindDelegate, Err: broken}),
			terse: []Line{{Bad, "[0 #2] delegate failed (unavailable): the server cannot be reached, or is down: no route"}},
		},
		"call": {
			event:   terminaltest.Event("0", 2, "", machine.ToolStarted{Call: read}),
			terse:   []Line{{Plain, `[0 #2] read_file {"path":"a"}`}},
			verbose: []Line{{Plain, `[0 #2] read_file c1 {"path":"a"}`}},
		},
		"call with odd arguments": {
			event:   terminaltest.Event("0", 2, "", machine.ToolStarted{Call: messages.ToolCall{ID: "c\x1b[2J1", Name: "t", Arguments: "{\x1b]0;x\a\u202e\n}"}}),
			terse:   []Line{{Plain, "[0 #2] t { ]0;x }"}},
			verbose: []Line{{Plain, "[0 #2] t c [2J1 { ]0;x }"}},
		},
		"tool says": {
			event:   terminaltest.Event("0", 2, "half\nway", machine.ToolProgress{CallID: "c1", ToolName: "read_file"}),
			terse:   []Line{{Dim, "[0 #2] read_file: half way"}},
			verbose: []Line{{Dim, "[0 #2] read_file c1: half way"}},
		},
		"result": {
			event: terminaltest.Event("0", 2, "", got(messages.StatusOK, "", "# Notes\n\n- \x1b[31mone\r\n")),
			terse: []Line{{Dim, "[0 #2] read_file ok: # Notes (+2 lines)"}},
			verbose: []Line{
				{Dim, "[0 #2] read_file c1 ok"},
				{Dim, "    # Notes"},
				{Dim, "    - [31mone"},
			},
		},
		"result in a child": {
			event:   terminaltest.Event("0.1", 2, "", got(messages.StatusOK, "", "one\ntwo")),
			terse:   []Line{{Dim, "  [0.1 #2] read_file ok: one (+1 line)"}},
			verbose: []Line{{Dim, "  [0.1 #2] read_file c1 ok"}, {Dim, "      one"}, {Dim, "      two"}},
		},
		"empty result": {
			event:   terminaltest.Event("0", 2, "", got("", "", "")),
			terse:   []Line{{Dim, "[0 #2] read_file ok"}},
			verbose: []Line{{Dim, "[0 #2] read_file c1 ok"}},
		},
		"failed result": {
			event:   terminaltest.Event("0", 2, "", got(messages.StatusFailed, "arguments", "wrong arguments:\n- missing \"path\"")),
			terse:   []Line{{Bad, `[0 #2] read_file failed (arguments): wrong arguments: - missing "path"`}},
			verbose: []Line{{Bad, "[0 #2] read_file c1 failed (arguments)"}, {Dim, "    wrong arguments:"}, {Dim, `    - missing "path"`}},
		},
		"unknown result": {
			event:   terminaltest.Event("0", 2, "", slow),
			terse:   []Line{{Bad, "[0 #2] read_file unknown (timeout) 1m1s: too slow"}},
			verbose: []Line{{Bad, "[0 #2] read_file c1 unknown (timeout) 1m1s"}, {Dim, "    too slow"}},
		},
		"result of a call to an odd name": {
			event: terminaltest.Event("0", 2, "", machine.ToolFinished{Output: messages.ToolOutput{ToolName: "x\x1b[2J\ny", Status: messages.StatusFailed, Reason: "not_offered"}}),
			terse: []Line{{Bad, "[0 #2] x [2J y failed (not_offered)"}},
		},
		"retry": {
			event: terminaltest.Event("0", 1, "", machine.RetryWaiting{Kind: llmclient.NoticeRetry, Model: "m", Attempt: 1, Wait: 1500 * time.Millisecond, Error: "llmclient: rate_limited"}),
			terse: []Line{{Warn, "[0 #1] retry after attempt 1 in 1.5s: the rate limit of the server was reached"}},
		},
		"held back": {
			event: terminaltest.Event("0", 1, "", machine.RetryWaiting{Kind: llmclient.NoticeRateLimit, Wait: time.Second}),
			terse: []Line{{Warn, "[0 #1] rate limit in 1s"}},
		},
		"wait": {
			event: terminaltest.Event("0.1", 2, "", machine.WaitStarted{Wait: machine.Wait{Frame: "0.1", Seq: 2, Kind: "approval", Tool: "t", Arguments: "{}"}}),
			terse: []Line{{Warn, "  [0.1 #2] waits for approval: t {}"}},
		},
		"wait for what is known": {
			event: terminaltest.Event("0.1", 2, "", machine.WaitStarted{Wait: machine.Wait{Frame: "0.1", Seq: 2, Kind: "unknown", Tool: "t", Arguments: "{}"}}),
			terse: []Line{{Warn, "  [0.1 #2] waits for what is known of a call that was cut off: t {}"}},
		},
		"note": {
			event: terminaltest.Event("0", 2, "", machine.Noting{Text: "it\nrains"}),
			terse: []Line{{Plain, "note: it rains"}},
		},
		"drift": {
			event: terminaltest.Event("0.1", 2, "", machine.Drifted{What: "step 2 is not asked for in the same words"}),
			terse: []Line{{Warn, "  [0.1 #2] not as it was recorded: step 2 is not asked for in the same words"}},
		},
		"wait is over": {
			event: terminaltest.Event("0.1", 2, "", machine.WaitEnded{WaitID: "w"}),
			terse: []Line{{Dim, "  [0.1 #2] waits no more"}},
		},
		"approved": {
			event: terminaltest.Event("0", 2, "", machine.WaitEnded{Reply: &machine.Reply{Approve: true}}),
			terse: []Line{{Good, "[0 #2] approved"}},
		},
		"answered": {
			event: terminaltest.Event("0", 2, "", machine.WaitEnded{Reply: &machine.Reply{Text: "the\nfirst"}}),
			terse: []Line{{Plain, `[0 #2] answered: the\nfirst`}},
		},
		"refused": {
			event: terminaltest.Event("0", 2, "", machine.WaitEnded{Reply: &machine.Reply{}}),
			terse: []Line{{Warn, "[0 #2] refused"}},
		},
		"refused, and why": {
			event: terminaltest.Event("0", 2, "", machine.WaitEnded{Reply: &machine.Reply{Reason: "too much"}}),
			terse: []Line{{Warn, "[0 #2] refused: too much"}},
		},
		"run goes on": {
			event: terminaltest.Event("0", 2, "", machine.RunResumed{}),
			terse: []Line{{Dim, "run r goes on"}},
		},
		"done": {
			event: terminaltest.Event("0", 3, "", machine.FrameLeft{Strategy: "complete-task", Usage: used, Elapsed: time.Minute}),
			terse: []Line{{Good, "[0 #3] complete-task done: 12 tokens in, 5 out, 1m0s"}},
		},
		"root failed": {
			event: terminaltest.Event("0", 3, "", machine.FrameLeft{Strategy: "complete-task", Err: broken}),
			terse: []Line{{Bad, "[0 #3] complete-task failed (unavailable)"}},
		},
		"child failed": {
			event: terminaltest.Event("0.1", 3, "", machine.FrameLeft{Strategy: "complete-task", Err: broken}),
			terse: []Line{{Bad, "  [0.1 #3] complete-task failed (unavailable): the server cannot be reached, or is down: no route"}},
		},
		"child done": {
			event: terminaltest.Event("0.1", 3, "", machine.FrameLeft{Strategy: "s", Result: new("It is\nso."), Usage: used}),
			terse: []Line{{Plain, "  [0.1 #3] result: It is so."}, {Good, "  [0.1 #3] s done: 12 tokens in, 5 out"}},
		},
		"child failed, with a part of a result": {
			event: terminaltest.Event("0.1", 3, "", machine.FrameLeft{Strategy: "s", Result: new("It"), Err: broken}),
			terse: []Line{{Plain, "  [0.1 #3] result: It"}, {Bad, "  [0.1 #3] s failed (unavailable): the server cannot be reached, or is down: no route"}},
		},
		"root done": {
			event: terminaltest.Event("0", 3, "", machine.FrameLeft{Strategy: "s", Result: new("It is so.")}),
			terse: []Line{{Good, "[0 #3] s done"}},
		},
		"run done":    {event: terminaltest.Event("0", 3, "", machine.RunFinished{Status: machine.StatusDone}), terse: []Line{{Good, "run r done"}}},
		"run waiting": {event: terminaltest.Event("0", 3, "", machine.RunFinished{Status: machine.StatusWaiting}), terse: []Line{{Warn, "run r waiting"}}},
		"run limit":   {event: terminaltest.Event("0", 3, "", machine.RunFinished{Status: machine.StatusLimit}), terse: []Line{{Bad, "run r limit"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.terse, describe(happening{Event: tt.event}, tt.said, false))
			if tt.verbose == nil {
				tt.verbose = tt.terse
			}
			require.Equal(t, tt.verbose, describe(happening{Event: tt.event}, tt.said, true))
		})
	}
}

func TestStatus(t *testing.T) {
	text := machine.Event{Frame: "0", Seq: 1, Kind: machine.EventTextDelta}
	thought := machine.Event{Frame: "0", Seq: 1, Kind: machine.EventThoughtDelta}
	for name, tt := range map[string]struct {
		event machine.Event
		said  partialReply
		want  string
	}{
		"awaits":        {event: terminaltest.Event("0", 1, "", machine.StateChanged{To: "awaiting_model"}), want: "[0 #1] awaiting model..."},
		"text":          {event: text, said: partialReply{text: "one\ntwo"}, want: "[0 #1] one two"},
		"thought":       {event: thought, said: partialReply{text: "one", thought: "two"}, want: "[0 #1] two"},
		"end of a long": {event: text, said: partialReply{text: "0123456789 the end"}, want: "[0 #1] 3456789 the end"},
		"wide":          {event: text, said: partialReply{text: strings.Repeat("日本語", 50)}, want: "[0 #1] 語日本語日本語"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := status(happening{Event: tt.event}, tt.said, 22)
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
	_, ok := status(happening{Event: terminaltest.Event("0", 1, "", machine.RetryWaiting{})}, partialReply{}, 22)
	require.False(t, ok)
}
