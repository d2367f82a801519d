// Models asks one of several models by name, slows requests down to a rate, and turns elsewhere
// where a model fails.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/strategy/completetask"
)

func main() {
	openai := openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"})
	local := openaichat.MustNew(openaichat.Config{
		Model: "qwen3", BaseURL: os.Getenv("LOCAL_BASE_URL"), NoEnvironment: true, // no key of OpenAI's goes there
	})
	models := llmclient.Router{
		"gpt-4.1-mini": llmclient.RateLimit(openai, llmclient.RateLimitConfig{RequestsPerMinute: 60}),
		"qwen3": llmclient.Fallback([]llmclient.Candidate{
			{Client: local}, {Client: openai, Model: "gpt-4.1-mini"},
		}, llmclient.FallbackConfig{}),
	}
	agent := segue.Agent{Model: models, Strategy: completetask.New(completetask.Config{Model: "qwen3"})}
	fmt.Println(agent.Ask(context.Background(), "Who are you?"))
}
