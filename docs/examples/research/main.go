// Research reads tables, of which there are too many for a request, until it knows enough; what it
// has read is more than its window holds.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/tools"
)

var (
	countries = []string{"Austria", "Belgium", "Denmark", "Finland", "France", "Italy", "Norway", "Poland", "Spain", "Sweden"}
	topics    = []string{"forests", "harvests", "incomes", "rainfall", "rents", "trains"}
)

// tables returns a tool for each topic in each country: 60. Here their figures mean nothing: put
// your own sources in their place.
func tables() (all []tools.Tool) {
	for n := range len(countries) * len(topics) {
		country, topic := countries[n/len(topics)], topics[n%len(topics)]
		all = append(all, tools.New(tools.Definition{
			Name: topic + "_" + strings.ToLower(country), Description: "Tells of " + topic + " in " + country + ", by month.", ReadOnly: true,
		}, func(context.Context, struct{}) (string, error) {
			var table strings.Builder
			for month := range 40 * 12 {
				fmt.Fprintf(&table, "%d-%02d: %d\n", 1985+month/12, 1+month%12, 1000+month*n)
			}
			return table.String(), nil
		}))
	}
	return all
}

func main() {
	agent := segue.Agent{
		Model:   openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		System:  "Search for the tables that you need, read them, and answer from what they say.",
		Tools:   tables(), // more than 40, so that the model is offered a search
		Compact: &compaction.Config{Window: 8_000},
	}
	runs, err := agent.Orchestrator()
	if err != nil {
		log.Fatal(err)
	}
	goal := "In which of the Nordic countries have the trains improved most, and have the rents there followed?"
	for e, err := range runs.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: goal}}) {
		if err != nil {
			log.Fatal(err)
		}
		switch d := e.Detail.(type) {
		case machine.ToolStarted:
			fmt.Println("It reads", d.Call.Name)
		case machine.Compacted:
			fmt.Println("It makes a summary of what it has read:", d.Before, "tokens become", d.After)
		case machine.RunFinished:
			fmt.Println(d.Output.Text())
		}
	}
}
