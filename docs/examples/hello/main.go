// Hello asks a model one question.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func main() {
	agent := segue.Agent{Model: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})}
	fmt.Println(agent.Ask(context.Background(), "Where does the name Go come from?"))
}
