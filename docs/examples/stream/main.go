// Stream prints an answer as it is written.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})}
	for text, err := range agent.Stream(context.Background(), "Tell me a story of three sentences.") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(text)
	}
	fmt.Println()
}
