package machine_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// dump is all of a run that can be seen from outside.
func dump(m *machine.Machine) string {
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%s %d %d\n%+v", m.Ready(), m.Open(), m.Waits(), m.Output(), m.Status(), m.Seq(), m.Records(), m.Started())
}

// wrong holds that the Machine refuses a record, with an error of that type, and is as it was.
func wrong[E error](t *testing.T, e *engine, r machine.Record, want string) {
	t.Helper()
	before := dump(e.m)
	err := e.m.Apply(r)
	var typed E
	require.ErrorAs(t, err, &typed)
	require.ErrorContains(t, err, want)
	require.Equal(t, before, dump(e.m))
}

// misfit holds that an answer to an open effect is refused.
func misfit(t *testing.T, e *engine, id string, a nextstep.Answer, want string) {
	t.Helper()
	x := e.effect(id)
	wrong[*machine.AnswerError](t, e, x.Answered(a, e.now, 0), want)
}

// delegator asks a model, makes its calls, and delegates to far.
func delegator() *scene {
	return &scene{
		Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
		Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
		Results: func([]messages.ToolOutput) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
		Child:   func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
	}
}

// S0-11, S0-12: a wrong answer is an error and changes nothing; the right one still works
// afterwards.
func TestMachine_refusesWrongAnswers(t *testing.T) {
	minus := messages.Usage{Input: -1}
	e := begin(t, only(delegator), offering("a", "b"), func(c *machine.Config) { c.Remote = []string{"far"} })
	reply := func(parts ...messages.AssistantContent) nextstep.APIResponse {
		return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Content: parts}}}
	}
	one := messages.ToolCall{ID: "c1", Name: "a"}
	for want, a := range map[string]nextstep.Answer{
		"nextstep.ToolResult does not answer it: it answers another kind of step":       nextstep.ToolResult{},
		"nextstep.DelegationResult does not answer it: it answers another kind of step": nextstep.DelegationResult{},
		"it is nil":                             nil,
		"answers are values":                    &nextstep.APIResponse{},
		"it holds no response":                  nextstep.APIResponse{},
		`two calls with the id "c1"`:            reply(one, messages.ToolCall{ID: "c1", Name: "b"}),
		"a call without an id":                  reply(messages.ToolCall{Name: "a"}),
		"holds a <nil>, which is not a part":    reply(nil),
		"holds a *messages.Text":                reply(&messages.Text{Text: "x"}),
		"its reply reports a negative usage":    nextstep.APIResponse{Response: &llmclient.Response{Usage: minus}},
		"its reply reports a negative usage of": nextstep.APIResponse{Response: &llmclient.Response{Attempts: []llmclient.Attempt{{Usage: minus}}}},
		"it reports a negative usage":           nextstep.Failure{Usage: minus},
		"it reports a negative usage of":        nextstep.Failure{Attempts: []llmclient.Attempt{{Usage: minus}}},
	} {
		t.Run(want, func(t *testing.T) { misfit(t, e, "1", a, want) })
	}
	misfit(t, e, "1", nextstep.APIResponse{Response: &llmclient.Response{Usage: messages.Usage{Input: 1, Total: -1}}}, "negative")
	e.answer("1", calling("a", "b"))
	for want, o := range map[string]messages.ToolOutput{
		`it answers call "c2", not "c1"`:                  {CallID: "c2", ToolName: "a"},
		`it names tool "b", but call "c1" is of tool "a"`: {CallID: "c1", ToolName: "b"},
		`it has the unknown status "fine"`:                {CallID: "c1", Status: "fine"},
		"it is answered with Suspended":                   {CallID: "c1", Status: messages.StatusFailed, Reason: tools.ReasonSuspended},
		`it answers call "", not "c1"`:                    {},
	} {
		t.Run(want, func(t *testing.T) { misfit(t, e, "2/1", nextstep.ToolResult{Output: o}, want) })
	}
	for _, made := range []messages.ToolCall{{ID: "c9", Name: "a"}, {ID: "c1", Name: "rm"}, {ID: "c2", Name: "b"}, {}} {
		misfit(t, e, "2/1", nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c1"}, Call: &made}, "but the call of the effect is")
	}
	misfit(t, e, "2/1", said("x"), "it answers another kind of step")
	e.answer("2/1", result("c1", "A"))
	e.answer("2/2", result("c2", "B"))
	misfit(t, e, "3", nextstep.DelegationResult{Output: delegation.Output{Usage: minus}}, "its output reports a negative usage")
	misfit(t, e, "3", nextstep.DelegationResult{Output: delegation.Output{Counts: delegation.Counts{ToolCalls: -1}}}, "negative counts")
	misfit(t, e, "3", nextstep.DelegationResult{Output: delegation.Output{Counts: delegation.Counts{Handoffs: -1}}}, "negative counts")
	fine := "fine"
	e.answer("3", nextstep.DelegationResult{Output: delegation.Output{Result: &fine}})
	require.Equal(t, "fine", e.m.Output().Text())
	require.Equal(t, machine.StatusDone, e.m.Status())
}

// So is every other wrong record.
func TestMachine_refusesWrongRecords(t *testing.T) {
	at := began.Add(time.Hour)
	empty := &engine{t: t, m: machine.New(config(only(caller())))}
	wrong[*machine.AnswerError](t, empty, machine.Noted{}, "the first record of a run is a Started")
	wrong[*machine.ConfigError](t, empty, machine.Started{Strategy: "nobody"}, `no strategy "nobody"`)

	e := begin(t, only(caller("w", "w2", "seq", "ask", "work", "r")),
		tool(tools.Definition{Name: "w"}), tool(tools.Definition{Name: "w2"}), tool(tools.Definition{Name: "seq", Sequential: true, ReadOnly: true}),
		tool(tools.Definition{Name: "ask", NeedsApproval: true}), offering("r"), agent("work", "main"), places(2))
	id := func(seq, index int) machine.EffectID { return machine.EffectID{Seq: seq, Index: index} }
	wrong[*machine.AnswerError](t, e, machine.Intended{Effect: id(1, 0), Verdict: machine.VerdictAllow, Frame: ""}, "only calls")
	e.answer("1", calling("w", "ask", "work", "r", "w2", "seq"))
	// w is open, ask waits for its approval, work has a branch, r is open, w2 is queued, seq waits
	// for its turn
	require.ElementsMatch(t, []string{"2/1", "2/2/1", "2/4"}, e.ids())
	w := e.effect("2/1")
	for name, r := range map[string]machine.Record{
		"the run has begun":             machine.Started{Strategy: "main"},
		"records are values":            &machine.Noted{},
		"records are values ":           nil,
		"no such effect that is open: ": machine.Answered{Effect: id(2, 9), Answer: result("c9", "")},
	} {
		if name == "no such effect that is open: " || name == "records are values " {
			name = name[:10]
		}
		wrong[*machine.AnswerError](t, e, r, name[:min(len(name), 10)])
	}
	for _, gone := range []machine.EffectID{id(1, 0), id(2, 0), id(2, 7), id(9, 0), {Seq: 2, Index: 2, Wait: 1}, {}} {
		wrong[*machine.AnswerError](t, e, machine.Answered{Effect: gone, Answer: result("c1", "")}, "no such effect is open")
		wrong[*machine.AnswerError](t, e, machine.Suspended{Effect: gone}, "no such effect is open")
		wrong[*machine.AnswerError](t, e, machine.Asked{Effect: gone}, "no such effect is open")
		wrong[*machine.AnswerError](t, e, machine.Intended{Effect: gone}, "no such effect is open")
	}
	for index, why := range map[int]string{2: "a call that waits", 3: "an agent's", 5: "one whose intent is not stored", 6: "one whose turn it is not"} {
		wrong[*machine.AnswerError](t, e, machine.Answered{Effect: id(2, index), Answer: result(fmt.Sprintf("c%d", index), why)}, "nobody performs the effect now")
		wrong[*machine.AnswerError](t, e, machine.Suspended{Effect: id(2, index)}, "nobody performs the effect now")
		wrong[*machine.AnswerError](t, e, machine.Asked{Effect: id(2, index)}, "nobody performs the effect now")
	}
	for index := range 6 { // allowed already, or not to be decided by anybody
		r := machine.Intended{Effect: id(2, index+1), Verdict: machine.VerdictAllow, Frame: "0", Tool: []string{"w", "ask", "work", "r", "w2", "seq"}[index]}
		wrong[*machine.AnswerError](t, e, r, "the call already has its verdict")
	}
	wrong[*machine.AnswerError](t, e, machine.Intended{Effect: id(2, 2), Verdict: machine.VerdictAsk, Frame: "0", Tool: "ask"}, "the call already has its verdict")
	wrong[*machine.AnswerError](t, e, machine.Intended{Effect: id(2, 1), Verdict: machine.VerdictRefuse, Frame: "0", Tool: "w"}, "the call already has its verdict")
	wrong[*machine.AnswerError](t, e, machine.Intended{Effect: id(2, 4), Verdict: 7, Frame: "0", Tool: "r"}, "there is no such verdict")
	other := w.Answered(result("c1", ""), at, 0)
	other.Frame = "0.7"
	wrong[*machine.ReplayError](t, e, other, "recorded as tool w of frame 0.7")
	other = w.Answered(result("c1", ""), at, 0)
	other.Tool = "x"
	wrong[*machine.ReplayError](t, e, other, "recorded as tool x of frame 0")
	wrong[*machine.AnswerError](t, e, machine.Answered{Effect: id(2, 4), NotBegun: true}, "was not begun")
	wrong[*machine.AnswerError](t, e, machine.Suspended{Effect: w.ID}, "it waits for nothing")
	e.finishAll(t)
}

// And of waits and replies.
func TestMachine_refusesWrongWaits(t *testing.T) {
	at := began.Add(time.Hour)
	e := begin(t, only(caller("w", "ask")), tool(tools.Definition{Name: "w"}), tool(tools.Definition{Name: "ask", NeedsApproval: true}))
	e.answer("1", calling("w", "ask"))
	w, asked := e.effect("2/1"), e.effect("2/2/1")
	q := question(&w, "?")
	q.Text = "!"
	wrong[*machine.AnswerError](t, e, machine.Suspended{Effect: w.ID, Waits: []machine.Wait{question(&w, "?"), q}}, "does not match its content")
	wrong[*machine.AnswerError](t, e, machine.Asked{Effect: w.ID, Wait: q}, "does not match its content")
	own := machine.Wait{Kind: machine.WaitApproval}.Identified(w.ID)
	wrong[*machine.AnswerError](t, e, machine.Asked{Effect: w.ID, Wait: own}, `waits of kind "approval" are the machine's`)
	wrong[*machine.AnswerError](t, e, machine.Stopped{Frame: "0.9"}, "there is no such frame to stop")
	wrong[*machine.ReplyError](t, e, machine.Replied{Reply: machine.Reply{WaitID: "x"}}, asked.Wait.ID)
	wrong[*machine.ReplyError](t, e, machine.Replied{At: asked.Wait.Expires.Add(time.Second), Reply: machine.Reply{WaitID: asked.Wait.ID, Approve: true}}, "it has expired")
	wrong[*machine.ReplyError](t, e, machine.Replied{At: at, Reply: machine.Reply{WaitID: asked.Wait.ID}, Expired: true}, "it has not expired")
	e.ask("2/1", question(&w, "?"))
	wrong[*machine.AnswerError](t, e, machine.Asked{Effect: w.ID, Wait: question(&w, "?")}, "it waits for that already")
	wrong[*machine.ReplyError](t, e, machine.Replied{At: at, Reply: machine.Reply{WaitID: question(&w, "?").ID}}, "answered by Text")
	e.finishAll(t)
}

// finishAll answers what is open, whatever it is, until the run ends.
func (e *engine) finishAll(t *testing.T) {
	t.Helper()
	for !e.m.Done() {
		require.NotEmpty(t, e.open)
		x := e.open[len(e.open)-1]
		switch x.Kind {
		case machine.EffectModel:
			e.answer(x.ID.String(), said("x"))
		case machine.EffectPerson:
			e.reply(x.ID.String(), machine.Reply{Approve: true, Text: "yes"})
		default:
			e.answer(x.ID.String(), result(x.Call.ID, "ok"))
		}
	}
	e.replays(through)
}

// A limit on tokens holds whatever a provider reports.
func TestMachine_tokenLimitsHoldForAnyUsage(t *testing.T) {
	for name, used := range map[string]messages.Usage{
		"more than an int64 holds": {Input: math.MaxInt64, Output: math.MaxInt64},
		"the most":                 {Total: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, only(func() *scene {
				return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("more") }}
			}), limited(delegation.Limits{TotalTokens: 100}))
			answers := 0
			for ; !e.m.Done() && answers < 10; answers++ {
				e.answer(e.ids()[0], nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("x"), Usage: used}})
			}
			require.Equal(t, 1, answers)
			require.Equal(t, machine.StatusLimit, e.m.Status())
		})
	}
}
