// Policy gives tools to a model that can only write text.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

func now(context.Context, struct{}) (string, error) { return time.Now().Format(time.RFC1123), nil }

func main() {
	model := openaichat.MustNew(openaichat.Config{Model: "gemma-3"}) // OPENAI_BASE_URL=http://localhost:11434/v1
	agent := segue.Agent{
		Model: policyclient.Wrap(model, markdownpolicy.Fenced),
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "now", Description: "Tells the time.", ReadOnly: true}, now)},
	}
	fmt.Println(agent.Ask(context.Background(), "How late is it?"))
}
