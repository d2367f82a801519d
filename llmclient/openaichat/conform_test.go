package openaichat_test

import (
	"strconv"
	"testing"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// provider is what the tests of all clients over HTTP need to know of this one.
func provider() llmclienttest.HTTP {
	reply := func(message, finish string) string { return whole(message, `"`+finish+`"`) }
	call := func(id, name, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + strconv.Quote(args) + `}}`
	}
	return llmclienttest.HTTP{
		New: func(s llmclienttest.Settings) llmclient.Client {
			return openaichat.MustNew(openaichat.Config{
				Model: "test-model", APIKey: s.Key, BaseURL: s.URL + "/v1", NoEnvironment: true, HTTPClient: s.Client,
				MaxRetries: s.Retries, IdleTimeout: s.Idle, MaxResponse: s.MaxResponse,
				Options: []option.RequestOption{option.WithHeader("X-Gateway", s.Header), option.WithQuery("key", s.Query)},
			})
		},
		Whole: whole(`"content":"half, and whole"`, `"stop"`),
		Half:  events(chunk(`"content":"half"`)), Rest: events(chunk(`"content":", and whole"`, `"finish_reason":"stop"`), "[DONE]"),
		Refusal: `{"error":{"message":"Invalid schema for function 'odd': 'nothing' is not a type.","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`,
		Replies: []string{
			events(chunk(`"role":"assistant","content":""`), chunk(`"content":"Both "`), chunk(`"content":"at once."`),
				chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`), chunk(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`),
				chunk(`"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":12}"}}]`), chunk(``, `"finish_reason":"tool_calls"`),
				`{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`, "[DONE]"),
			reply(`"reasoning_content":"I look.","content":"Both at once.","tool_calls":[`+call("a", "f", `{"x":1}`)+`,`+call("b", "g", `{"y":12}`)+`]`, "tool_calls"),
		},
		Step: prove.DepthOr(4, 1),
		Turns: []string{
			reply(`"reasoning_content":"let me see","content":null,"tool_calls":[`+call("a", "f", `{"x": [1, 2]}`)+`]`, "tool_calls"),
			reply(`"content":"so","tool_calls":[`+call("b", "f", "{}")+`,`+call("c", "g", `{"cut`)+`]`, "tool_calls"),
			reply(`"tool_calls":[`+call("d", "f", "")+`]`, "tool_calls"), reply(`"content":""`, "stop"), reply(`"content":"an ans"`, "length"), reply(`"content":"the end"`, "stop"),
		},
		Body: []string{"messages", "tools"},
	}
}

func TestHTTP(t *testing.T) { provider().Run(t) }
