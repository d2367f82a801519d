package openairesponses_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
)

func TestW13_W14_Bodies(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, name string
		message    string
		code       llmclient.Code
	}{
		{401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-***.", llmclient.CodeAuth},
		{404, "invalid_request_error", "model_not_found", "The model does not exist", llmclient.CodeNotFound},
		{429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota", llmclient.CodeQuota},
		{429, "requests", "rate_limit_exceeded", "Rate limit reached", llmclient.CodeRateLimited},
		{400, "invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model.", llmclient.CodeContextLength},
		{400, "invalid_request_error", "invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", llmclient.CodeContentFilter},
		{400, "invalid_request_error", "image_content_policy_violation", "no", llmclient.CodeContentFilter},
		{400, "invalid_request_error", "invalid_image_url", "no", llmclient.CodeBadRequest},
		{400, "invalid_request_error", "missing_required_parameter", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", llmclient.CodeBadRequest},
	} {
		body := fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":"input","code":%q}}`, c.message, c.kind, c.name)
		_, err := askWhole(t, say(t, c.status, "application/json", body))
		require.Equal(t, c.code, err.Code, c.name)
		require.Equal(t, c.name, err.Type)
		require.Equal(t, c.message, err.Message)
	}
}

// W-7: an error inside an answer that began well.
func TestW7_ErrorInsideAGoodAnswer(t *testing.T) {
	begun := stream(half()...)
	for name, c := range map[string]struct {
		body, kind string
		code       llmclient.Code
	}{
		"event: error":          {begun + stream(`{"type":"error","sequence_number":9,"code":"server_error","message":"it failed","param":null}`), "server_error", llmclient.CodeUnavailable},
		"error without a code":  {begun + stream(`{"type":"error","code":null,"message":"it failed","param":null}`), "", llmclient.CodeUnavailable},
		"error, nested":         {begun + stream(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"it failed"}}`), "context_length_exceeded", llmclient.CodeContextLength},
		"rate limit":            {begun + stream(`{"type":"error","code":"rate_limit_exceeded","message":"it failed"}`), "rate_limit_exceeded", llmclient.CodeRateLimited},
		"error without a type":  {begun + stream(`{"error":{"code":429,"message":"it failed"}}`), "", llmclient.CodeRateLimited},
		"event: error, text":    {begun + "event: error\ndata: it failed\n\n", "", llmclient.CodeUnavailable},
		"failed":                {begun + stream(failed(`{"code":"server_error","message":"it failed"}`)), "server_error", llmclient.CodeUnavailable},
		"failed, rate limit":    {begun + stream(failed(`{"code":"rate_limit_exceeded","message":"it failed"}`)), "rate_limit_exceeded", llmclient.CodeRateLimited},
		"failed, a wrong image": {begun + stream(failed(`{"code":"image_parse_error","message":"it failed"}`)), "image_parse_error", llmclient.CodeBadRequest},
		"failed, a policy":      {begun + stream(failed(`{"code":"bio_policy","message":"it failed"}`)), "bio_policy", llmclient.CodeContentFilter},
		"failed, a prompt":      {begun + stream(failed(`{"code":"invalid_prompt","message":"it failed"}`)), "invalid_prompt", llmclient.CodeBadRequest},
		"failed, a time-out":    {begun + stream(failed(`{"code":"vector_store_timeout","message":"it failed"}`)), "vector_store_timeout", llmclient.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s := say(t, 200, "text/event-stream", c.body)
			_, streamed := ask(t, s)
			_, fetched := askWhole(t, s)
			for _, err := range []*llmclient.Error{streamed, fetched} {
				require.NotNil(t, err)
				require.Equal(t, c.code, err.Code, err.Error())
				require.Equal(t, c.kind, err.Type)
				require.Equal(t, "it failed", err.Message)
				require.Equal(t, "half", err.Partial.Text())
				require.Equal(t, 200, err.Status)
			}
		})
	}
	for body, code := range map[string]llmclient.Code{
		speech{status: "failed", err: `{"code":"server_error","message":"m"}`}.whole(): llmclient.CodeUnavailable,
		speech{status: "failed"}.whole():                                               llmclient.CodeUnavailable,
		speech{status: "cancelled"}.whole():                                            llmclient.CodeUnavailable,
		speech{status: "queued"}.whole():                                               llmclient.CodeBadResponse,
		`{"error":{"message":"bad","type":"invalid_request_error"}}`:                   llmclient.CodeBadRequest,
		`{"status":503,"message":"down"}`:                                              llmclient.CodeUnavailable,
		`{"id":"c1","choices":[{"message":{"content":"hi"}}]}`:                         llmclient.CodeBadResponse,
		`[]`: llmclient.CodeBadResponse,
		`{}`: llmclient.CodeBadResponse,
	} {
		_, err := askWhole(t, sayJSON(t, body))
		require.NotNil(t, err, body)
		require.Equal(t, code, err.Code, body)
		require.NotEmpty(t, err.Message)
	}
	_, err := ask(t, sayEvents(t, `{"type":"response.failed","response":`+speech{}.response("completed", nil)+`}`))
	require.Equal(t, llmclient.CodeUnavailable, err.Code, "whatever the response says")
	_, err = askWhole(t, sayJSON(t, `{"id":"c1","choices":[]}`))
	require.Contains(t, err.Message, "the answer holds no output")
}

// failed is the last event of a response that failed.
func failed(err string) string {
	return `{"type":"response.failed","response":` + speech{err: err}.response("failed", nil) + `}`
}

func TestNew(t *testing.T) {
	for name, cfg := range map[string]openairesponses.Config{
		"no URL": {BaseURL: "::"}, "no scheme": {BaseURL: "api.example.com/v1"}, "other scheme": {BaseURL: "ftp://user:secret@example.com"},
		"query": {BaseURL: "https://example.com/v1?api-version=1"}, "key with break": {BaseURL: "https://example.com", APIKey: "secret\n"},
	} {
		client, err := openairesponses.New(cfg)
		require.Nil(t, client, name)
		var problem *llmclient.ConfigError
		require.ErrorAs(t, err, &problem, name)
		require.NotContains(t, err.Error(), "secret", name)
		require.Panics(t, func() { openairesponses.MustNew(cfg) })
	}
	s := sayJSON(t, speech{}.whole())
	t.Setenv("OPENAI_BASE_URL", s.URL+"/from/env")
	t.Setenv("OPENAI_API_KEY", "key-from-env")
	t.Setenv("OPENAI_ADMIN_KEY", "canary-admin")
	_, err := openairesponses.MustNew(openairesponses.Config{Model: "m", HTTPClient: s.Client()}).Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head := s.Sent()
	require.Equal(t, "Bearer key-from-env", head.Get("Authorization"))
	require.Equal(t, "/from/env/responses", s.Path())
	_, err = openairesponses.MustNew(openairesponses.Config{Model: "m", BaseURL: s.URL, NoEnvironment: true, HTTPClient: s.Client()}).Complete(context.Background(), hello(), nil)
	require.NoError(t, err)
	_, head = s.Sent()
	require.Empty(t, head.Get("Authorization"))

	_, err = openairesponses.MustNew(openairesponses.Config{}).Complete(context.Background(), hello(), nil)
	require.ErrorContains(t, err, "openairesponses: no model")
}

func TestAnswers_AreBounded(t *testing.T) {
	var many speech
	for i := range 1100 {
		many.items = append(many.items, toolCall(fmt.Sprint("c", i), "f", "{}"))
	}
	for _, body := range []string{many.whole(), stream(many.events()...)} {
		_, err := ask(t, sayJSON(t, body))
		require.Equal(t, llmclient.CodeBadResponse, err.Code)
		require.Contains(t, err.Message, "1024 items")
	}
}
