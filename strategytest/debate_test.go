package strategytest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// debate lets two agents argue about a motion that a model words, lets a judge decide, and a second
// one if the first cannot, and publishes what was decided after a person has confirmed it. bug is a
// mistake that its author may make.
type debate struct {
	strategy.Defaults
	fsm *strategy.FSM
	bug string
	debated
}

type debated struct {
	History messages.History `json:"history"`
	Motion  string           `json:"motion"`
	Rounds  []round          `json:"rounds"`
	Judges  int              `json:"judges"`
	Verdict string           `json:"verdict"`
	Agreed  bool             `json:"agreed"` // the person has confirmed the verdict
}

// round is what both sides have said; "" is nothing.
type round struct {
	Pro string `json:"pro"`
	Con string `json:"con"`
}

// The mistakes.
const (
	bugLoop      = "no cap on the failures of a child"
	bugLost      = "the result of a child is lost if the other one fails"
	bugConfirmed = "the second judge's verdict is not confirmed"
	bugSnapshot  = "a snapshot without the rounds"
	bugLimit     = "no limit for the second judge"
	bugNil       = "nil when the person refuses"
	bugNonsense  = "asks for ever on nonsense"
	bugNoCalls   = "a step without calls"
)

func debateTable() *strategy.Table {
	from := func(s ...strategy.State) []strategy.State { return s }
	return &strategy.Table{
		Name: "debate", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"},
			{Name: "wording", Awaits: nextstep.KindGetChatCompletion},
			{Name: "arguing", Awaits: nextstep.KindExecuteTools},
			{Name: "judging", Awaits: nextstep.KindDelegate},
			{Name: "confirming", Awaits: nextstep.KindExecuteTools},
			{Name: "publishing", Awaits: nextstep.KindExecuteTools},
			{Name: "done", Awaits: nextstep.KindComplete},
			{Name: "failed", Awaits: nextstep.KindReportError},
		},
		Rules: []strategy.Rule{
			{From: from("ready"), On: "started", To: "wording"},
			{From: from("wording"), On: "unclear", To: "wording", Cap: "questions"},
			{From: from("wording"), On: "worded", To: "arguing"},
			{From: from("arguing"), On: "again", To: "arguing", Cap: "rounds"},
			{From: from("arguing"), On: "argued", To: "judging"},
			{From: from("judging"), On: "failed", To: "judging", Cap: "failures"},
			{From: from("judging"), On: "undecided", To: "judging", Cap: "judges"},
			{From: from("judging"), On: "judged", To: "confirming"},
			{From: from("confirming"), On: "confirmed", To: "publishing"},
			{From: from("publishing"), On: "published", To: "done"},
			{From: from("wording", "arguing", "judging", "confirming", "publishing"), On: "gave_up", To: "failed"},
		},
	}
}

func newDebate(bug string) func() strategy.Strategy {
	table := debateTable()
	if bug == bugConfirmed {
		table.Rules = append(table.Rules, strategy.Rule{From: []strategy.State{"judging"}, On: "overruled", To: "publishing"})
	}
	caps := strategy.Caps{"questions": 1, "rounds": 1, "failures": 1, "judges": 1}
	switch bug {
	case bugLoop:
		caps["failures"] = strategy.Unbounded
	case bugNonsense:
		caps["questions"] = strategy.Unbounded
	}
	return func() strategy.Strategy {
		return &debate{fsm: table.New(caps), bug: bug}
	}
}

func (d *debate) FSM() *strategy.FSM { return d.fsm }

func (d *debate) Bounds() strategy.Bounds {
	return strategy.Bounds{
		Calls:     map[strategy.State]int{"arguing": 2, "confirming": 1, "publishing": 1},
		Delegates: []strategy.Child{{Strategy: "judge", Limits: delegation.Limits{ModelCalls: 5}}},
	}
}

func (d *debate) Snapshot() (json.RawMessage, error) {
	m := d.debated
	if d.bug == bugSnapshot {
		m.Rounds = nil
	}
	return json.Marshal(m)
}

func (d *debate) Restore(data json.RawMessage) error { return json.Unmarshal(data, &d.debated) }

func (d *debate) Initialize(in delegation.Input) nextstep.NextStep {
	d.History, _ = in.Conversation(`Word a motion. Answer with {"motion": "…"}.`)
	return d.fsm.Then("started", d.ask())
}

func (d *debate) ask() nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: d.History.Clip()}}
}

func (d *debate) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if d.fsm.State() != "wording" {
		return d.fsm.OutOfTurn()
	}
	var said struct{ Motion string }
	switch err := json.Unmarshal([]byte(resp.Message.Text()), &said); {
	case err == nil && said.Motion != "":
		d.Motion = said.Motion
		return d.fsm.Then("worded", d.argue("pro", "con"))
	case !d.fsm.Can("unclear"):
		return d.giveUp(errors.New("the model worded no motion"))
	}
	d.History = append(d.History, messages.UserText("That is no motion."))
	return d.fsm.Then("unclear", d.ask())
}

// argue calls agents, each with what was said before.
func (d *debate) argue(sides ...string) nextstep.NextStep {
	var calls []messages.ToolCall
	for _, side := range sides {
		goal, _ := json.Marshal(map[string]string{"goal": fmt.Sprint("Argue ", side, ": ", d.Motion, d.Rounds)})
		calls = append(calls, messages.ToolCall{ID: fmt.Sprint(side, len(d.Rounds)), Name: side, Arguments: string(goal)})
	}
	return nextstep.ExecuteTools{Calls: calls}
}

func (d *debate) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	switch d.fsm.State() {
	case "arguing":
		return d.argued(results)
	case "confirming":
		d.Agreed = results[0].OK()
		switch {
		case d.Agreed:
			return d.publish("confirmed")
		case d.bug == bugNil:
			return nil
		default:
			return d.giveUp(errors.New("nobody confirmed the verdict"))
		}
	case "publishing":
		if !results[0].OK() {
			return d.giveUp(errors.New("the verdict was not published"))
		}
		return d.fsm.Then("published", nextstep.Complete{Output: delegation.Output{Messages: d.History.Clip(), Result: &d.Verdict}})
	default:
		return d.fsm.OutOfTurn()
	}
}

// argued goes on after both sides have argued: with the one of them that did, or once more if
// neither did.
func (d *debate) argued(results []messages.ToolOutput) nextstep.NextStep {
	var now round
	failed := 0
	for _, r := range results {
		switch {
		case !r.OK():
			failed++
		case r.ToolName == "pro":
			now.Pro = r.Output
		default:
			now.Con = r.Output
		}
	}
	if d.bug == bugLost && failed == 1 {
		now = round{}
	}
	d.Rounds = append(d.Rounds, now)
	switch {
	case failed < len(results):
		return d.fsm.Then("argued", d.judge(5))
	case !d.fsm.Can("again"):
		return d.giveUp(errors.New("nobody argues"))
	case d.bug == bugNoCalls:
		return d.fsm.Then("again", d.argue())
	default:
		return d.fsm.Then("again", d.argue("pro", "con"))
	}
}

func (d *debate) judge(modelCalls int) nextstep.NextStep {
	d.Judges++
	return nextstep.Delegate{
		Strategy: "judge", Limits: delegation.Limits{ModelCalls: modelCalls},
		Input: delegation.Input{Goal: fmt.Sprint("Judge ", d.Judges, ": ", d.Motion, d.Rounds)},
	}
}

func (d *debate) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	if d.fsm.State() != "judging" {
		return d.fsm.OutOfTurn()
	}
	d.Verdict = out.Text()
	switch {
	case out.Err != nil && d.fsm.Can("failed"):
		return d.fsm.Then("failed", d.judge(5))
	case out.Err != nil:
		return d.giveUp(out.Err)
	case d.Verdict == "" && !d.fsm.Can("undecided"):
		return d.giveUp(errors.New("no judge could decide"))
	case d.Verdict == "" && d.bug == bugLimit:
		return d.fsm.Then("undecided", d.judge(0))
	case d.Verdict == "":
		return d.fsm.Then("undecided", d.judge(5))
	case d.bug == bugConfirmed && d.Judges > 1:
		return d.publish("overruled")
	default:
		return d.fsm.Then("judged", nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "confirm", Name: "confirm", Arguments: "{}"}}})
	}
}

func (d *debate) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	return d.giveUp(&delegation.Error{Code: f.Code, Message: f.Message})
}

func (d *debate) publish(on strategy.Trigger) nextstep.NextStep {
	text, _ := json.Marshal(map[string]string{"verdict": d.Verdict})
	return d.fsm.Then(on, nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "publish", Name: "publish", Arguments: string(text)}}})
}

func (d *debate) giveUp(err error) nextstep.NextStep {
	return d.fsm.Then("gave_up", nextstep.ReportError{Err: err, Output: delegation.Output{Messages: d.History.Clip()}})
}

// debating is the world of a debate.
var debating = explore.Options{
	Name:     "debate",
	Input:    delegation.Input{Goal: "Tea or coffee?"},
	Tools:    []tools.Definition{{Name: "confirm", NeedsApproval: true}, {Name: "publish"}},
	Children: []string{"judge"},
	Odd:      4,
	Without:  func(_ *machine.Effect, reaction string) bool { return slices.Contains(dull, reaction) },
	World: func(e *machine.Effect) []explore.Reaction {
		if e.Kind != machine.EffectModel {
			return nil
		}
		return []explore.Reaction{explore.Reply("words a motion", llmclient.FinishStop, messages.Text{Text: `{"motion":"tea"}`})}
	},
}

// dull is what tells nothing more of a debate.
var dull = []string{
	"thought", "cut off text", "withheld", "refusal", "bad JSON", "unknown call", "failure rate_limited", "failure truncated",
	"failure context_length", "failure auth", "failure content_filter", "failure malformed_tool_call", "failure bad_request",
	"failure bad_response", "tool untrusted", "tool huge", "tool suspended", "says yes to other arguments", "wait expires",
	"child limit", "child stopped", "child unreachable", "child nothing", "stop now", "crash, unknown is told",
}

// unconfirmed holds while a verdict is published that the person has not confirmed.
func unconfirmed(s *explore.State) bool {
	return explore.Calls("publish")(s) && !s.Strategy("0").(*debate).Agreed
}

// unheard holds while a judge decides who has heard neither side.
func unheard(s *explore.State) bool {
	if !explore.InState("debate", "judging")(s) {
		return false
	}
	rounds := s.Strategy("0").(*debate).Rounds
	return rounds[len(rounds)-1] == round{}
}

// Each mistake is found by an exploration, or by a query of one line, and the report says in one
// line what it is. The table of the page has these lines.
func TestDebate(t *testing.T) {
	for _, c := range []struct {
		bug, never, want string
		query            explore.Predicate
	}{
		{bug: bugLoop, want: `a run that meets nothing but the same mishap ends: after [#1 words a motion, #2/1 tool ok, #2/2 tool ok]: ` +
			`it goes on for ever if it meets nothing but "child failed": judging -> judging`},
		{bug: bugSnapshot, want: `in a restored strategy, rounds: [{"pro":"tool output","con":"tool output"}] became null; `},
		{bug: bugLimit, want: `frame 0 of "subject" gives "judge" no limit on model_calls, and its Bounds say 5`},
		{bug: bugNil, want: `#4/1/1 says no]: frame 0 of "subject": machine: frame 0: strategy "subject": ProcessToolResults returned no step`},
		{bug: bugNonsense, want: `it goes on for ever if it meets nothing but "nothing": wording -> wording`},
		{bug: bugNoCalls, want: `#2/1 tool failed, #2/2 tool failed]: frame 0 of "subject": machine: frame 0: strategy "subject": ExecuteTools holds no calls`},
		{bug: bugConfirmed, query: unconfirmed, want: "never: no: after [#1 words a motion, #2/1 tool ok, #2/2 tool ok, #3 child empty, #4 child result]: it holds"},
		{bug: bugLost, query: unheard, want: "never: no: after [#1 words a motion, #2/1 tool ok, #2/2 tool failed]: it holds"},
	} {
		t.Run(c.bug, func(t *testing.T) {
			t.Parallel()
			h := &heard{TB: t}
			if c.query == nil {
				strategytest.Explore(h, newDebate(c.bug), debating)
			} else {
				strategytest.Never(h, newDebate(c.bug), debating, c.query)
			}
			require.Len(t, h.failures, 1)
			said, _, _ := strings.Cut(h.failures[0], "\n")
			require.Contains(t, said, c.want)
		})
	}
}

// Without a mistake nothing is found, and every move of the table is taken.
func TestDebate_sound(t *testing.T) {
	o := debating
	o.Queries = []explore.Query{explore.Never(unconfirmed), explore.Never(unheard), explore.CanReach(explore.Done)}
	r := strategytest.Explore(t, newDebate(""), o)
	require.Empty(t, r.Unreached)
	require.Equal(t, []string{"con", "pro"}, r.Assumed)
}

// Conform finds what the contract forbids, without a world but for one reply.
func TestDebate_conform(t *testing.T) {
	check := func(bug string) error {
		return strategytest.Check(strategytest.Subject{
			New: newDebate(bug), Tools: debating.Tools,
			Replies: []llmclient.Response{{Message: messages.AssistantText(`{"motion":"tea"}`), Finish: llmclient.FinishStop}},
		})
	}
	for i, bug := range []string{bugLoop, "", bugSnapshot, bugLimit, bugNil, bugNonsense, bugNoCalls} {
		if !prove.OneIn(4, i) {
			continue
		}
		if bug == "" {
			require.NoError(t, check(bug))
			continue
		}
		err := check(bug)
		require.Error(t, err, bug)
		t.Log(err)
	}
}

// An exploration that came nowhere, or left moves of the table out, fails. So does a mistake in the
// world, which is not one of the strategy.
func TestExplore_failsIfItSaysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*explore.Options)
		want   string
	}{
		"no alphabet": {
			func(o *explore.Options) { o.World = nil },
			"nothing led to: wording -> arguing on worded; arguing -> arguing on again; ",
		},
		"no reaction": {
			func(o *explore.Options) { o.Without = func(*machine.Effect, string) bool { return true } },
			"nothing was explored: there is no reaction to the first step",
		},
		"a wrong answer": {func(o *explore.Options) {
			o.World = func(*machine.Effect) []explore.Reaction {
				return []explore.Reaction{explore.Answer("a wrong one", nextstep.ToolResult{})}
			}
		}, `explore: Options.World: the reaction "a wrong one" does not fit a model: `},
	} {
		t.Run(name, func(t *testing.T) {
			h, o := &heard{TB: t}, debating
			c.change(&o)
			strategytest.Explore(h, newDebate(""), o)
			require.Len(t, h.failures, 1)
			require.Contains(t, h.failures[0], c.want)
			if name != "a wrong answer" {
				o.Unreached = []string{"*"}
				strategytest.Explore(t, newDebate(""), o)
			}
		})
	}
}
