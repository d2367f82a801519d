// Chat says one thing to a model, in a conversation that goes on each time the program is run.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}), System: "You are a good listener."}
	chat, err := agent.OpenChat("chat.json")
	if err != nil {
		log.Fatal(err)
	}
	answer, err := chat.Ask(context.Background(), strings.Join(os.Args[1:], " "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
