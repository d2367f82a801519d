package machine

import (
	"encoding/json"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 8_000_009, time.UTC)

var talk = messages.History{
	messages.System{Text: "be brief", Name: "boss", Cache: messages.Cache1h, Extras: messages.Extras{"kept": json.RawMessage(`true`)}},
	messages.User{Name: "ann", Cache: messages.Cache5m, Content: []messages.UserContent{
		messages.Text{Text: "what is on it?", Cache: messages.Cache5m},
		messages.Image{URL: "https://example.com/a.png", Detail: "low", Cache: messages.Cache5m},
		messages.File{Name: "a.pdf", MediaType: "application/pdf", URL: "data:application/pdf;base64,AA", Cache: messages.Cache5m},
		messages.File{ID: "file-1"},
		messages.Audio{Format: "wav", URL: "data:audio/wav;base64,AA", Cache: messages.Cache5m},
	}},
	messages.Assistant{Name: "bot", Cache: messages.Cache5m, Content: []messages.AssistantContent{
		messages.Thought{Text: "hm", Extras: messages.Extras{"signature": json.RawMessage(`"s"`)}},
		messages.Text{Text: "so", Citations: []messages.Citation{
			{Start: 0, End: 2, URL: "https://example.com", Title: "t", FileID: "file-1", Quote: "q", Raw: json.RawMessage(`{"url":"https://example.com"}`)},
		}},
		messages.ToolCall{ID: "c1", Name: "look", Arguments: `{"at":`, Extras: messages.Extras{"signature": json.RawMessage(`"s"`)}},
	}},
	messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "look", Output: "no", Status: messages.StatusFailed, Reason: "arguments", Untrusted: true, Elapsed: 3}, Cache: messages.Cache5m},
}

var waitOfAll = Wait{
	Run: "r1", Frame: "0.1", Seq: 3, Kind: WaitQuestion, CallID: "c1", Tool: "ask", Arguments: `{"q":1}`, Text: "which <one>?",
	Options: []string{"this", "that"}, Untrusted: true, Expires: at.Add(time.Hour),
}.Identified(EffectID{Seq: 3, Index: 2})

// everyRecord holds every type of record, and in some record of it every field, set.
var everyRecord = []Record{
	Started{
		At: at, Run: "r1", Strategy: "solve", Input: delegation.Input{Goal: "look \"at\" it", Messages: talk, Data: json.RawMessage(`{"n":1.50}`)},
		Limits:   delegation.Limits{Depth: 1, Steps: 2, ModelCalls: 3, ToolCalls: 4, InputTokens: 5, OutputTokens: 6, TotalTokens: -1, Cost: 7, Duration: 8},
		Parallel: 8, Tools: []tools.Definition{{
			Name: "look", Description: "looks", Parameters: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Repeatable: true, Idempotent: true, Sequential: true,
			Untrusted: true, NeedsApproval: true, ApprovalNote: "changed", Timeout: time.Second, MaxResult: 100, Strict: true, Cache: messages.Cache1h,
		}},
		Expires: time.Hour, StopNote: "[stopped]", MaxResult: 1000, Model: "m", Temperature: new(0.5),
		Metadata: map[string]string{"user": "u"}, Labels: map[string]string{"team": "t"}, Namespace: "n", Origin: &Origin{Run: "r0", Record: 7},
		TaskStrategy: true, Fingerprints: map[string]string{"solve": "abc"}, Library: "v0.1.0", Nonce: "QK3V", Conclude: true, Repeats: 2,
	},
	Started{At: at, Run: "r2", Strategy: "solve", Parallel: 1, Tools: []tools.Definition{}},
	Resumed{At: at, Limits: delegation.Limits{Steps: 5}, Unknown: UnknownTell},
	Resumed{At: at},
	Intended{At: at, Effect: EffectID{Seq: 3, Index: 2}, Frame: "0", Tool: "write", Digest: "d1", Verdict: VerdictRefuse},
	Intended{At: at.Truncate(time.Second), Effect: EffectID{Seq: 3, Index: 1}},
	Answered{
		At: at, Effect: EffectID{Seq: 1}, Frame: "0", Kind: EffectModel, Digest: "d2", Elapsed: 1500, Cost: 1250, Unpriced: 1,
		Answer: nextstep.APIResponse{Response: &llmclient.Response{
			Message: talk[2].(messages.Assistant), Finish: llmclient.FinishToolCalls, Usage: messages.Usage{Input: 1, Output: 2, Total: 3, Cached: 4, Reasoning: 5},
			Model: "m-1", ID: "reply", Attempts: []llmclient.Attempt{{Model: "m-0", Usage: messages.Usage{Input: 1}, Code: llmclient.CodeRateLimited, Error: "slow down", Wait: time.Second}},
		}},
	},
	Answered{
		At: at, Effect: EffectID{Seq: 3, Index: 2}, Frame: "0", Kind: EffectTool, Tool: "look", Digest: "d3",
		Answer: nextstep.ToolResult{
			Output: messages.ToolOutput{
				CallID: "c1", ToolName: "look", Output: "a\tcat\n<b>\u2028", Status: messages.StatusOK, Reason: "cut", Untrusted: true, Elapsed: 5,
				Images:      []messages.Image{{URL: "https://example.com/a.png", Detail: "low"}},
				Attachments: []messages.Attachment{{Name: "a.png", MediaType: "image/png", URL: "https://example.com/a.png"}},
			},
			Call: &messages.ToolCall{ID: "c1", Name: "look", Arguments: "{}"},
		},
	},
	Answered{
		At: at, Effect: EffectID{Seq: 4}, Frame: "0.1", Kind: EffectRemote,
		Answer: nextstep.DelegationResult{Output: delegation.Output{
			Messages: talk, Result: new(""), Data: json.RawMessage(`[1]`), Metadata: delegation.Metadata{"plan": json.RawMessage(`["x"]`)},
			Err: &delegation.Error{Code: delegation.CodeLimit, Message: "enough"}, Usage: messages.Usage{Total: 9},
			Counts: delegation.Counts{Steps: 1, ModelCalls: 2, ToolCalls: 3}, Cost: 4, Unpriced: 1, Untrusted: true, Elapsed: time.Minute,
		}},
	},
	Answered{
		At: at, Effect: EffectID{Seq: 5}, Frame: "0", Kind: EffectModel,
		Answer: nextstep.Failure{
			Source: nextstep.SourceModel, Code: "auth", Message: "no key", Partial: messages.AssistantText("par"), Usage: messages.Usage{Input: 1},
			Attempts: []llmclient.Attempt{{Error: "e"}},
		},
	},
	Answered{At: at, Effect: EffectID{Seq: 6}, NotBegun: true},
	Asked{At: at, Effect: EffectID{Seq: 3, Index: 2}, Wait: waitOfAll},
	Suspended{At: at, Effect: EffectID{Seq: 3, Index: 2}, Waits: []Wait{waitOfAll}, State: json.RawMessage(`{"step":2}`), Elapsed: 7},
	Replied{At: at, Reply: Reply{WaitID: waitOfAll.ID, Approve: true, Text: "that", Reason: "why not"}},
	Replied{At: at, Reply: Reply{WaitID: waitOfAll.ID, Approve: true, Arguments: `{"to":"a <b>"}`}},
	Replied{At: at, Reply: Reply{WaitID: waitOfAll.ID}, Expired: true},
	Replied{At: at, Reply: Reply{WaitID: waitOfAll.ID}, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "nobody"}},
	Noted{At: at, Text: "a note"},
	Noted{At: at, Text: "a remark", Remark: true},
	Stopped{At: at, Reason: "asked to", Now: true, Frame: "0.1"},
	Stopped{At: at},
	Migrated{At: at, From: "v1", Snapshot: snapshotOfAll},
	Answered{
		At: at, Effect: EffectID{Seq: 8}, Frame: "0", Kind: EffectModel,
		Answer: nextstep.Failure{
			Source: nextstep.SourceModel, Code: "canceled", Message: "stopped", Partial: messages.AssistantText("par"),
			Usage: messages.Usage{Input: 40, Output: 2, Total: 42, Estimated: 42},
		},
	},
	Intended{At: at, Effect: EffectID{Seq: 4}, Frame: "0.1", Kind: EffectRemote, Digest: "d4", Verdict: VerdictAllow},
	Answered{
		At: at, Effect: EffectID{Seq: 9}, Frame: "0", Kind: EffectModel,
		Answer: nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.AssistantText("so so so so"), Finish: llmclient.FinishRepetition, Usage: messages.Usage{Input: 1, Output: 3, Total: 4, Estimated: 4},
		}},
	},
}

// snapshotOfAll has every field of a snapshot set, in some frame or effect of it.
var snapshotOfAll = Snapshot{
	Format: snapshotFormat, Records: 9, Seq: 4, Now: at, Active: time.Minute,
	Started: Started{At: at, Run: "r1", Strategy: "solve", Parallel: 8, Tools: []tools.Definition{{Name: "look"}}},
	Notes:   []NoteSnapshot{{Note: 2, Text: "a note", Heard: true}}, LastNote: 2,
	Frames: []FrameSnapshot{
		{
			Name: "0", Strategy: "solve", Fingerprint: "abc", Position: &strategy.Position{State: "calls", Left: map[string]int{"turns": 3}},
			Memory: json.RawMessage(`{"plan":[1.50]}`), Seq: 2, Input: delegation.Input{Goal: "look"}, Request: talk[:2],
			Answers: []answerSnapshot{
				{Reply: new(talk[2].(messages.Assistant))}, {Results: []messages.ToolOutput{talk[3].(messages.Tool).ToolOutput}}, {Partial: new(messages.AssistantText("par"))}, {},
			},
			Unseen: talk[3:], Tools: []string{"look"}, Offered: []string{"look"}, Limits: delegation.Limits{Depth: 16, Steps: -1},
			Used: usageSnapshot{
				Counts: delegation.Counts{Steps: 2, ModelCalls: 1, ToolCalls: 3}, Tokens: messages.Usage{Total: 9}, Cost: 5, Unpriced: 1, Elapsed: time.Second,
			},
			Began: time.Second, Children: 2, Heard: 1, Told: true, Model: "large", Branch: &branchSnapshot{Untrusted: true, Source: "1/1 out"}, Took: 7,
			Calls: []effectSnapshot{
				{
					Kind: EffectTool, Call: messages.ToolCall{ID: "c1", Name: "look"}, Result: &messages.ToolOutput{CallID: "c1", ToolName: "look", Status: messages.StatusOK},
					Made: &messages.ToolCall{ID: "c1", Name: "look", Arguments: "{}"}, Digest: "d1", Started: true, Reserved: delegation.Counts{ToolCalls: 1},
				},
				{
					State: "nested", Kind: EffectTool, Call: messages.ToolCall{ID: "c2", Name: "ask"}, Agent: true, InTurn: true, Started: true,
					Results: []resultSnapshot{{Text: "no", Failed: true}, {}, {NoChild: true, Output: &delegation.Output{Err: &delegation.Error{Code: delegation.CodeInvalid, Message: "no"}}}}, Several: true, Tainted: true,
				},
			},
		},
		{
			Name: "0.2", Strategy: "child", After: "clerk", Memory: json.RawMessage(`null`), Seq: 4, Branch: &branchSnapshot{Call: EffectID{Seq: 2, Index: 2}, Place: 1},
			Effect: &effectSnapshot{
				State: "waiting", Kind: EffectRemote, Step: json.RawMessage(`{"v":1,"kind":"delegate","body":{"strategy":"far","input":{}}}`),
				Intended: true, Approved: true, Begun: true, Unsure: true, Kept: json.RawMessage(`1`),
				Waits: []WaitSnapshot{
					{Wait: waitOfAll, Closed: true, Reply: &Reply{WaitID: waitOfAll.ID, Text: "that"}},
					{Wait: waitOfAll, Closed: true, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "nobody"}},
				},
			},
		},
	},
}
