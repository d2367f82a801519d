package config_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

const file = `
models:
  small: {model: qwen3, base_url: http://localhost:11434/v1}
agents:
  helper: {system: You answer in one sentence.}
  planner: {strategy: plan-revise-execute, description: Makes plans.}
default: helper
rules:
  - {keywords: [plan, to do list], agent: planner}
`

// A program runs what a configuration says. Here a scripted model stands for those of the file.
func Example() {
	goal := "What is a segue?"
	c, err := config.Parse("segue.yaml", []byte(file)) // or config.Read("segue.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, why, err := c.Choose(config.Request{Goal: goal})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("agent %s (%s)\n", agent, why)

	setup, err := c.Setup(agent, config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var client llmclient.Client = scripted.New(scripted.Text("A step without a pause.")) // or setup.Client(config.ClientOptions{})
	o, err := orchestrator.New(orchestrator.Config{
		Client:     client,
		Strategies: setup.Strategies,
		Tools:      setup.Tools,
		Approve:    &orchestrator.ApprovalConfig{Default: setup.Approve},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	task := orchestrator.Task{Strategy: setup.Strategy, Limits: setup.Limits, Input: delegation.Input{Goal: goal}}
	for event, err := range o.Stream(context.Background(), task) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if end, ok := event.Detail.(machine.RunFinished); ok {
			fmt.Println(end.Output.Text())
		}
	}
	// Output:
	// agent helper (default)
	// A step without a pause.
}

// A program asks the models that the file names, with keys of the environment.
func ExampleRead() {
	if err := run(context.Background(), "Plan the week", []tools.Tool{tools.AskUser()}); err != nil {
		fmt.Println(err)
	}
}

func run(ctx context.Context, goal string, list []tools.Tool) error {
	c, err := config.Read("segue.yaml")
	if err != nil {
		return err // a *config.Error tells all that is wrong
	}
	agent, _, err := c.Choose(config.Request{Goal: goal})
	if err != nil {
		return err
	}
	setup, err := c.Setup(agent, config.Options{Tools: list})
	if err != nil {
		return err
	}
	client, err := setup.Client(config.ClientOptions{})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: client, Strategies: setup.Strategies, Tools: setup.Tools,
		Approve: &orchestrator.ApprovalConfig{Default: setup.Approve},
	})
	if err != nil {
		return err
	}
	task := orchestrator.Task{Strategy: setup.Strategy, Limits: setup.Limits, Input: delegation.Input{Goal: goal}}
	for event, err := range o.Stream(ctx, task) {
		if err != nil {
			return err
		}
		fmt.Println(event.Kind)
	}
	return nil
}

// All that is wrong with a configuration is told at once, each with its line, column and path.
func ExampleError() {
	_, err := config.Parse("segue.yaml", []byte("agents:\n  writer: {strateg: retry}\n  helper: {model: small}\n"))
	if e, ok := errors.AsType[*config.Error](err); ok {
		for _, problem := range e.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// 2:12: agents.writer.strateg: there is no such key; did you mean strategy?
	// 3:12: agents.helper.model: no model "small"; there are: none
}
