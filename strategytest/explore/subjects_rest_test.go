package explore_test

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// rareBuiltins returns the built-in strategies in the configurations and with the inputs that take
// the transitions which others do not.
func rareBuiltins() []subject {
	tool := []tools.Definition{look}
	sources := delegation.Input{Goal: "a task", Data: json.RawMessage(`{"data_sources":["a"],"user":"u"}`)}
	rejects := func(pre.Plan) pre.Verdict { return pre.Verdict{Feedback: "no"} }
	late := rao.Prompts{Reason: `{{if gt .Step 1}}{{slice .Goal 99}}{{end}}Decide.`}
	onResults := rao.Prompts{Observe: `{{range .Results}}{{if .OK}}{{slice .Tool 5}}{{end}}{{end}}Observe.`}
	writer := completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail})
	oneCall := explore.Options{Tools: tool, World: alphabet.Decisions, Limits: delegation.Limits{ToolCalls: 1}}
	list := []subject{
		{"reason-act-observe, concluding at a limit of calls", rao.New(rao.Config{MaxSteps: 2}), oneCall},
		{"reason-act-observe, failing at a limit of calls", rao.New(rao.Config{MaxSteps: 2, OnLimit: rao.LimitFail}), oneCall},
		{"reason-act-observe, in texts", rao.New(rao.Config{MaxSteps: 1, OnLimit: rao.LimitAccept}), explore.Options{Tools: tool, World: decidedInTexts}},
		{
			"reason-act-observe, with data sources alone", rao.New(rao.Config{MaxSteps: 1, Tools: []string{}, Retrieval: rao.Retrieval{Tool: "look"}}),
			explore.Options{Input: sources, Tools: tool, World: decidedInTexts},
		},
		{
			"reason-act-observe, with data sources and tools", rao.New(rao.Config{MaxSteps: 1, Retrieval: rao.Retrieval{Tool: "look"}}),
			explore.Options{Input: sources, Tools: tool, World: decidedInTexts},
		},
		{"reason-act-observe, without tools", rao.New(rao.Config{MaxSteps: 1, Tools: []string{}}), explore.Options{World: decidedInTexts}},
		{"reason-act-observe, a prompt that fails later", rao.New(rao.Config{MaxSteps: 2, Prompts: late}), explore.Options{Tools: tool, World: decidedInTexts}},
		{"reason-act-observe, a prompt that fails on results", rao.New(rao.Config{MaxSteps: 1, Prompts: onResults}), explore.Options{Tools: tool, World: decidedInTexts}},
		{
			"reason-act-observe, a prompt that fails on data", rao.New(rao.Config{MaxSteps: 1, Tools: []string{}, Retrieval: rao.Retrieval{Tool: "look"}, Prompts: onResults}),
			explore.Options{Input: sources, Tools: tool, World: decidedInTexts},
		},
		{
			"plan-revise-execute, in prose", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 2, MaxRetries: 1, AcceptProse: true}),
			explore.Options{Children: []string{"worker"}, World: plannedInProse},
		},
		{
			"plan-revise-execute, rejected", pre.New(pre.Config{Executor: "worker", MaxSteps: 2, MaxRevisions: 2, MaxRetries: 1, AcceptProse: true, Evaluation: pre.EvaluateByFunc, Judge: rejects}),
			explore.Options{Children: []string{"worker"}, World: plannedInProse},
		},
		{
			"plan-revise-execute, batches of steps", pre.New(pre.Config{Executor: "worker", MaxSteps: 4, MaxRevisions: -1, MaxRetries: -1, Evaluation: pre.EvaluateNever, Parallel: 2}),
			explore.Options{Strategies: strategy.Set{"worker": writer}, World: alphabet.Batches},
		},
		{
			"plan-revise-execute, in prose, steps at the same time", pre.New(pre.Config{Executor: "worker", MaxSteps: 3, MaxRevisions: 2, MaxRetries: 1, AcceptProse: true, Parallel: 2}),
			explore.Options{Strategies: strategy.Set{"worker": writer}, World: alphabet.Join(plannedInProse, together)},
		},
		{
			"plan-revise-execute, unjudged in prose, steps at the same time", pre.New(pre.Config{Executor: "worker", MaxSteps: 3, MaxRevisions: 2, MaxRetries: 1, AcceptProse: true, Evaluation: pre.EvaluateNever, Parallel: 2}),
			explore.Options{Strategies: strategy.Set{"worker": writer}, World: alphabet.Join(plannedInProse, together)},
		},
		{
			"plan-revise-execute, reviewed, in prose, steps at the same time", pre.New(pre.Config{Executor: "worker", Reviewer: "critic", MaxSteps: 3, MaxRevisions: 1, MaxRetries: -1, AcceptProse: true, Parallel: 2}),
			explore.Options{Strategies: strategy.Set{"worker": writer}, Children: []string{"critic"}, World: alphabet.Join(plannedInProse, together, saysWord)},
		},
		{"react, a prompt that fails", react.New(react.Config{MaxSteps: 2, Prompts: react.Prompts{Conclude: `{{if eq .MaxSteps 2}}{{index .Known 9}}{{end}}`}}), explore.Options{Tools: tool, World: acted}},
		{
			"reflection, a prompt that fails", reflection.New(reflection.Config{MaxIterations: 2, MaxToolRounds: 1, Prompts: reflection.Prompts{Conclude: `{{if ne .Goal "a goal"}}{{slice .Goal 99}}{{end}}`}}),
			explore.Options{Tools: tool, World: rejected},
		},
		{"stepagent, that fails", stepagent.New(stepagent.Config{Step: iterate, MaxIterations: 1}), explore.Options{Tools: tool}},
	}
	for _, name := range builtin.Names() {
		nothing := delegation.Input{Data: json.RawMessage(`{}`)}
		if name == "retry" {
			nothing = delegation.Input{Messages: messages.History{}}
		}
		list = append(list, subject{name + ", without a task", builtin.All()[name], explore.Options{Input: nothing, Tools: tool, Children: builtin.Names()}})
	}
	return list
}

// decidedInTexts decides for reason-act-observe where no control tool is offered, and with it.
func decidedInTexts(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	list := []explore.Reaction{
		writes("asks in a text", `{"request_input":{"question":"Which?"}}`), writes("searches in a text", `{"plan":"search"}`),
		writes("ends in a text", `{"finish":true}`), writes("answers in a text", `{"finish":true,"final_answer":"done"}`),
	}
	for name, arguments := range map[string]string{
		"agent_decide_next": `{"plan":"search"}`, "agent_observe_decide": `{"observation":"it is there","should_continue":true}`,
	} {
		if offers(e, name) {
			list = append(list, calls("decides "+name, name, arguments))
		}
	}
	if offers(e, "agent_decide_next") {
		list = append(list, calls("asks a person", "agent_decide_next", `{"request_input":{"question":"Which?"}}`))
	}
	return list
}

// plannedInProse writes plans, and judges and submits them.
func plannedInProse(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	list := []explore.Reaction{writes("writes a plan", "1. one\n2. two"), writes("writes a plan of steps at once", "1. one\n2. two (after none)")}
	if offers(e, "submit_plan") {
		list = append(list, calls("submits a plan", "submit_plan", `{"steps":["one"]}`))
	}
	if offers(e, "submit_evaluation") {
		list = append(list,
			calls("approves of the plan", "submit_evaluation", `{"approved":true}`),
			calls("disapproves of the plan", "submit_evaluation", `{"approved":false,"feedback":"no"}`),
		)
	}
	return list
}

// together submits plans of steps that run one after the other, and at the same time.
func together(e *machine.Effect) []explore.Reaction {
	if !offers(e, "submit_plan") {
		return nil
	}
	return []explore.Reaction{
		calls("plans one, then two", "submit_plan", `{"steps":["one",{"goal":"two","depends_on":["1"]},{"goal":"three","depends_on":["1"]}]}`),
		calls("plans two, then one", "submit_plan", `{"steps":["one",{"goal":"two","depends_on":[]},{"goal":"three","depends_on":["1","2"]}]}`),
	}
}

// acted writes a turn of ReAct that acts.
func acted(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{writes("looks", "Thought: I look.\nAction: look\nAction Input: {}")}
}

// rejected judges drafts.
func rejected(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{
		writes("wants more", `{"approved":false,"feedback":"look first"}`),
	}
}
