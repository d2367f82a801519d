package explore_test

import (
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// workflows returns the compositions whose tables are those of the examples, and one in another.
func workflows() []subject {
	part := func(name string) workflow.Part { return workflow.Part{Name: name, Strategy: "worker"} }
	first, one, two := part("first"), part("one"), part("two")
	first.Retries, one.Retries, two.Fallback = 1, 2, "worker"
	worker := strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail})}
	broken := strategy.Set{"worker": worker["worker"], "broken": stepagent.New(stepagent.Config{Step: func(stepagent.Step) stepagent.StepResult {
		return stepagent.Fail(errors.New("broken"))
	}})}
	fails := two
	fails.Strategy = "broken"
	said := explore.Options{Children: []string{"worker"}, World: saysWord}
	judge, router, reduce := part("judge"), part("router"), part("reduce")
	return []subject{
		{"sequence", workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{first, {Tool: "tool"}, part("last")}}), explore.Options{
			Tools: []tools.Definition{{Name: "tool", NeedsApproval: true}}, Children: []string{"worker"},
		}},
		{"parallel", workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{one, two}, Reduce: &reduce}), explore.Options{Strategies: worker, World: failing}},
		{"parallel, a part that is broken", workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{one, fails}, Reduce: &reduce}), explore.Options{Strategies: broken, World: failing}},
		{"loop", workflow.Loop(workflow.LoopConfig{Part: part("worker"), Judge: &judge}), said},
		{"choose", workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{part("one"), part("other")}, Router: &router}), said},
		{"a loop in a sequence", workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "loop"}, {Strategy: "worker"}}}), explore.Options{
			Strategies: strategy.Set{"loop": workflow.Loop(workflow.LoopConfig{Part: part("worker"), Judge: &judge, MaxRounds: 2})}, Children: said.Children, World: said.World,
		}},
	}
}

// rareWorkflows returns those of the examples without a task.
func rareWorkflows() (list []subject) {
	for _, s := range workflows() {
		s.name += ", with nothing to do"
		s.Input = delegation.Input{Messages: messages.History{}}
		list = append(list, s)
	}
	return list
}

// saysWord has a child leave a word that judges and routers know.
func saysWord(e *machine.Effect) (list []explore.Reaction) {
	if e.Kind != machine.EffectRemote {
		return nil
	}
	for _, word := range []string{"one", "other", "APPROVED"} {
		list = append(list, explore.Answer("says "+word, nextstep.DelegationResult{Output: delegation.Output{Result: &word}}))
	}
	return list
}

// failing has a model fail in a way that another attempt may mend, as often as it likes.
func failing(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{explore.Answer("has no luck", nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.CodeFailed, Message: "no luck"})}
}
