// Structured has a model answer with a Go value.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
)

type recipe struct {
	Name  string   `json:"name"`
	Taste string   `json:"taste" enum:"sweet,salty,sour,bitter"`
	Steps []string `json:"steps" jsonschema:"at most five, each one sentence"`
	Oven  *int     `json:"oven,omitempty" jsonschema:"degrees Celsius, where one is needed"`
}

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})}
	r, err := segue.Ask[recipe](context.Background(), &agent, "A recipe for pancakes.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s (%s)\n", r.Name, r.Taste)
	for i, step := range r.Steps {
		fmt.Printf("%d. %s\n", i+1, step)
	}
}
