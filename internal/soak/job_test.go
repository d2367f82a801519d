package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// world is what the tools of jobs act on: outside of the store, and outside of the process.
type world interface {
	note(e effect) error
	did(mark string) (bool, error)
}

// memoryWorld is the world of runs that nothing happens to.
type memoryWorld struct {
	mu      sync.Mutex
	effects []effect
}

func (w *memoryWorld) note(e effect) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects = append(w.effects, e)
	return nil
}

func (w *memoryWorld) did(string) (bool, error) { return false, nil }

// filesWorld notes effects in the file of its process, and knows those of all that have worked on
// the runs that are open.
type filesWorld struct {
	plan *plan
	mine *witness
}

func (w *filesWorld) note(e effect) error {
	stand(w.plan, atIntent)
	err := w.mine.note(e)
	stand(w.plan, atEffect)
	return err
}

func (w *filesWorld) did(mark string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(w.plan.Dir, ofEffects+"-*"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if file < witnessPath(w.plan.Dir, ofEffects, w.plan.Since) {
			continue
		}
		all, _, err := readWitness[effect](file, 0)
		if err != nil {
			return false, err
		}
		for _, e := range all {
			if e.Mark == mark {
				return true, nil
			}
		}
	}
	if w.plan.Role == "resume" {
		return false, errors.New("another process may be about to do it")
	}
	return false, nil
}

// markOf returns the mark in the arguments of a call.
func markOf(arguments string) string {
	var in struct {
		Mark string `json:"mark"`
	}
	_ = json.Unmarshal([]byte(arguments), &in)
	return in.Mark
}

// acting is a tool that has an effect.
func acting(w world, def tools.Definition) tools.Tool {
	def.Description = "Acts on the world."
	return tools.NewRaw(def, func(ctx context.Context, arguments string) (string, error) {
		m := markOf(arguments)
		time.Sleep(time.Duration(number(m)%3) * time.Millisecond)
		if err := w.note(effect{Tool: def.Name, Mark: m, Key: tools.IdempotencyKey(ctx)}); err != nil {
			return "", err
		}
		time.Sleep(time.Duration(number(m)%10) * time.Millisecond)
		return "did " + m, nil
	})
}

// jobTools returns tools of all kinds: one only reads, one is idempotent by its key; of the others,
// which are neither, one can look its calls up, and one needs an approval.
func jobTools(w world) []tools.Tool {
	return []tools.Tool{
		tools.NewRaw(tools.Definition{Name: "look", Description: "Looks.", ReadOnly: true}, func(_ context.Context, arguments string) (string, error) {
			return "saw " + markOf(arguments), nil
		}),
		acting(w, tools.Definition{Name: "put", Idempotent: true}),
		acting(w, tools.Definition{Name: "pay"}),
		acting(w, tools.Definition{Name: "grant", NeedsApproval: true}),
		tools.WithLookup(acting(w, tools.Definition{Name: "book"}), func(_ context.Context, _, arguments string) (string, bool, error) {
			found, err := w.did(markOf(arguments))
			return "did " + markOf(arguments), found, err
		}),
		orchestrator.AgentTool(orchestrator.Agent{
			Definition: tools.Definition{Name: "agent", Description: "Works on goals."}, Strategy: "work", FanOut: true,
		}),
	}
}

// planning is the configuration of the strategy that makes plans.
func planning() planreviseexecute.Config {
	return planreviseexecute.Config{
		Executor: "work", Evaluation: planreviseexecute.EvaluateNever, Answer: planreviseexecute.AnswerSynthesize,
		Prompts: planreviseexecute.Prompts{Step: "{{.Step.Goal}}"},
	}
}

// build returns an Orchestrator for jobs.
func build(store checkpoint.Store, w world, edit ...func(*orchestrator.Config)) (*orchestrator.Orchestrator, error) {
	cfg := orchestrator.Config{
		Client: client(answer),
		Strategies: strategy.Set{
			"plan": planreviseexecute.New(planning()),
			"work": completetask.New(completetask.Config{}),
		},
		Default: "plan", Tools: jobTools(w), Store: store, InboxEvery: 25 * time.Millisecond, Version: "1",
	}
	for _, e := range edit {
		e(&cfg)
	}
	return orchestrator.New(cfg)
}

// client returns a model that answers by a function.
func client(say func(*llmclient.Request) scripted.Reply) llmclient.Client {
	every := scripted.Func(say)
	every.Times = -1
	return scripted.NewClient(scripted.Config{Replies: []scripted.Reply{every}, NoRecord: true})
}

// taskOf is the task whose run has the id of its job.
func taskOf(job string) orchestrator.Task {
	return orchestrator.Task{Run: job, Input: delegation.Input{Goal: goal(job, "all")}}
}

// runName is the job of a slot in its turn.
func runName(slot, turn int) string { return fmt.Sprintf("s%d-%d", slot, turn) }
