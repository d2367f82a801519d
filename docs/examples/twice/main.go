// Twice asks a model for an answer, and then for a shorter one.
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
	chat := agent.Chat(nil)
	if _, err := chat.Ask(context.Background(), "What is a state machine?"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(chat.Ask(context.Background(), "Say it in one sentence."))
}
