package bound_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// world is a run of the strategy "main" of a config, and what answers its effects.
type world struct {
	cfg    machine.Config
	limits delegation.Limits
	plan   int // steps of submitted plans
	apart  int // steps of submitted plans that wait for no other; 0: there are no such plans
	width  int // most calls in a reply; 0: 1
	starts int // calls by which it starts its parts
}

// run is a run in progress.
type run struct {
	w    *world
	m    *machine.Machine
	t    require.TestingT
	made []strategy.Strategy

	ended map[int]string // the calls of each batch that have ended, by the step
}

func (w *world) begin(t require.TestingT) *run {
	r := &run{w: w, t: t, ended: map[int]string{}}
	cfg := w.cfg
	cfg.Repeats = -1 // calls of a run may differ as they like, and here they do not
	cfg.Strategies = strategy.Set{}
	for name, factory := range w.cfg.Strategies {
		cfg.Strategies[name] = func() strategy.Strategy {
			st := factory()
			r.made = append(r.made, st)
			return st
		}
	}
	r.m = machine.New(&cfg)
	s := machine.Started{Run: "r", Strategy: "main", Input: delegation.Input{Goal: "go"}, Limits: w.limits}
	r.apply(cfg.Start(s))
	return r
}

// apply applies a record, and the intents that follow.
func (r *run) apply(rec machine.Record) {
	require.NoError(r.t, r.m.Apply(rec), "%#v", rec)
	for len(r.m.Ready().Intents) > 0 {
		i := r.m.Ready().Intents[0].(machine.Intended)
		require.NoError(r.t, r.m.Apply(i))
	}
	for _, e := range r.m.Ready().Events {
		if f, ok := e.Detail.(machine.ToolFinished); ok {
			r.ended[e.Seq] += fmt.Sprint(" ", f.Output.CallID, f.Output.Status, f.Output.Output == "")
		}
	}
	r.m.Advance()
}

// answers returns the answers that the first open effect may get; nil at the end of the run.
func (r *run) answers() []nextstep.Answer {
	if r.m.Done() {
		return nil
	}
	e := r.m.Open()[0]
	if e.Kind == machine.EffectModel {
		return r.w.replies(e)
	}
	out := messages.ToolOutput{CallID: e.Call.ID}
	if e.Tool != nil {
		said, err := e.Tool.Call(context.Background(), e.Call.Arguments)
		if out.Output = said; err != nil {
			out.Output, out.Status = err.Error(), messages.StatusFailed
		}
		return []nextstep.Answer{nextstep.ToolResult{Output: out}}
	}
	var all []nextstep.Answer
	for _, text := range []string{"ok", `{"should_continue":false,"result":"done"}`, `{"should_continue":false}`} {
		out.Output = text
		all = append(all, nextstep.ToolResult{Output: out})
	}
	return all
}

// answer answers the first open effect.
func (r *run) answer(a nextstep.Answer) {
	e := r.m.Open()[0]
	r.apply(e.Answered(a, time.Time{}, 0))
}

// counts are what the run has used so far.
func (r *run) counts() delegation.Counts { return r.m.Output().Counts }

// key tells states apart that may go on differently: where the machines of all live frames stand,
// and which calls are open, and how those beside them ended.
func (r *run) key() string {
	var b strings.Builder
	fmt.Fprint(&b, r.counts().Handoffs)
	for _, f := range r.m.Frames() {
		fmt.Fprint(&b, " ", f.Strategy, len(f.Effects), r.ended[f.Seq])
	}
	for _, e := range r.m.Open() {
		fmt.Fprint(&b, " ", e.Call.Name, e.Call.Arguments)
	}
	for _, st := range r.made {
		fsm := st.(strategy.Tabler).FSM()
		p := fsm.Position()
		for _, s := range fsm.Table().States {
			if s.Name == p.State && !s.Awaits.Final() {
				memory, _ := st.(strategy.Snapshotter).Snapshot()
				fmt.Fprint(&b, " ", p)
				for _, said := range []string{`"status":"done"`, `"depends_on":[]`, `"code":`} { // steps of plans, parts that failed
					fmt.Fprint(&b, " ", strings.Count(string(memory), said))
				}
			}
		}
	}
	return b.String()
}

// replies returns what a model may reply: everything that moves one of the strategies.
func (w *world) replies(e machine.Effect) (all []nextstep.Answer) {
	req := e.Step.(nextstep.GetChatCompletion).Request
	add := func(finish llmclient.FinishReason, text string, calls ...messages.ToolCall) {
		resp := &llmclient.Response{Finish: finish, Usage: messages.Usage{Input: 7, Output: 3}}
		if text != "" {
			resp.Message.Content = append(resp.Message.Content, messages.Text{Text: text})
		}
		for _, c := range calls {
			resp.Message.Content = append(resp.Message.Content, c)
		}
		all = append(all, nextstep.APIResponse{Response: resp})
	}
	for _, text := range []string{"not yet", "APPROVED", "Final Answer: APPROVED", "Thought: I act\nAction: t\nAction Input: {}", `{"finish":true}`, ""} {
		add(llmclient.FinishStop, text)
	}
	add(llmclient.FinishLength, "cut")
	add(llmclient.FinishContentFilter, "")
	add(llmclient.FinishToolCalls, "", messages.ToolCall{ID: fmt.Sprintf("c%d", e.ID.Seq), Name: "nobody", Arguments: "{}"})
	for _, d := range req.Tools {
		for _, arguments := range w.arguments(d.Name) {
			var calls []messages.ToolCall
			for i := range max(1, w.width) {
				calls = append(calls, messages.ToolCall{ID: fmt.Sprintf("c%d_%d", e.ID.Seq, i), Name: d.Name, Arguments: arguments})
				add(llmclient.FinishToolCalls, "", calls...)
			}
		}
	}
	for _, f := range []nextstep.Failure{
		{Code: "malformed_tool_call", Message: "no JSON"},
		{Code: "bad_request", Message: "tool_choice is not supported"},
		{Code: "bad_request", Message: "response_format is not supported"},
	} {
		f.Source = nextstep.SourceModel
		all = append(all, f)
	}
	return all
}

// arguments returns what a tool may be called with.
func (w *world) arguments(tool string) []string {
	switch tool {
	case "submit_plan":
		var steps []string
		for i := range w.plan {
			steps = append(steps, fmt.Sprint("do ", i))
		}
		data, _ := json.Marshal(map[string]any{"steps": steps})
		if w.apart == 0 {
			return []string{string(data), `{"steps":[]}`}
		}
		var apart []any
		for i := range w.apart {
			apart = append(apart, map[string]any{"goal": fmt.Sprint("do apart ", i), "depends_on": []string{}})
		}
		wide, _ := json.Marshal(map[string]any{"steps": apart})
		return []string{string(data), string(wide), `{"steps":[]}`}
	case "submit_evaluation":
		return []string{`{"approved":true}`, `{"approved":false}`, `{}`}
	case "agent_decide_next":
		return []string{`{"plan":"act"}`, `{"request_input":{"question":"which?"}}`}
	case "agent_observe_decide":
		return []string{`{"should_continue":true}`, `{"should_continue":false}`}
	default:
		return []string{`{}`}
	}
}

// largest is the most that any run of a world used of each.
type largest struct {
	delegation.Counts
	depth, states int
}

// explore answers the effects of a world in every way. Of the states that stand alike it goes on
// from those that have used more of something.
func (w *world) explore(t *testing.T) (l largest) {
	seen := map[string][]delegation.Counts{}
	frontier := [][]nextstep.Answer{nil}
	for len(frontier) > 0 {
		var next [][]nextstep.Answer
		for _, path := range frontier {
			r := w.begin(t)
			for _, a := range path {
				r.answer(a)
			}
			l.take(r)
			key, used := r.key(), r.counts()
			if slices.ContainsFunc(seen[key], func(c delegation.Counts) bool {
				return c.ModelCalls >= used.ModelCalls && c.ToolCalls >= used.ToolCalls && c.Steps >= used.Steps
			}) {
				continue
			}
			seen[key] = append(seen[key], used)
			l.states++
			require.Less(t, l.states, 20_000, "too many states")
			for _, a := range r.answers() {
				next = append(next, append(slices.Clip(path), a))
			}
		}
		frontier = next
	}
	return l
}

// take notes what a run used.
func (l *largest) take(r *run) {
	c := r.counts()
	l.ModelCalls, l.ToolCalls, l.Steps = max(l.ModelCalls, c.ModelCalls), max(l.ToolCalls, c.ToolCalls), max(l.Steps, c.Steps)
	for _, f := range r.m.Frames() {
		l.depth = max(l.depth, f.Depth)
	}
}
