package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// Hooks are a middleware: it sees each effect before and after it is performed, and may change
// both. The end of a run is an event. Scenario S3-19.
func ExampleMiddleware_hooks() {
	hooks := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			switch e.Kind {
			case machine.EffectModel:
				step := e.Step.(nextstep.GetChatCompletion)
				if len(step.Request.Tools) == 1 && step.Request.Tools[0].Name == pre.SubmitPlan {
					fmt.Println("plan")
				} else {
					fmt.Println("step")
				}
				return next(ctx, e)
			case machine.EffectTool:
				fmt.Println("before the call:", e.Call.Name, e.Call.Arguments)
				answer, err := next(ctx, e)
				fmt.Println("after the call")
				return answer, err
			default:
				return next(ctx, e)
			}
		}
	}
	look := tools.NewRaw(tools.Definition{Name: "look"}, func(context.Context, string) (string, error) { return "a rose", nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("submit_plan", `{"steps":["Look around."]}`, "")),
			scripted.Calls(scripted.Call("look", `{}`, "")),
			scripted.Text("There is a rose."),
		),
		Tools: []tools.Tool{look},
		Strategies: strategy.Set{
			"plan":          pre.New(pre.Config{Evaluation: pre.EvaluateNever}),
			"complete-task": completetask.New(completetask.Config{}),
		},
		Default:    "plan",
		Middleware: []orchestrator.Middleware{hooks},
	})
	if err != nil {
		log.Fatal(err)
	}
	task := orchestrator.Task{Input: delegation.Input{Goal: "What is there?"}}
	for e, err := range o.Stream(context.Background(), task) {
		if err != nil {
			log.Fatal(err)
		}
		if end, ok := e.Detail.(machine.RunFinished); ok {
			fmt.Println("finish:", end.Status)
		}
	}
	// Output:
	// plan
	// before the call: submit_plan {"steps":["Look around."]}
	// after the call
	// step
	// before the call: look {}
	// after the call
	// step
	// finish: done
}
