// Package testing has an agent, and shows how it is tested without a network.
package testing

import (
	"context"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/tools"
)

type city struct {
	Name string `json:"name"`
}

// Guide returns an agent that knows the weather.
func Guide(model llmclient.Client, weather func(context.Context, city) (string, error)) *segue.Agent {
	look := tools.New(tools.Definition{Name: "weather", Description: "Tells the weather in a city.", ReadOnly: true}, weather)
	return &segue.Agent{Model: model, System: "You are a guide.", Tools: []tools.Tool{look}}
}
