// Fallback asks a second model where the first one fails.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func main() {
	agent := segue.Agent{Model: llmclient.Fallback([]llmclient.Candidate{
		{Client: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1"})},
		{Client: openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})},
	}, llmclient.FallbackConfig{})}
	fmt.Println(agent.Ask(context.Background(), "Which of you is this?"))
}
