package llmclient_test

import (
	"context"
	"fmt"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
)

// Wrappers compose: each model is asked twice before the next one, and failures are reported as
// they happen and listed.
func ExampleFallback() {
	busy := scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeUnavailable, Status: 503}, Times: 2}
	retry := llmclient.RetryConfig{MaxAttempts: 2, Base: time.Millisecond}
	model := llmclient.Fallback([]llmclient.Candidate{
		{Client: llmclient.Retry(scripted.New(busy), retry)},
		{Client: llmclient.Retry(scripted.New(scripted.Text("Hello.")), retry), Model: "spare"},
	}, llmclient.FallbackConfig{})

	ctx := llmclient.WithNotify(context.Background(), func(n llmclient.Notice) { fmt.Println(n.Kind, n.Model) })
	resp, err := model.Complete(ctx, &llmclient.Request{Model: "main"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	for _, a := range resp.Attempts {
		fmt.Println(a.Model, a.Code)
	}
	// Output:
	// retry main
	// fallback main
	// Hello.
	// main unavailable
	// main unavailable
}

// A Router is a map from models to clients; the key "" is for all other models.
func ExampleRouter() {
	model := llmclient.Router{"small": scripted.New(scripted.Text("Hi.")), "large": scripted.New(scripted.Text("Good morning."))}
	resp, _ := model.Complete(context.Background(), &llmclient.Request{Model: "large"}, nil)
	fmt.Println(resp.Message.Text())
	_, err := model.Complete(context.Background(), &llmclient.Request{Model: "huge"}, nil)
	fmt.Println(err)
	// Output:
	// Good morning.
	// llmclient: not_found (model huge): model "huge" is not known; known models: "large", "small"
}
