// Partial shows a Go value while a model writes it.
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
	Steps []string `json:"steps"`
}

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})}
	var shown recipe
	attempt := 1
	for r, err := range segue.Stream[recipe](context.Background(), &agent, "A recipe for pancakes.") {
		if err != nil {
			log.Fatal(err)
		}
		if r.Attempt > attempt { // what came before is void
			fmt.Println("\nNo, another one.")
			shown, attempt = recipe{}, r.Attempt
		}
		fmt.Print(r.Value.Name[len(shown.Name):]) // a string grows
		for i, step := range r.Value.Steps {
			written := ""
			if i < len(shown.Steps) {
				written = shown.Steps[i]
			} else {
				fmt.Printf("\n%d. ", i+1)
			}
			fmt.Print(step[len(written):])
		}
		shown = r.Value
	}
	fmt.Println()
}
