package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// Hooks are a middleware: it sees each step before and after it is performed, and may change both. The end of a run is an
// event. Scenario S3-19.
func ExampleMiddleware_hooks() {
	hooks := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
			switch step := call.Step.(type) {
			case nextstep.GetChatCompletion:
				if len(step.Request.Tools) == 1 && step.Request.Tools[0].Name == pre.SubmitPlan {
					fmt.Println("plan")
				} else {
					fmt.Println("step")
				}
				return next(ctx, call)
			case nextstep.ExecuteTools:
				fmt.Println("before tools:", step.Calls[0].Name, step.Calls[0].Arguments)
				answer, err := next(ctx, call)
				fmt.Println("after tools")
				return answer, err
			default:
				return next(ctx, call)
			}
		}
	}
	look := tools.NewRaw(tools.Definition{Name: "look"}, func(context.Context, string) (string, error) { return "a rose", nil })
	agent, err := orchestrator.New(orchestrator.Config{
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
	finish := func(e orchestrator.Event) {
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			fmt.Println("finish:", end.Status)
		}
	}
	task := orchestrator.Task{Input: delegation.Input{Goal: "What is there?"}}
	_, err = orchestrator.Fold(orchestrator.Tee(agent.Stream(context.Background(), task), nil, finish))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// plan
	// before tools: submit_plan {"steps":["Look around."]}
	// after tools
	// step
	// before tools: look {}
	// after tools
	// step
	// finish: done
}
