package openaichat_test

import (
	"testing"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/openaichat"
)

func TestHTTP(t *testing.T) {
	llmclienttest.HTTP{
		New: func(s llmclienttest.Settings) llmclient.Client {
			return openaichat.MustNew(openaichat.Config{
				Model: "test-model", APIKey: s.Key, BaseURL: s.URL + "/v1", NoEnvironment: true, HTTPClient: s.Client,
				MaxRetries: s.Retries, IdleTimeout: s.Idle, MaxResponse: s.MaxResponse,
			})
		},
		Whole: whole(`"content":"half, and whole"`, `"stop"`),
		Half:  events(chunk(`"content":"half"`)), Rest: events(chunk(`"content":", and whole"`, `"finish_reason":"stop"`), "[DONE]"),
		Refusal: `{"error":{"message":"Invalid schema for function 'odd': 'nothing' is not a type.","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`,
	}.Run(t)
}
