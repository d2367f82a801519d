package alphabet

import (
	"encoding/json"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest/explore"
)

// The tools of reason-act-observe.
const (
	decideNext    = "agent_decide_next"
	observeDecide = "agent_observe_decide"
)

// Typed answers a request for JSON of a schema with JSON that has the form of the schema, and with
// JSON that has not, and is refused by a server that does not know it. It includes [Calls].
func Typed(e *machine.Effect) []explore.Reaction {
	list := Calls(e)
	if r := requested(e); r != nil && r.Schema != nil {
		list = append(list, says("JSON of the schema", sample(r.Schema.Schema)), says("JSON of no schema", `[{"no":"such"}]`).AsOdd())
	}
	return append(list, Refusals(e)...)
}

// Searches search for tools where a request offers search_tools: for each of these by its name, and
// for one that there is not, and call those that are not offered.
func Searches(tools ...string) Alphabet {
	return func(e *machine.Effect) []explore.Reaction {
		if !offers(e, toolsearch.DefaultName) {
			return nil
		}
		list := []explore.Reaction{calls("searches in vain", toolsearch.DefaultName, `{"query":"qqqq"}`)}
		for _, name := range tools {
			if offers(e, name) {
				continue
			}
			if query, err := json.Marshal(map[string]string{"query": name}); err == nil {
				list = append(list, calls("searches for "+name, toolsearch.DefaultName, string(query)))
			}
			list = append(list, calls("calls "+name+" too early", name, "{}").AsOdd())
		}
		return list
	}
}

// Summaries summarize, where a request is for a summary of old messages: in a few words, and in
// none.
func Summaries(e *machine.Effect) []explore.Reaction {
	if ask, ok := e.Step.(nextstep.GetChatCompletion); !ok || !ask.Aside {
		return nil
	}
	return []explore.Reaction{says("summarizes", "So."), says("summarizes nothing", " ").AsOdd()}
}

// Judgements judge drafts for reflection: approved or not, in a text, and in JSON where that is
// asked for.
func Judgements(e *machine.Effect) []explore.Reaction {
	r := requested(e)
	switch {
	case r == nil:
		return nil
	case r.Schema != nil:
		return []explore.Reaction{says("approves", `{"approved":true}`), says("rejects", `{"approved":false,"issues":["too long"]}`)}
	default:
		return []explore.Reaction{says("approves", "APPROVED"), says("rejects", "It is too long.")}
	}
}

// ReAct writes turns of ReAct: an action with each of the offered tools, an answer, an action with
// an unknown tool, and a thought without either.
func ReAct(e *machine.Effect) []explore.Reaction {
	r := requested(e)
	if r == nil {
		return nil
	}
	list := []explore.Reaction{
		says("answers", "Thought: I know.\nFinal Answer: a rose"),
		says("acts without a tool", "Thought: I try.\nAction: no_such_tool\nAction Input: {}").AsOdd(),
		says("only thinks", "Thought: I think").AsOdd(),
	}
	for _, d := range r.Tools {
		list = append(list, says("acts with "+d.Name, "Thought: I act.\nAction: "+d.Name+"\nAction Input: "+sample(d.Parameters)))
	}
	return list
}

// Decisions are decisions for reason-act-observe: to act, to finish with an answer and without, to
// ask, to go on after an observation; also in texts. It includes [Refusals] of tool_choice.
func Decisions(e *machine.Effect) []explore.Reaction {
	if requested(e) == nil {
		return nil
	}
	list := Refusals(e)[:1]
	if offers(e, decideNext) {
		list = append(list,
			calls("decides to act", decideNext, `{"plan":"look"}`),
			calls("decides to finish", decideNext, `{"finish":true,"final_answer":"done"}`),
			calls("decides to finish without an answer", decideNext, `{"finish":true}`).AsOdd(),
			calls("decides to ask", decideNext, `{"request_input":{"question":"Which?"}}`).AsOdd(),
		)
	}
	if offers(e, observeDecide) {
		list = append(list,
			calls("goes on", observeDecide, `{"observation":"it is there","should_continue":true}`),
			calls("is satisfied", observeDecide, `{"observation":"it is there","should_continue":false,"final_answer":"done"}`),
			calls("is satisfied without an answer", observeDecide, `{"should_continue":false}`).AsOdd(),
		)
	}
	return append(list,
		says("decides in a text", `{"plan":"look","finish":false}`).AsOdd(),
		says("finishes in a text", `{"finish":true,"final_answer":"done"}`).AsOdd(),
	)
}

// Plans submits plans of one, two, three and no steps, and one in a text, where a request offers
// submit_plan, and judges them where it offers submit_evaluation.
func Plans(e *machine.Effect) []explore.Reaction {
	var list []explore.Reaction
	if offers(e, pre.SubmitPlan) {
		list = append(list,
			calls("plans", pre.SubmitPlan, `{"steps":["one"]}`),
			calls("plans two steps", pre.SubmitPlan, `{"steps":["one","two"]}`),
			calls("plans two steps at once", pre.SubmitPlan, `{"steps":[{"goal":"one","depends_on":[]},{"goal":"two","depends_on":[]}]}`).AsOdd(),
			calls("plans too much", pre.SubmitPlan, `{"steps":["one","two","three"]}`).AsOdd(),
			calls("plans nothing", pre.SubmitPlan, `{"steps":[]}`).AsOdd(),
			says("plans in a text", "1. one\n2. two").AsOdd(),
		)
	}
	if offers(e, pre.SubmitEvaluation) {
		list = append(list,
			calls("approves the plan", pre.SubmitEvaluation, `{"approved":true}`),
			calls("rejects the plan", pre.SubmitEvaluation, `{"approved":false,"feedback":"no"}`).AsOdd(),
		)
	}
	return list
}

// Batches submits a plan of four steps that wait for none, where a request offers submit_plan:
// where two steps run at the same time, one batch follows another.
func Batches(e *machine.Effect) []explore.Reaction {
	if !offers(e, pre.SubmitPlan) {
		return nil
	}
	const steps = `{"goal":"one","depends_on":[]},{"goal":"two","depends_on":[]},{"goal":"three","depends_on":[]},{"goal":"four","depends_on":[]}`
	return []explore.Reaction{calls("plans four steps at once", pre.SubmitPlan, `{"steps":[`+steps+`]}`)}
}

// PlansFor submits plans of one step for each of the executors, where a request offers submit_plan.
func PlansFor(executors ...string) Alphabet {
	return func(e *machine.Effect) []explore.Reaction {
		if !offers(e, pre.SubmitPlan) {
			return nil
		}
		var list []explore.Reaction
		for _, name := range executors {
			if plan, err := json.Marshal(map[string]any{"steps": []any{map[string]any{"goal": "one", "executor": name}}}); err == nil && name != "" {
				list = append(list, calls("plans for "+name, pre.SubmitPlan, string(plan)))
			}
		}
		return list
	}
}
