// Chat says one thing to a model, in a conversation that goes on each time the program is run.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
)

const file = "chat.json"

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}), System: "You are a good listener."}
	var history messages.History
	if saved, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(saved, &history); err != nil {
			log.Fatal(err)
		}
	}
	chat := agent.Chat(history)
	answer, err := chat.Ask(context.Background(), strings.Join(os.Args[1:], " "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	saved, err := json.Marshal(chat.History)
	if err == nil {
		err = os.WriteFile(file, saved, 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
}
